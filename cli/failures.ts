/** Errors of commands, and the exit code of each. */
import { constants } from 'node:os';

/** Exit codes. They are part of the command line's contract, because scripts depend on them. */
export const EXIT = {
  /** Success. A job that the command waited for is COMPLETED; all requests of a batch succeeded. */
  ok: 0,
  /** The service rejected the request and gave the reason. */
  refused: 1,
  /** The command line is invalid. */
  usage: 2,
  /** Core did not answer, so the result is unknown. */
  unreachable: 3,
  /** The job that the command waited for is not COMPLETED at its end, or a request of the batch did not succeed. */
  jobFailed: 4,
} as const;

/** The command line is invalid. The text says what is valid. */
export class UsageError extends Error {}

/** The service rejected the request, or its response does not allow the command to go on. */
export class RejectedError extends Error {}

/** Core did not answer. The text says what to do. */
export class UnreachableError extends Error {}

/** A signal ended a command early. */
export class InterruptedError extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`Interrupted by ${signal}.`);
    this.signal = signal;
  }

  /** Exit code by the convention of shells: 130 for Ctrl-C. */
  get exitCode(): number {
    return 128 + (constants.signals[this.signal] ?? 0);
  }
}

/** Returns the interruption that aborted the signal of all waits. */
export function interruptionOf({ reason }: AbortSignal): InterruptedError {
  return reason instanceof InterruptedError ? reason : new InterruptedError('SIGTERM');
}

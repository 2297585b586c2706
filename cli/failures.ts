/** How a command can fail, and the exit code of each way. */
import { constants } from 'node:os';

/** Exit codes. They are part of the command line's contract: scripts decide by them. */
export const EXIT = {
  /** Done. A job that was waited for is COMPLETED. */
  ok: 0,
  /** The service refused; it said why. */
  refused: 1,
  /** The command is wrong as it stands. */
  usage: 2,
  /** Nothing is known to have happened: core did not answer. */
  unreachable: 3,
  /** A job that was waited for ended, but is not COMPLETED. */
  jobFailed: 4,
} as const;

/** A command that is wrong as it stands. The text says what is right. */
export class UsageError extends Error {}

/** Something is not as the command needs it, by what the service answered. */
export class RefusedError extends Error {}

/** Core did not answer. The text says what to do. */
export class UnreachableError extends Error {}

/** A signal ended a command early. */
export class InterruptedError extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`Interrupted by ${signal}.`);
    this.signal = signal;
  }

  /** As shells have it: 130 for Ctrl-C. */
  get exitCode(): number {
    return 128 + (constants.signals[this.signal] ?? 0);
  }
}

/** What ended a command, by the signal that all its waits listen to. */
export function interruptionOf({ reason }: AbortSignal): InterruptedError {
  return reason instanceof InterruptedError ? reason : new InterruptedError('SIGTERM');
}

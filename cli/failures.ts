/** Errors of commands, and the exit code of each. */
import { constants } from 'node:os';
import { CoreError } from '@slipway/proto/wire/reason';
import { CommanderError } from 'commander';

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

/** The service rejected the request, or its response does not allow the command to continue. */
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

/** A failure, in words for people and fields for programs. */
export interface Failure {
  /** Reason of core (docs/reference/errors.md), or a code of the command line. */
  code: string;
  message: string;
  /** A next step. `undefined`: the message has it. */
  hint?: string | undefined;
  exitCode: number;
}

/** Codes of failures that core did not report. */
const OWN_CODES = {
  /** The command line is invalid. */
  USAGE: EXIT.usage,
  /** The command cannot continue. */
  REJECTED: EXIT.refused,
  /** Core did not answer. */
  UNREACHABLE: EXIT.unreachable,
  /** A fault of this program. */
  UNEXPECTED: EXIT.refused,
} as const;

/** Returns whether the code is one of the command line. */
export function isOwnCode(code: string): boolean {
  return Object.hasOwn(OWN_CODES, code);
}

function own(code: keyof typeof OWN_CODES, message: string, hint?: string): Failure {
  return { code, message, hint, exitCode: OWN_CODES[code] };
}

/** Returns the failure that an error stands for. `suggestion`: what an unknown word may mean. */
export function failureOf(error: unknown, suggestion = ''): Failure {
  if (error instanceof CommanderError) return usageFailure(error.message, suggestion);
  if (error instanceof CoreError) return { code: error.reason, message: error.message, exitCode: EXIT.refused };
  if (error instanceof UsageError) return own('USAGE', error.message);
  if (error instanceof UnreachableError) return own('UNREACHABLE', error.message);
  if (error instanceof RejectedError) return own('REJECTED', error.message);
  return own('UNEXPECTED', error instanceof Error ? (error.stack ?? error.message) : String(error));
}

/** Splits the message of the parser, whose second line may be a suggestion. */
function usageFailure(text: string, suggestion: string): Failure {
  const [message = '', similar = ''] = text.replace(/^error: /, '').split('\n');
  const meant = [suggestion || similar.replace(/^\((.*)\)$/, '$1'), 'The option --help shows what is right.'];
  return own('USAGE', message, meant.filter(Boolean).join(' '));
}

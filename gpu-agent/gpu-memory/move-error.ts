/** Why a worker's GPU memory could not be moved. */

/** The reasons. They stand for the values of OffloadFailure (machine.proto). */
export const MOVE_FAILURES = [
  'NOT_ENOUGH_HOST_MEMORY',
  'TIMED_OUT',
  'DRIVER_ERROR',
  'UNSUPPORTED',
  'NOT_ENOUGH_GPU_MEMORY',
  'WORKER_ENDED',
  'INTERRUPTED',
] as const;

export type MoveFailure = (typeof MOVE_FAILURES)[number];

/** The message is a part of a sentence for people: it follows `because `. */
export class MoveError extends Error {
  readonly failure: MoveFailure;

  constructor(failure: MoveFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

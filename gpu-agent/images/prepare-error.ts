/** Errors of the preparation of a workload, and the data that is needed to refer to an image. */

/** Credentials for an image's registry. Used for one pull, stored nowhere, never logged. */
export interface ImageCredentials {
  username: string;
  password: string;
  /** Their owner's name for them; empty or absent if it is not known. */
  name?: string;
}

/** Reason why a workload cannot be prepared. */
export type PrepareFailure = 'NOT_FOUND' | 'NO_ACCESS' | 'NO_SPACE' | 'WRONG_PLATFORM' | 'UNREACHABLE' | 'REFUSED';

/**
 * A workload cannot be prepared, and an immediate retry would not help. The message is for its owner and says what to
 * do.
 */
export class PrepareError extends Error {
  readonly failure: PrepareFailure;

  constructor(failure: PrepareFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

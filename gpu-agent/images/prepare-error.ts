/** Why a unit cannot be prepared, and what is needed to name an image. */

/** How to log in to an image's registry. Used for one pull, kept nowhere, never logged. */
export interface ImageCredentials {
  username: string;
  password: string;
  /** What their owner calls them; empty or absent: not known. */
  name?: string;
}

/** Why a unit cannot be prepared. */
export type PrepareFailure = 'NOT_FOUND' | 'NO_ACCESS' | 'NO_SPACE' | 'WRONG_PLATFORM' | 'UNREACHABLE' | 'REFUSED';

/** A unit cannot be prepared; trying again at once would not help. The message is for its owner and says what to do. */
export class PrepareError extends Error {
  readonly failure: PrepareFailure;

  constructor(failure: PrepareFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

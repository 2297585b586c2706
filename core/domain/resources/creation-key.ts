/** Idempotency-Keys of creations: the same key and request create one resource, however often they are sent. */
import { DomainError } from '../settings/errors.ts';

/** Seconds for which a key is remembered. */
export const CREATION_KEY_SECONDS = 86_400;

/** A key of a creation with a hash of its request. */
export interface CreationKey {
  accountId: string;
  /** Name of the RPC that creates. */
  action: string;
  keyHash: Buffer;
  bodyHash: Buffer;
  /** The hash with the previous secret key; the same as `bodyHash` if there is none. */
  previousBodyHash: Buffer;
}

/** The creation was done before. Ends its transaction. */
export class RepeatedCreation extends Error {
  /** Id of the resource that the first call created. */
  readonly subjectId: string;

  constructor(subjectId: string) {
    super('the creation was done before');
    this.name = 'RepeatedCreation';
    this.subjectId = subjectId;
  }
}

/** Returns the error for a key that came with another request before. */
export function keyReused(): DomainError {
  return new DomainError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was used with another body. Use a new key to create something else.',
  );
}

/** Returns the error for a key whose resource has been deleted. */
export function createdIsGone(subjectId: string): DomainError {
  return new DomainError(
    'IDEMPOTENCY_KEY_REUSED',
    `This Idempotency-Key created ${subjectId}, which has been deleted since. Use a new key to create another one.`,
  );
}

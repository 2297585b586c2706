/**
 * Reasons for which a use case fails. The list is closed and equals ErrorReason of the contract (a test compares the
 * two).
 */

export const REASONS = [
  'INVALID_REQUEST',
  'INVALID_INPUT',
  'INVALID_POLICY',
  'INVALID_WEBHOOK',
  'PAYLOAD_TOO_LARGE',
  'UNAUTHORIZED',
  'ENDPOINT_NOT_FOUND',
  'JOB_NOT_FOUND',
  'TEMPLATE_NOT_FOUND',
  'NOT_FOUND',
  'JOB_NOT_RETRYABLE',
  'IDEMPOTENCY_KEY_REUSED',
  'WRONG_ENDPOINT_TYPE',
  'WORKERS_NOT_ZERO',
  'IN_USE',
  'NAME_TAKEN',
  'RATE_LIMITED',
  'QUEUE_FULL',
  'UNAVAILABLE',
  'INTERNAL',
  'NO_CAPACITY',
  'POD_FIXED',
  'WEBHOOK_NOT_REDRIVABLE',
  'MODEL_NOT_FOUND',
] as const;

export type DomainReason = (typeof REASONS)[number];

/** An error of a use case. The message says what is wrong and what to do. */
export class DomainError extends Error {
  readonly reason: DomainReason;

  constructor(reason: DomainReason, message: string) {
    super(message);
    this.name = 'DomainError';
    this.reason = reason;
  }
}

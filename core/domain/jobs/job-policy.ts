/** Execution policy of a job: bounds, defaults and error texts (docs/reference/api.md#policy). */
import { DomainError } from '../settings/errors.ts';

const DAY_MS = 86_400_000;

/** Bounds and defaults in milliseconds. Both bounds are inclusive. */
export const EXECUTION_TIMEOUT_MS_MIN = 5_000;
export const EXECUTION_TIMEOUT_MS_MAX = 7 * DAY_MS;
export const EXECUTION_TIMEOUT_MS_DEFAULT = 600_000;
export const TTL_MS_MIN = 10_000;
export const TTL_MS_MAX = 7 * DAY_MS;
export const TTL_MS_DEFAULT = DAY_MS;

/** Policy fields of a request. */
export interface PolicyRequest {
  executionTimeoutMs?: number | undefined;
  lowPriority?: boolean | undefined;
  ttlMs?: number | undefined;
}

/** Policy in effect for a job. */
export interface JobPolicy {
  /** Longest run of one attempt. */
  executionTimeoutMs: number;
  /** The job does not start workers and is served after all normal jobs. */
  lowPriority: boolean;
  /** Time to live from submission, whatever the state. */
  ttlMs: number;
}

/** Fills in the defaults. Throws INVALID_POLICY if a field is out of range; the text names the public field. */
export function resolvePolicy(request: PolicyRequest, endpointExecutionTimeoutMs: number): JobPolicy {
  return {
    executionTimeoutMs: bounded(
      'executionTimeout',
      request.executionTimeoutMs,
      endpointExecutionTimeoutMs,
      EXECUTION_TIMEOUT_MS_MIN,
      EXECUTION_TIMEOUT_MS_MAX,
    ),
    lowPriority: request.lowPriority ?? false,
    ttlMs: bounded('ttl', request.ttlMs, TTL_MS_DEFAULT, TTL_MS_MIN, TTL_MS_MAX),
  };
}

/**
 * Checks the remaining life that a reader sets, in milliseconds: any positive integer (docs/reference/api.md#status),
 * at most 7 days.
 */
export function checkRemainingLife(ttlMs: number): void {
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 1 || ttlMs > TTL_MS_MAX) {
    throw new DomainError(
      'INVALID_REQUEST',
      `ttl is ${ttlMs}, but must be a whole number of milliseconds from 1 to ${TTL_MS_MAX}`,
    );
  }
}

function bounded(name: string, value: number | undefined, fallback: number, min: number, max: number): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new DomainError(
    'INVALID_POLICY',
    `policy.${name} is ${value}, but must be a whole number of milliseconds from ${min} to ${max}`,
  );
}

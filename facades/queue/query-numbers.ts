/** Reads the numbers of query strings: `wait`, `ttl`, `offset`, `limit` (docs/reference/api.md#status). */
import { WAIT_MS_DEFAULT, WAIT_MS_MAX, WAIT_MS_MIN } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';

/**
 * Hold of /stream without `wait`, in milliseconds: long enough that clients without a pause of their own do not spin,
 * and well under the 10 s after which the Python client gives up (docs/reference/api.md#clients).
 */
export const STREAM_HOLD_MS = 5_000;

/**
 * Returns `wait` of /runsync: 1,000 to 300,000 ms, default 90,000. Throws INVALID_REQUEST
 * (docs/reference/api.md#submit).
 */
export function runsyncWaitMs(query: unknown): number {
  const waitMs = wholeNumber(query, 'wait') ?? WAIT_MS_DEFAULT;
  if (waitMs < WAIT_MS_MIN || waitMs > WAIT_MS_MAX) {
    throw new CoreError('INVALID_REQUEST', `"wait" must be from ${WAIT_MS_MIN} to ${WAIT_MS_MAX} milliseconds.`);
  }
  return waitMs;
}

/** Returns `wait` of /status-sync in milliseconds: clamped to 0 to 300,000, default 90,000. */
export function statusSyncWaitMs(query: unknown): number {
  return clampWait(wholeNumber(query, 'wait') ?? WAIT_MS_DEFAULT);
}

/** Returns `wait` of /stream in milliseconds: clamped to 0 to 300,000; without it a short hold. */
export function streamWaitMs(query: unknown): number {
  return clampWait(wholeNumber(query, 'wait') ?? STREAM_HOLD_MS);
}

/** Returns `ttl` of /status in milliseconds: a whole number from 1, or 0 if it is not given. */
export function statusTtlMs(query: unknown): number {
  const ttlMs = wholeNumber(query, 'ttl');
  if (ttlMs !== undefined && ttlMs < 1)
    throw new CoreError('INVALID_REQUEST', '"ttl" must be a whole number of milliseconds from 1.');
  return ttlMs ?? 0;
}

/** Returns a number of a query within [min, max], or the default. */
export function boundedNumber(
  query: unknown,
  name: string,
  fallback: number,
  { min, max }: { min: number; max: number },
): number {
  const value = wholeNumber(query, name) ?? fallback;
  if (value < min || value > max) throw new CoreError('INVALID_REQUEST', `"${name}" must be from ${min} to ${max}.`);
  return value;
}

function wholeNumber(query: unknown, name: string): number | undefined {
  const value = (query as Record<string, unknown>)[name];
  if (value === undefined) return undefined;
  const number = typeof value === 'string' && /^[+-]?\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new CoreError('INVALID_REQUEST', `"${name}" must be one whole number.`);
  return number;
}

function clampWait(waitMs: number): number {
  return Math.min(Math.max(waitMs, 0), WAIT_MS_MAX);
}

/** Computes how long the record of a finished job is kept (docs/reference/api.md#retention). */

/** How a job was submitted: POST /run or POST /runsync. */
export type SubmitKind = 'ASYNC' | 'SYNC';

const MINUTE_MS = 60_000;
export const RETENTION_MS_ASYNC = 30 * MINUTE_MS;
export const RETENTION_MS_SYNC_MIN = MINUTE_MS;
export const RETENTION_MS_SYNC_MAX = 5 * MINUTE_MS;

/**
 * Returns for how many milliseconds a result is kept after the job ended: 30 minutes, or for /runsync as long as its
 * wait, within 1 to 5 minutes.
 */
export function retentionMs(kind: SubmitKind, waitMs: number): number {
  if (kind === 'ASYNC') return RETENTION_MS_ASYNC;
  return Math.max(RETENTION_MS_SYNC_MIN, Math.min(waitMs, RETENTION_MS_SYNC_MAX));
}

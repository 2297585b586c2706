/** Rate limits as the source reports them in headers. */

const SECOND_MS = 1_000;

/**
 * Returns milliseconds until the next request fits, by the header `RateLimit: "minute";r=0;t=12`: the longest window
 * that has no request left. 0: one fits now.
 */
export function waitBefore(headers: Headers): number {
  const windows = (headers.get('ratelimit') ?? '').split(',');
  const waits = windows.map((window) => {
    const left = /;\s*r=(\d{1,9})\b/.exec(window)?.[1];
    const seconds = /;\s*t=(\d{1,9})\b/.exec(window)?.[1];
    return left === '0' ? Number(seconds ?? 1) * SECOND_MS : 0;
  });
  return Math.max(0, ...waits);
}

/** Returns milliseconds of a Retry-After header, which has seconds or a date. `undefined` without a valid one. */
export function waitAfter(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND_MS;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** Waits for a condition. No other file of the tests may let time pass. */

/**
 * Pause between two checks, as a multiple of the time that the last check took. A check that runs a program would
 * otherwise keep a processor busy.
 */
const REST = 4;
/** No pause grows longer for that reason, in milliseconds. */
const PAUSE_MS_MAX = 500;
/**
 * Pause between two checks, as a share of the time waited so far. What takes seconds is checked less often, so that its
 * end is noticed a tenth of that time later at most.
 */
const WAITED_SHARE = 0.1;
/** No pause grows longer for that reason, in milliseconds. */
const WAITED_PAUSE_MS_MAX = 200;
/** Longest wait, in milliseconds. Work that takes a second on an idle machine takes much longer on a busy one. */
export const PATIENCE_MS = 90_000;

/**
 * Calls `check` until it returns a truthy value, and returns that. Throws after `timeoutMs` with `what` and the last
 * value.
 */
export async function waitFor<T>(
  what: string,
  check: () => Promise<T> | T,
  timeoutMs = PATIENCE_MS,
  pauseMs = 20,
): Promise<Exclude<NonNullable<T>, false>> {
  const beganMs = performance.now();
  const end = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    const startedMs = performance.now();
    try {
      const answer = await check();
      if (answer) return answer as Exclude<NonNullable<T>, false>;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end)
      throw new Error(
        `waited ${timeoutMs} ms for ${what}; last answer: ${last instanceof Error ? last.stack : JSON.stringify(last)}`,
      );
    const nowMs = performance.now();
    const restMs = Math.min(REST * (nowMs - startedMs), PAUSE_MS_MAX);
    const waitedMs = Math.min(WAITED_SHARE * (nowMs - beganMs), WAITED_PAUSE_MS_MAX);
    await new Promise((resolve) => {
      setTimeout(resolve, Math.max(pauseMs, restMs, waitedMs));
    });
  }
}

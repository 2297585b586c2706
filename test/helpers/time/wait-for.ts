/** Waits for a condition. No other file of the tests may let time pass. */

/**
 * Pause between two checks, as a multiple of the time that the last check took. A check that runs a program would
 * otherwise keep a processor busy.
 */
const REST = 4;
/** No pause grows longer, in milliseconds. */
const PAUSE_MS_MAX = 500;
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
    const restMs = Math.min(REST * (performance.now() - startedMs), PAUSE_MS_MAX);
    await new Promise((resolve) => {
      setTimeout(resolve, Math.max(pauseMs, restMs));
    });
  }
}

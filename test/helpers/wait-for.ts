/** Waits for a condition. The only place of the tests that lets time pass. */

/**
 * Calls `check` until it answers something truthy and returns that. Throws after `timeoutMs` with `what` and the last answer. A check that costs a
 * lot is made after longer pauses.
 */
export async function waitFor<T>(what: string, check: () => Promise<T> | T, timeoutMs = 30_000, pauseMs = 20): Promise<Exclude<NonNullable<T>, false>> {
  const end = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await check();
      if (answer) return answer as Exclude<NonNullable<T>, false>;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}; last answer: ${last instanceof Error ? last.stack : JSON.stringify(last)}`);
    await new Promise((resolve) => { setTimeout(resolve, pauseMs); });
  }
}

/** Turns of the event loop, for what has no other sign of its end. */
import { setImmediate } from 'node:timers/promises';

/** Resolves when all that was ready, and what followed from it at once, has run. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}

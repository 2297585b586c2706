/** Waits for a tick of the event loop, where no other event shows that work has ended. */
import { setImmediate } from 'node:timers/promises';

/** Resolves after all ready callbacks, and the microtasks that follow them, have run. */
export async function nextTick(): Promise<void> {
  await setImmediate();
}

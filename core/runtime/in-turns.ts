/** Work on many things, between which the process does its other work: heartbeats, answers of others. */
import type { Clock } from './clock.ts';

/** How long is worked before others have their turn, in milliseconds. */
const TURN_MS = 5;

/** Does the work for each of them, one after the other. That for one must take well under a millisecond. */
export async function inTurns<Item>(clock: Clock, items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
  let sinceMs = clock.monotonicMs();
  for (const item of items) {
    work(item);
    if (clock.monotonicMs() - sinceMs < TURN_MS) continue;
    await new Promise<void>((resolve) => clock.soon(resolve));
    sinceMs = clock.monotonicMs();
  }
}

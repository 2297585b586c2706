/** Work on many things, between which the process does its other work: heartbeats, answers of others. */
import type { Clock } from './clock.ts';

/** How long is worked before others have their turn, in milliseconds. */
const SLICE_MS = 5;

/** Does the work for each of them, one after the other. That for one must take well under a millisecond. */
export async function inSlices<Item>(clock: Clock, items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
  let sinceMs = clock.monotonicMs();
  for (const item of items) {
    work(item);
    if (clock.monotonicMs() - sinceMs < SLICE_MS) continue;
    await new Promise<void>((resolve) => clock.soon(resolve));
    sinceMs = clock.monotonicMs();
  }
}

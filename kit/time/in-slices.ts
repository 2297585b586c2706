/** Runs work on many items in slices, between which the process handles heartbeats and other requests. */
import type { Clock } from './clock.ts';

/** Longest slice, in milliseconds. */
const SLICE_MS = 5;

/** Runs `work` for each item in order. Work on one item must take well under a millisecond. */
export async function inSlices<Item>(clock: Clock, items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
  let sinceMs = clock.monotonicMs();
  for (const item of items) {
    work(item);
    if (clock.monotonicMs() - sinceMs < SLICE_MS) continue;
    await new Promise<void>((resolve) => clock.soon(resolve));
    sinceMs = clock.monotonicMs();
  }
}

/**
 * A cache of the entries that were used last. One of lru-cache that is told `max` makes room for all of them at once, 1
 * ms for 10,000: with core's ten caches that was a third of what its start took in a warm process. This one grows as it
 * is filled.
 */
import { LRUCache } from 'lru-cache';

/** Makes one of at most so many entries. */
export function boundedCache<Key extends {}, Value extends {}>(
  entriesMax: number,
  options: Partial<LRUCache.OptionsBase<Key, Value, unknown>> = {},
): LRUCache<Key, Value> {
  return new LRUCache<Key, Value>({ ...options, maxSize: entriesMax, sizeCalculation: () => 1 });
}

/** What the use cases of usage and prices work with. */
import type { Clock } from '../runtime/clock.ts';
import type { Stores } from '../store/storage.ts';

export interface UsageContext {
  usage: Stores['usage'];
  prices: Stores['prices'];
  clock: Clock;
}

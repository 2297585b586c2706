/** What the use cases of usage and prices work with. */
import type { Clock } from '../runtime/clock.ts';
import type { PriceStore } from '../store/price-store.ts';
import type { UsageStore } from '../store/usage-store.ts';

export interface UsageContext {
  usage: UsageStore;
  prices: PriceStore;
  clock: Clock;
}

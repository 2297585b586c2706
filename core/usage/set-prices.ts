/** Replaces prices. */
import { unauthorized } from '../domain/access.ts';
import type { Caller } from '../domain/access.ts';
import { checkPrices } from '../domain/usage.ts';
import type { Price } from '../store/price-store.ts';
import type { UsageContext } from './context.ts';

/** All or none. UNAUTHORIZED: not the operator. INVALID_REQUEST: a price is out of range or an item is named twice. */
export async function setPrices({ prices }: Pick<UsageContext, 'prices'>, caller: Caller, preferred: readonly Price[]): Promise<void> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  await prices.set(checkPrices(preferred));
}

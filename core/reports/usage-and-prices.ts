/** Lists the usage of an account, and sets the operator's prices. */

import type { Clock } from '@slipway/kit/time/clock';
import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import type { UsageQuery } from '../domain/reports/usage.ts';
import {
  checkPricedItems,
  checkPrices,
  checkUsageQuery,
  USAGE_SPAN_MS,
  unlistedItems,
} from '../domain/reports/usage.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { Price } from '../store/reports/price-store.ts';
import type { UsageSums } from '../store/reports/usage-store.ts';
import type { PageRequest } from '../store/sql/page.ts';
import type { Stores } from '../store/storage.ts';
import type { UsageQueue } from './usage-queue.ts';

/** Dependencies of the use cases of usage and prices. */
export interface UsageContext extends Pick<Stores, 'prices' | 'machines'> {
  usage: UsageQueue;
  clock: Clock;
}

/** A query. Default of its times: the last 30 days. */
export type UsageRequest = Omit<UsageQuery, 'startMs' | 'endMs' | 'visibleEndpointIds'> & {
  startMs: number | undefined;
  endMs: number | undefined;
};

/**
 * Sums up the usage of an account, by period and then by group unless `page` has another order. Default of `page`: all.
 * `only`: endpoints whose workers a restricted key may see; empty: all. Throws INVALID_REQUEST if the times are out of
 * order or there are too many periods. RATE_LIMITED: the account has too many queries at once.
 */
export async function listUsage(
  { usage, clock }: Pick<UsageContext, 'usage' | 'clock'>,
  accountId: string,
  request: UsageRequest,
  only: readonly string[],
  page?: PageRequest,
): Promise<UsageSums> {
  const now = clock.nowMs();
  const query = {
    ...request,
    startMs: request.startMs ?? now - USAGE_SPAN_MS,
    endMs: request.endMs ?? now,
    visibleEndpointIds: only,
  };
  checkUsageQuery(query);
  if (only.length > 0 && query.kind !== 'WORKER')
    return { records: [], next: undefined, totals: { amountUsd: 0, billedMs: 0, groupCount: 0 } };
  return usage.list(accountId, query, page);
}

/**
 * Replaces prices, all or none. Throws UNAUTHORIZED if the caller is not the operator. INVALID_REQUEST: a price is out
 * of range, or an item is unknown or named twice.
 */
export async function setPrices(
  { prices, machines }: Pick<UsageContext, 'prices' | 'machines'>,
  caller: Caller,
  preferred: readonly Price[],
): Promise<void> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  const types = await machines.reportedTypes(unlistedItems(preferred));
  const reported = new Set([...types].filter((item) => unlistedItems([{ item }]).length > 0));
  await prices.set(checkPrices(preferred, reported), caller.keyId);
}

/**
 * Removes prices, all or none. Throws UNAUTHORIZED if the caller is not the operator. INVALID_REQUEST: no item is
 * named, or too many are. NOT_FOUND: an item has no price.
 */
export async function deletePrices(
  { prices }: Pick<UsageContext, 'prices'>,
  caller: Caller,
  items: readonly string[],
): Promise<void> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  const missing = await prices.delete(checkPricedItems(items), caller.keyId);
  if (missing !== undefined)
    throw new DomainError('NOT_FOUND', `${JSON.stringify(missing.slice(0, 64))} has no price.`);
}

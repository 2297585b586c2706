/** What an account used, and what it costs. */

import type { Clock } from '@slipway/kit/time/clock';
import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import type { UsageQuery } from '../domain/reports/usage.ts';
import { checkPrices, checkUsageQuery, USAGE_SPAN_MS } from '../domain/reports/usage.ts';
import type { Price } from '../store/reports/price-store.ts';
import type { UsageSums } from '../store/reports/usage-store.ts';
import type { PageRequest } from '../store/sql/page.ts';
import type { Stores } from '../store/storage.ts';
import type { UsageQueue } from './usage-queue.ts';

/** Dependencies of the use cases of usage and prices. */
export interface UsageContext extends Pick<Stores, 'prices'> {
  usage: UsageQueue;
  clock: Clock;
}

/** A query whose times may be left open: the last 30 days. */
export type UsageRequest = Omit<UsageQuery, 'startMs' | 'endMs' | 'visibleEndpointIds'> & {
  startMs: number | undefined;
  endMs: number | undefined;
};

/**
 * Sums up what an account used. By period, then by group, unless `page` says otherwise; default: all. `only`: the
 * endpoints whose workers a restricted key may see; empty = all. INVALID_REQUEST: the times are out of order or there
 * are too many periods. RATE_LIMITED: the account asks too often at once.
 */
export async function listUsage(
  { usage, clock }: Omit<UsageContext, 'prices'>,
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
 * Replaces prices. All or none. UNAUTHORIZED: not the operator. INVALID_REQUEST: a price is out of range or an item is
 * named twice.
 */
export async function setPrices(
  { prices }: Pick<UsageContext, 'prices'>,
  caller: Caller,
  preferred: readonly Price[],
): Promise<void> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  await prices.set(checkPrices(preferred));
}

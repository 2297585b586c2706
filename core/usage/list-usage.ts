/** Sums up what an account used. */
import { USAGE_SPAN_MS, checkUsageQuery } from '../domain/usage.ts';
import type { UsageQuery, UsageRecord } from '../domain/usage.ts';
import type { UsageContext } from './context.ts';

/** A query whose times may be left open: the last 30 days. */
export type UsageWish = Omit<UsageQuery, 'startMs' | 'endMs'> & { startMs: number | undefined; endMs: number | undefined };

/** By period, then by group. INVALID_REQUEST: the times are out of order or there are too many periods. */
export async function listUsage(
  { usage, clock }: Omit<UsageContext, 'prices'>, accountId: string, wish: UsageWish,
): Promise<UsageRecord[]> {
  const now = clock.nowMs();
  const query = { ...wish, startMs: wish.startMs ?? now - USAGE_SPAN_MS, endMs: wish.endMs ?? now };
  checkUsageQuery(query);
  return usage.list(accountId, query);
}

/** Sums up what an account used. */
import { USAGE_SPAN_MS, checkUsageQuery } from '../domain/usage.ts';
import type { UsageQuery, UsageRecord } from '../domain/usage.ts';
import type { UsageContext } from './context.ts';

/** A query whose times may be left open: the last 30 days. */
export type UsageRequest = Omit<UsageQuery, 'startMs' | 'endMs' | 'visibleEndpointIds'> & { startMs: number | undefined; endMs: number | undefined };

/**
 * By period, then by group. `only`: the endpoints whose workers a restricted key may see; empty = all. INVALID_REQUEST: the times are out of
 * order or there are too many periods.
 */
export async function listUsage(
  { usage, clock }: Omit<UsageContext, 'prices'>, accountId: string, request: UsageRequest, only: readonly string[],
): Promise<UsageRecord[]> {
  const now = clock.nowMs();
  const query = { ...request, startMs: request.startMs ?? now - USAGE_SPAN_MS, endMs: request.endMs ?? now, visibleEndpointIds: only };
  checkUsageQuery(query);
  if (only.length > 0 && query.kind !== 'WORKER') return [];
  return usage.list(accountId, query);
}

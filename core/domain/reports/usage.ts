/** Usage and prices: what may be asked for, and what a price may be. */

import { sameCard } from '../machines/gpu-pools.ts';
import { checkName, invalid } from '../settings/fields.ts';

/** What was used, as the rows call it. */
export type UsageKind = 'WORKER' | 'POD' | 'VOLUME';
/** Length of a period, as PostgreSQL calls it. */
export type UsageBucket = 'hour' | 'day' | 'week' | 'month' | 'year';
/** By what usage is summed up within a period. */
export type UsageGrouping = 'SUBJECT' | 'ENDPOINT' | 'GPU_TYPE' | 'ACCOUNT';

/** What to sum up. The contract says what each field means; empty texts and lists mean all. */
export interface UsageQuery {
  kind: UsageKind;
  bucket: UsageBucket;
  grouping: UsageGrouping;
  startMs: number;
  endMs: number;
  subjectId: string;
  endpointId: string;
  /** Of workers only those of these endpoints, which are all that the caller may see; empty: of all. */
  visibleEndpointIds: readonly string[];
  gpuTypeIds: string[];
  dataCenterIds: string[];
  templateId: string;
  imageName: string;
  /** Only so many groups by themselves, the others as one. `undefined` if each by itself. */
  top: number | undefined;
}

/** Usage of one period and one group. */
export interface UsageRecord {
  /** When the period begins, in milliseconds since 1970. */
  startMs: number;
  /** The group; empty for what has none. */
  group: string;
  /** Name of the endpoint or account that is the group; empty for one that is gone, and for other groups. */
  groupName: string;
  amountUsd: number;
  billedMs: number;
  diskGb: number;
  /** All groups that are not among the top ones, together. */
  others: boolean;
}

/** Sums of all records that were found, on whatever page they are. */
export interface UsageTotals {
  amountUsd: number;
  billedMs: number;
  groupCount: number;
}

/** Most periods of one answer (usage_service.proto). */
export const PERIODS_MAX = 10_000;
/** Most records of one answer, which must stay far from the largest message. */
export const USAGE_RECORDS_MAX = 50_000;
/** Most groups that stand by themselves beside the others (usage_service.proto). */
const TOP_MAX = 100;
/** Most pieces of spans that are summed up, which takes a second or two. */
const PIECES_MAX = 500_000;
/** How far back usage is summed up when nothing is said, in milliseconds. */
export const USAGE_SPAN_MS = 30 * 86_400_000;
/** Most prices of one call (usage_service.proto). */
const PRICES_MAX = 1_000;
const PRICE_USD_MAX = 1_000_000;

/**
 * Shortest length of a period in milliseconds: the number of periods is at most the span over it, and the two at the
 * ends.
 */
const SHORTEST_MS: Record<UsageBucket, number> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
  month: 28 * 86_400_000,
  year: 365 * 86_400_000,
};
/** Start of the year 10000. */
const TIME_MS_MAX = 253_402_300_800_000;

/** Fails with INVALID_REQUEST at the first fault. */
export function checkUsageQuery(query: UsageQuery): void {
  for (const [field, ms] of [
    ['start_time', query.startMs],
    ['end_time', query.endMs],
  ] as const) {
    if (!(ms >= 0 && ms < TIME_MS_MAX)) throw invalid(`${field} must be from the year 1970 to 9999`);
  }
  if (query.startMs > query.endMs) {
    throw invalid(`start_time, ${isoOf(query.startMs)}, must not be later than end_time, ${isoOf(query.endMs)}`);
  }
  const periods = (query.endMs - query.startMs) / SHORTEST_MS[query.bucket];
  if (periods > PERIODS_MAX) {
    const apart = `more than ${PERIODS_MAX} periods of one ${query.bucket} apart`;
    throw invalid(`start_time and end_time are ${apart}; ask for less or for longer periods`);
  }
  if (query.top !== undefined && !(query.top >= 1 && query.top <= TOP_MAX))
    throw invalid(`top is ${query.top}, but must be from 1 to ${TOP_MAX}`);
  if (query.grouping === 'ENDPOINT' && query.kind !== 'WORKER') throw invalid('grouping ENDPOINT is for workers only');
}

/**
 * Fails with INVALID_REQUEST when a sum has too many parts: pieces of spans that lie in one period each, or records of
 * its answer.
 */
export function checkUsageCost(pieces: number, records: number): void {
  if (pieces <= PIECES_MAX && records <= USAGE_RECORDS_MAX) return;
  throw invalid(
    'this is too much to sum up at once; ask for less time, for longer periods, for one thing, or by another grouping',
  );
}

/**
 * Checks prices and answers them with the names that machines report. INVALID_REQUEST: a fault, or an item is named
 * twice.
 */
export function checkPrices(
  prices: readonly { item: string; usdPerHour: number }[],
): { item: string; usdPerHour: number }[] {
  if (prices.length > PRICES_MAX) throw invalid(`prices has ${prices.length} entries, but may have ${PRICES_MAX}`);
  const items = new Set<string>();
  return prices.map(({ item, usdPerHour }) => {
    checkName('prices.item', item);
    const name = sameCard(item);
    if (name === '' || items.has(name)) throw invalid(`prices.item ${JSON.stringify(item)} is blank or named twice`);
    items.add(name);
    if (!(usdPerHour >= 0 && usdPerHour <= PRICE_USD_MAX)) {
      throw invalid(`prices.usd_per_hour of ${item} is ${usdPerHour}, but must be from 0 to ${PRICE_USD_MAX}`);
    }
    return { item: name, usdPerHour };
  });
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

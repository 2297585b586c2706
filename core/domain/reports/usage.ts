/** Usage and prices: rules for queries and for prices. */

import { KNOWN_GPU_TYPES } from '../machines/gpu-facts.ts';
import { sameCard } from '../machines/gpu-pools.ts';
import { checkName, invalid } from '../settings/fields.ts';

/** Items of the price table that are no GPU. */
const OTHER_ITEMS: readonly string[] = ['CPU', 'VOLUME_GB'];

/** Kind of the metered resource, as stored. */
type UsageKind = 'WORKER' | 'POD' | 'VOLUME';
/** Length of a period, as PostgreSQL names it. */
export type UsageBucket = 'hour' | 'day' | 'week' | 'month' | 'year';
/** Key by which usage is grouped within a period. */
export type UsageGrouping = 'SUBJECT' | 'ENDPOINT' | 'GPU_TYPE' | 'ACCOUNT';

/**
 * Filter and grouping of a usage query. For the meaning of each field see the contract. Empty texts and lists match
 * all.
 */
export interface UsageQuery {
  kind: UsageKind;
  bucket: UsageBucket;
  grouping: UsageGrouping;
  startMs: number;
  endMs: number;
  subjectId: string;
  endpointId: string;
  /** Limits workers to these endpoints, the only ones that the caller may see. Empty: all. */
  visibleEndpointIds: readonly string[];
  gpuTypeIds: string[];
  dataCenterIds: string[];
  templateId: string;
  imageName: string;
  /** Number of groups that are returned by themselves; the others are merged into one. `undefined`: no merging. */
  top: number | undefined;
}

/** Usage of one period and one group. */
export interface UsageRecord {
  /** Begin of the period, in milliseconds since 1970. */
  startMs: number;
  /** Key of the group. Empty if the usage has none. */
  group: string;
  /** Name of the endpoint or account that is the group. Empty if it was deleted, and for other groupings. */
  groupName: string;
  amountUsd: number;
  /** The part of it that is for workers and pods without a GPU. */
  withoutGpuUsd: number;
  billedMs: number;
  diskGb: number;
  /** True if this record merges all groups that are not among the top ones. */
  others: boolean;
}

/** Sums over all matching records, on all pages. */
export interface UsageTotals {
  amountUsd: number;
  billedMs: number;
  groupCount: number;
}

/** Most periods in one response (usage_service.proto). */
export const PERIODS_MAX = 10_000;
/** Most records in one response, which must stay far below the message size limit. */
export const USAGE_RECORDS_MAX = 50_000;
/** Most groups that are not merged (usage_service.proto). */
const TOP_MAX = 100;
/** Most pieces of spans that one query sums up, which takes a second or two. */
const PIECES_MAX = 500_000;
/** Default length of the queried time, in milliseconds. */
export const USAGE_SPAN_MS = 30 * 86_400_000;
/** Most prices in one call (usage_service.proto). */
const PRICES_MAX = 1_000;
const PRICE_USD_MAX = 1_000_000;

/**
 * Shortest length of each period in milliseconds. The number of periods is at most the queried time divided by it, plus
 * the two at the ends.
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

/** Throws INVALID_REQUEST at the first invalid field. */
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
 * Throws INVALID_REQUEST if a query is too large: too many pieces of spans, each within one period, or too many records
 * in the response.
 */
export function checkUsageCost(pieces: number, records: number): void {
  if (pieces <= PIECES_MAX && records <= USAGE_RECORDS_MAX) return;
  throw invalid(
    'this is too much to sum up at once; ask for less time, for longer periods, for one thing, or by another grouping',
  );
}

/**
 * Returns the items that are no known GPU type, nor anything else that is metered. A machine may still have such a
 * card.
 */
export function unlistedItems(prices: readonly { item: string }[]): string[] {
  return prices.map(({ item }) => sameCard(item)).filter((item) => !OTHER_ITEMS.includes(item) && !isKnownType(item));
}

/** Returns true for a GPU type that the public API knows, and for a MIG slice of one. */
function isKnownType(item: string): boolean {
  const [card = '', slice] = item.split(' MIG ');
  return KNOWN_GPU_TYPES.has(card) && (slice === undefined || /^\d+g\.\d+gb\S*$/.test(slice));
}

/**
 * Checks prices. `reported`: types that machines have and the public API does not know. Returns them with the names
 * that machines report. Throws INVALID_REQUEST if a price is invalid or an item is unknown or named twice.
 */
export function checkPrices(
  prices: readonly { item: string; usdPerHour: number }[],
  reported: ReadonlySet<string>,
): { item: string; usdPerHour: number }[] {
  if (prices.length > PRICES_MAX) throw invalid(`prices has ${prices.length} entries, but may have ${PRICES_MAX}`);
  const items = new Set<string>();
  return prices.map(({ item, usdPerHour }) => {
    checkName('prices.item', item);
    const name = sameCard(item);
    if (name === '' || items.has(name)) throw invalid(`prices.item ${JSON.stringify(item)} is blank or named twice`);
    items.add(name);
    if (unlistedItems([{ item }]).length > 0 && !reported.has(name))
      throw invalid(
        `prices.item ${JSON.stringify(item)} is not known: give CPU, VOLUME_GB, or a GPU type as ` +
          `"slipway machines get" names it${reported.size === 0 ? '' : `, here also ${[...reported].join(', ')}`}`,
      );
    if (!(usdPerHour >= 0 && usdPerHour <= PRICE_USD_MAX)) {
      throw invalid(`prices.usd_per_hour of ${item} is ${usdPerHour}, but must be from 0 to ${PRICE_USD_MAX}`);
    }
    return { item: name, usdPerHour };
  });
}

/**
 * Returns the items whose prices are removed, with the names that machines report, each once. Throws INVALID_REQUEST if
 * there are none or too many.
 */
export function checkPricedItems(items: readonly string[]): string[] {
  if (items.length === 0) throw invalid('items is empty: name the items whose price is removed');
  if (items.length > PRICES_MAX) throw invalid(`items has ${items.length} entries, but may have ${PRICES_MAX}`);
  for (const item of items) checkName('items', item);
  return [...new Set(items.map(sameCard))];
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

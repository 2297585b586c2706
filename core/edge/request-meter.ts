/**
 * Counts requests to workers of load-balancing endpoints, as facades and edges report them; the request writer collects
 * the counts every few seconds. A crash loses those of some seconds. Bounded: further workers are counted together, and
 * PostgreSQL can store every number and text. All accounts share a statement: no report may make it fail.
 */
import type { RequestCounts } from '@slipway/kit/observe/request-counts';
import { addRequests, FAILED_REPORTED_MAX, noRequests } from '@slipway/kit/observe/request-counts';

import type { FailedRequest, MeteredRequests } from '../store/scaling/request-store.ts';

/** Most workers and endpoints with counts of their own between two collections, and most workers of an endpoint. */
const COUNTED_MAX = 20_000;
const OF_ENDPOINT_MAX = 1_000;
/** Largest sum of a count: that of an integer column. A sum that would be larger stays there. */
const COUNT_MAX = 2_147_483_647;
/** Largest sum of bytes, and of milliseconds. */
const AMOUNT_MAX = 1_000_000_000_000_000;
/** The last millisecond of the year 9999. */
const TIME_MS_MAX = 253_402_300_799_999;
const STATUS_MAX = 999;

/** Requests since the last `take`. */
export interface TakenRequests {
  counts: MeteredRequests[];
  failed: (FailedRequest & { endpointId: string })[];
}

export class RequestMeter {
  readonly #onRequests: (endpointId: string, counts: RequestCounts) => void;
  #counts = new Map<string, MeteredRequests>();
  /** Workers with counts, by endpoint. */
  #workersOf = new Map<string, number>();
  #failed = new Map<string, FailedRequest[]>();

  /** `onRequests` is called with all counts, for metrics. */
  constructor(onRequests: (endpointId: string, counts: RequestCounts) => void) {
    this.#onRequests = onRequests;
  }

  /** Adds ended requests of a worker. Empty: no worker got them. */
  add(endpointId: string, workerId: string, counts: RequestCounts): void {
    this.#onRequests(endpointId, counts);
    addBounded(this.#sumOf(endpointId, workerId), counts);
  }

  /** Returns the sum of a worker. If there are too many, that of no worker. */
  #sumOf(endpointId: string, workerId: string): MeteredRequests {
    const key = `${endpointId} ${workerId}`;
    const known = this.#counts.get(key);
    if (known) return known;
    const workers = this.#workersOf.get(endpointId) ?? 0;
    if ((this.#counts.size >= COUNTED_MAX || workers >= OF_ENDPOINT_MAX) && workerId !== '')
      return this.#sumOf(endpointId, '');
    this.#workersOf.set(endpointId, workers + 1);
    const sum = { endpointId, workerId, ...noRequests() };
    this.#counts.set(key, sum);
    return sum;
  }

  /** Adds a failed request to the sample of its endpoint: the last few are kept. */
  fail(endpointId: string, request: FailedRequest): void {
    const failed = this.#failed.get(endpointId) ?? [];
    failed.push(storable(request));
    if (failed.length > FAILED_REPORTED_MAX) failed.shift();
    this.#failed.set(endpointId, failed);
  }

  /** Returns and resets the counts. `undefined` if there were no requests. */
  take(): TakenRequests | undefined {
    const counts = [...this.#counts.values()];
    const failed = [...this.#failed].flatMap(([endpointId, own]) => own.map((each) => ({ ...each, endpointId })));
    this.#counts = new Map();
    this.#workersOf = new Map();
    this.#failed = new Map();
    return counts.length + failed.length === 0 ? undefined : { counts, failed };
  }

  /** Adds what `take` returned, because it could not be stored. */
  putBack({ counts, failed }: TakenRequests): void {
    // Within the same bounds: while nothing can be stored, this is called again and again.
    for (const { endpointId, workerId, ...each } of counts) addBounded(this.#sumOf(endpointId, workerId), each);
    for (const [endpointId, own] of Map.groupBy(failed, (each) => each.endpointId))
      this.#failed.set(endpointId, [...own, ...(this.#failed.get(endpointId) ?? [])].slice(-FAILED_REPORTED_MAX));
  }
}

/**
 * Returns the counts with those of workers that are not `known` added to those of no worker: a report may invent ids,
 * and each would become a row.
 */
export function withKnownWorkers(
  counts: readonly MeteredRequests[],
  known: ReadonlySet<string>,
): readonly MeteredRequests[] {
  const sums = new Map<string, MeteredRequests>();
  for (const { endpointId, workerId: given, ...each } of counts) {
    const workerId = known.has(given) ? given : '';
    const key = `${endpointId} ${workerId}`;
    const sum = sums.get(key) ?? { endpointId, workerId, ...noRequests() };
    sums.set(key, sum);
    addBounded(sum, each);
  }
  return [...sums.values()];
}

function addBounded(sum: RequestCounts, more: RequestCounts): void {
  addRequests(sum, more);
  for (const counts of [sum.outcomes, sum.durations])
    for (const [place, count] of counts.entries()) if (count > COUNT_MAX) counts[place] = COUNT_MAX;
  sum.bytesIn = Math.min(sum.bytesIn, AMOUNT_MAX);
  sum.bytesOut = Math.min(sum.bytesOut, AMOUNT_MAX);
  sum.durationMs = Math.min(sum.durationMs, AMOUNT_MAX);
}

/** Returns the request with values that PostgreSQL stores. A time that is none becomes 1970. */
function storable({
  atMs,
  status,
  durationMs,
  method,
  path,
  workerId,
  cause,
  ...request
}: FailedRequest): FailedRequest {
  const text = (value: string): string => value.replaceAll('\0', '').toWellFormed();
  const number = (value: number, max: number): number => Math.min(Math.max(Math.round(value) || 0, 0), max);
  return {
    ...request,
    ...{ method: text(method), path: text(path), workerId: text(workerId), cause: text(cause) },
    atMs: number(atMs, TIME_MS_MAX),
    status: number(status, STATUS_MAX),
    durationMs: number(durationMs, COUNT_MAX),
  };
}

/**
 * Counts requests to workers of load-balancing endpoints, as facades and edges report them; the request writer collects
 * the counts every few seconds. A crash loses those of some seconds. Bounded: further workers are counted together.
 */
import type { RequestCounts } from '@slipway/kit/observe/request-counts';
import { addRequests, FAILED_REPORTED_MAX, noRequests } from '@slipway/kit/observe/request-counts';

import type { FailedRequest, MeteredRequests } from '../store/scaling/request-store.ts';

/** Most workers and endpoints with counts of their own between two collections. */
const COUNTED_MAX = 20_000;

/** Requests since the last `take`. */
export interface TakenRequests {
  counts: MeteredRequests[];
  failed: (FailedRequest & { endpointId: string })[];
}

export class RequestMeter {
  readonly #onRequests: (endpointId: string, counts: RequestCounts) => void;
  #counts = new Map<string, MeteredRequests>();
  #failed = new Map<string, FailedRequest[]>();

  /** `onRequests` is called with all counts, for metrics. */
  constructor(onRequests: (endpointId: string, counts: RequestCounts) => void) {
    this.#onRequests = onRequests;
  }

  /** Adds ended requests of a worker. Empty: no worker got them. */
  add(endpointId: string, workerId: string, counts: RequestCounts): void {
    this.#onRequests(endpointId, counts);
    const key = `${endpointId} ${workerId}`;
    let sum = this.#counts.get(key);
    if (!sum) {
      if (this.#counts.size >= COUNTED_MAX && workerId !== '') return this.#addOf(endpointId, counts);
      sum = { endpointId, workerId, ...noRequests() };
      this.#counts.set(key, sum);
    }
    addRequests(sum, counts);
  }

  #addOf(endpointId: string, counts: RequestCounts): void {
    const key = `${endpointId} `;
    const sum = this.#counts.get(key) ?? { endpointId, workerId: '', ...noRequests() };
    this.#counts.set(key, sum);
    addRequests(sum, counts);
  }

  /** Adds a failed request to the sample of its endpoint: the last few are kept. */
  fail(endpointId: string, request: FailedRequest): void {
    const failed = this.#failed.get(endpointId) ?? [];
    failed.push(request);
    if (failed.length > FAILED_REPORTED_MAX) failed.shift();
    this.#failed.set(endpointId, failed);
  }

  /** Returns and resets the counts. `undefined` if there were no requests. */
  take(): TakenRequests | undefined {
    const counts = [...this.#counts.values()];
    const failed = [...this.#failed].flatMap(([endpointId, own]) => own.map((each) => ({ ...each, endpointId })));
    this.#counts = new Map();
    this.#failed = new Map();
    return counts.length + failed.length === 0 ? undefined : { counts, failed };
  }

  /** Adds what `take` returned, because it could not be stored. */
  putBack({ counts, failed }: TakenRequests): void {
    for (const { endpointId, workerId, ...each } of counts) {
      const key = `${endpointId} ${workerId}`;
      const sum = this.#counts.get(key) ?? { endpointId, workerId, ...noRequests() };
      this.#counts.set(key, sum);
      addRequests(sum, each);
    }
    for (const [endpointId, own] of Map.groupBy(failed, (each) => each.endpointId))
      this.#failed.set(endpointId, [...own, ...(this.#failed.get(endpointId) ?? [])].slice(-FAILED_REPORTED_MAX));
  }
}

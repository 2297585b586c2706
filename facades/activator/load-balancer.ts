/**
 * Balances requests over the workers of load-balancing endpoints, and queues requests without capacity. Reports demand
 * to core, batched per endpoint. While core is unreachable it uses the last endpoint sets that it received.
 */

import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { DemandRefusal, EndpointRotation } from '@slipway/proto/gen/slipway/v1/edge_service';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import { CoreError } from '@slipway/proto/wire/reason';
import type { EndpointSetLink } from '../core-client/endpoint-set-link.ts';
import { endpointNotFound } from '../plugins/public-id.ts';
import { EndpointQueue } from './endpoint-queue.ts';
import { queueFull } from './lb-error.ts';
import type { SlotRequest, WorkerSlot } from './worker-slot.ts';

/** Requests that arrive within this time are reported to core together, in milliseconds. */
const BATCH_MS = 5;
/** Longest wait for the first endpoint set of an endpoint, in milliseconds. */
const SYNC_TIMEOUT_MS = 1_000;

/** Bounds of the queues. */
export interface WaitBounds {
  /** Most waiting requests of one endpoint, of one account, and of all. */
  endpointMax: number;
  accountMax: number;
  allMax: number;
  /** Longest wait of a request that insists on one worker, in milliseconds. */
  strictMs: number;
}

/** Default bounds, as docs/reference/api.md#load-balancing documents them. */
export const WAIT_BOUNDS: WaitBounds = { endpointMax: 1_000, accountMax: 2_000, allMax: 10_000, strictMs: 300_000 };

/** The caller of an authorized request. */
export interface AuthorizedCaller {
  /** Empty if an edge has authorized the request. */
  apiKey: string;
  accountId: string;
}

interface Endpoint {
  queue: EndpointQueue;
  /** Key of the latest request, with which demand is reported. Empty: with the edges' key, or not at all. */
  apiKey: string;
  /** Key of the latest report, which is the key that a rejection is about. */
  reportedKey: string;
  /** Time at which a request last arrived, waited or ran. */
  usedAtMs: number;
  /** Time since which requests wait without an endpoint set. `undefined` if none waits. */
  unsyncedSinceMs: number | undefined;
  reportedAtMs: number;
  reportedWaiting: number;
  changed: boolean;
  batch: Timer | undefined;
}

export class LoadBalancer extends BaseService {
  readonly name = 'load balancer';
  readonly #link: EndpointSetLink;
  readonly #waits: WaitBounds;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #waiting = new Map<string, number>();
  #waitingTotal = 0;
  #timer: Timer | undefined;

  constructor({
    link,
    waits,
    clock,
    logger,
  }: { link: EndpointSetLink; waits: WaitBounds; clock: Clock; logger: Logger }) {
    super();
    this.#link = link;
    this.#waits = waits;
    this.#clock = clock;
    this.#logger = logger;
    link.listen({
      onEndpointSet: (endpointSet) => this.#update(endpointSet),
      onRejected: (rejection) => this.#onRejected(rejection),
      onConnected: () => {
        for (const id of this.#endpoints.keys()) this.#report(id);
      },
    });
  }

  protected override onStart(): void {
    this.#timer = this.#clock.after(LINK_TIMERS.demandChangedMs, () => {
      this.#check();
      this.onStart();
    });
  }

  protected override onStop(): void {
    this.#timer?.cancel();
    for (const { queue, batch } of this.#endpoints.values()) {
      batch?.cancel();
      queue.close(new CoreError('UNAVAILABLE', 'The service is stopping.'));
    }
  }

  /** Returns how many requests wait for a worker. */
  get waiting(): number {
    return this.#waitingTotal;
  }

  /**
   * Returns whether a request may bypass the queue: a worker is ready, workers take many requests at a time, and no
   * waiting request would be overtaken. The call subscribes to the endpoint set for a while, so the first call for an
   * endpoint usually returns false.
   */
  hasReadyWorker(endpointId: string, { apiKey }: AuthorizedCaller): boolean {
    const endpoint = this.#endpoint(endpointId);
    endpoint.apiKey = apiKey;
    endpoint.usedAtMs = this.#clock.monotonicMs();
    if (endpoint.reportedAtMs === -Infinity) this.#report(endpointId);
    return endpoint.queue.isDirect;
  }

  /**
   * Returns whether a facade can forward to the endpoint's workers, as far as is known: workers that speak HTTP/2 need
   * an edge.
   */
  carries(endpointId: string): boolean {
    return this.#endpoints.get(endpointId)?.queue.isH2c !== true;
  }

  /**
   * Waits until a worker has capacity, for a request that an edge then forwards. Rejects with the error for the client.
   */
  async awaitReady(
    endpointId: string,
    who: AuthorizedCaller,
    { waitMs, signal }: Pick<SlotRequest, 'waitMs' | 'signal'>,
  ): Promise<void> {
    (
      await this.acquire(endpointId, who, { workerId: undefined, strict: false, waitMs, isRetry: false, signal })
    ).release();
  }

  /**
   * Resolves when core has sent the endpoint set, or after SYNC_TIMEOUT_MS. Call `hasReadyWorker` first: it subscribes.
   */
  async synced(endpointId: string): Promise<void> {
    const queue = this.#endpoints.get(endpointId)?.queue;
    if (!queue || queue.isSynced || !this.#link.isUp) return;
    const over = new AbortController();
    await Promise.race([queue.synced, delay(this.#clock, SYNC_TIMEOUT_MS, over.signal)]);
    over.abort();
  }

  /** Sends no requests to a worker for a moment, because it could not be reached or is full. */
  suspect(endpointId: string, { workerId }: WorkerSlot): void {
    this.#endpoints.get(endpointId)?.queue.suspect(workerId);
  }

  /** Returns a slot at a worker, perhaps after a wait. Rejects with the error for the client. */
  async acquire(
    endpointId: string,
    { apiKey, accountId }: AuthorizedCaller,
    request: SlotRequest,
  ): Promise<WorkerSlot> {
    const endpoint = this.#endpoint(endpointId);
    if (apiKey !== '') endpoint.apiKey = apiKey;
    endpoint.usedAtMs = this.#clock.monotonicMs();
    const free = endpoint.queue.tryAcquire(request);
    if (free) return free;
    if (!request.isRetry) this.#checkCapacity(endpoint, accountId);
    this.#count(accountId, 1);
    try {
      return await endpoint.queue.acquire({ ...request, apiKey });
    } finally {
      this.#count(accountId, -1);
    }
  }

  #checkCapacity({ queue }: Endpoint, accountId: string): void {
    const { endpointMax, accountMax, allMax } = this.#waits;
    if (queue.waiting >= endpointMax) throw queueFull('endpoint');
    if ((this.#waiting.get(accountId) ?? 0) >= accountMax) throw queueFull('account');
    if (this.#waitingTotal >= allMax) throw queueFull('service');
  }

  #count(accountId: string, by: number): void {
    this.#waitingTotal += by;
    const waiting = (this.#waiting.get(accountId) ?? 0) + by;
    if (waiting > 0) this.#waiting.set(accountId, waiting);
    else this.#waiting.delete(accountId);
  }

  #endpoint(id: string): Endpoint {
    const known = this.#endpoints.get(id);
    if (known) return known;
    const endpoint: Endpoint = {
      queue: new EndpointQueue(this.#clock, () => this.#changed(id)),
      apiKey: '',
      reportedKey: '',
      usedAtMs: 0,
      unsyncedSinceMs: undefined,
      reportedAtMs: -Infinity,
      reportedWaiting: 0,
      changed: false,
      batch: undefined,
    };
    this.#endpoints.set(id, endpoint);
    return endpoint;
  }

  /** Reports the first waiting request at once. Other changes are reported by the next periodic check. */
  #changed(id: string): void {
    const endpoint = this.#endpoints.get(id);
    if (!endpoint) return;
    endpoint.changed = true;
    if (endpoint.batch || endpoint.queue.waiting === 0 || endpoint.reportedWaiting > 0) return;
    endpoint.batch = this.#clock.after(BATCH_MS, () => {
      endpoint.batch = undefined;
      this.#report(id);
    });
  }

  #check(): void {
    const now = this.#clock.monotonicMs();
    for (const [id, endpoint] of this.#endpoints) {
      const { queue, reportedAtMs, changed } = endpoint;
      // The idle time counts from the end of the last request.
      if (queue.waiting > 0 || queue.loads().length > 0) endpoint.usedAtMs = now;
      this.#warnUnsynced(id, endpoint);
      // While core is unreachable nothing is dropped: it could not be learned again.
      const isRemembered = changed || !this.#link.isUp || now - endpoint.usedAtMs <= LINK_TIMERS.demandRememberedMs;
      if (isRemembered) {
        if (changed || now - reportedAtMs >= LINK_TIMERS.demandRepeatMs) this.#report(id);
      } else if (queue.version !== '' || !queue.isSynced || now - reportedAtMs > LINK_TIMERS.unversionedKeptMs) {
        // A core that sends no versions sends changes only. They must be applied until core itself has dropped the
        // endpoint.
        this.#endpoints.delete(id);
      }
    }
  }

  /** Warns if requests wait and core sends no endpoint set: the sign of a fault between here and core's database. */
  #warnUnsynced(endpointId: string, endpoint: Endpoint): void {
    const { queue, unsyncedSinceMs } = endpoint;
    const now = this.#clock.monotonicMs();
    if (queue.isSynced || queue.waiting === 0 || !this.#link.isUp) endpoint.unsyncedSinceMs = undefined;
    else if (unsyncedSinceMs === undefined) endpoint.unsyncedSinceMs = now;
    else if (now - unsyncedSinceMs >= LINK_TIMERS.rotationMissedMs) {
      // Logged once.
      endpoint.unsyncedSinceMs = Infinity;
      this.#logger.warn(
        { endpointId, waiting: queue.waiting },
        'requests wait, but core has sent no backends of the endpoint',
      );
    }
  }

  #report(id: string): void {
    const endpoint = this.#endpoints.get(id);
    if (!endpoint || (endpoint.apiKey === '' && !this.#link.hasEdgeKey)) return;
    const { queue, apiKey } = endpoint;
    endpoint.reportedAtMs = this.#clock.monotonicMs();
    endpoint.reportedWaiting = queue.waiting;
    endpoint.reportedKey = apiKey;
    endpoint.changed = false;
    this.#link.report({
      endpointId: id,
      apiKey,
      waiting: queue.waiting,
      workers: queue.loads(),
      version: queue.version,
    });
  }

  #update(endpointSet: EndpointRotation): void {
    this.#endpoints.get(endpointSet.endpointId)?.queue.update(endpointSet);
  }

  #onRejected({ endpointId, reason }: DemandRefusal): void {
    const endpoint = this.#endpoints.get(endpointId);
    if (!endpoint) return;
    if (reason === 'ENDPOINT_NOT_FOUND') {
      this.#endpoints.delete(endpointId);
      return endpoint.queue.close(endpointNotFound());
    }
    const { queue, reportedKey } = endpoint;
    // Requests with the rejected key must not get a worker by another key.
    if (reason === 'UNAUTHORIZED' && reportedKey !== '') queue.rejectKey(reportedKey);
    // Core sends no more changes, so the set would become stale. Another waiting request may have a valid key.
    queue.dropBackends();
    const apiKey =
      endpoint.apiKey === reportedKey ? ([...queue.keys()].find((key) => key !== reportedKey) ?? '') : endpoint.apiKey;
    Object.assign(endpoint, { apiKey, reportedAtMs: -Infinity, reportedWaiting: 0, changed: false });
    if (reportedKey !== '') this.#report(endpointId);
  }
}

/**
 * Queues the requests of one endpoint and hands out slots at its workers: first come, first served. Holds no bytes of a
 * request.
 */

import type { Clock } from '@slipway/kit/time/clock';
import type { EndpointRotation } from '@slipway/proto/gen/slipway/v1/edge_service';
import { EndpointWorkers } from './endpoint-workers.ts';
import { noWorkers, unauthorized, workerGone, workerTimeout } from './lb-error.ts';
import type { SlotRequest, WorkerSlot } from './worker-slot.ts';

interface Waiter {
  request: SlotRequest;
  grant(slot: WorkerSlot): void;
  fail(error: Error): void;
}

export class EndpointQueue {
  readonly #clock: Clock;
  readonly #onChanged: () => void;
  readonly #workers: EndpointWorkers;
  readonly #waiters = new Set<Waiter>();
  #synced = Promise.withResolvers<void>();
  /** Core has sent the workers of the endpoint, or the queue is closed. */
  isSynced = false;
  /** Version of the endpoint set. Empty if none is known, or if core sends no versions. */
  version = '';

  /** `onChanged` is called when a request joins, gets a slot, or leaves. */
  constructor(clock: Clock, onChanged: () => void) {
    this.#clock = clock;
    this.#onChanged = onChanged;
    this.#workers = new EndpointWorkers(clock, {
      onReleased: () => {
        onChanged();
        this.#dispatch();
      },
      onTrusted: () => this.#dispatch(),
    });
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Resolves as soon as `isSynced` is true. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** The workers speak HTTP/2 without TLS, which only an edge does. */
  get isH2c(): boolean {
    return this.#workers.isH2c;
  }

  /**
   * Requests may bypass the queue (LoadBalancer.hasReadyWorker). Never if a worker is reached by a tunnel: then all
   * requests go through here.
   */
  get isDirect(): boolean {
    const overtakes = this.#waiters.size > 0 && !this.isH2c;
    return !overtakes && this.#workers.takesMany && this.#workers.isReachable;
  }

  /** Returns requests and connections in flight by worker. Idle workers are left out. */
  loads(): { workerId: string; inFlight: number }[] {
    return this.#workers.loads();
  }

  /**
   * Returns a slot that is free now, or `undefined`. A waiting request could not have used it, so none is overtaken.
   */
  tryAcquire(request: SlotRequest): WorkerSlot | undefined {
    const slot = this.#workers.take(request);
    if (slot) this.#onChanged();
    return slot;
  }

  /** Waits for a slot. Rejects with an LbError if none is free in time or the preferred worker is gone. */
  acquire(request: SlotRequest): Promise<WorkerSlot> {
    return new Promise((resolve, reject) => {
      const expire = (): void => waiter.fail(request.strict ? workerTimeout() : noWorkers());
      const timer = this.#clock.after(request.waitMs, expire);
      const leave = (): void => {
        timer.cancel();
        request.signal.removeEventListener('abort', abort);
        this.#waiters.delete(waiter);
        this.#onChanged();
      };
      const waiter: Waiter = {
        request,
        grant: (slot) => {
          leave();
          resolve(slot);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      const abort = (): void => waiter.fail(request.signal.reason as Error);
      request.signal.addEventListener('abort', abort, { once: true });
      this.#enqueue(waiter);
      this.#dispatch();
      if (this.#waiters.has(waiter)) this.#onChanged();
    });
  }

  /** Replaces the endpoint set with core's. */
  update(endpointSet: EndpointRotation): void {
    this.#markSynced();
    this.version = endpointSet.version;
    this.#workers.update(endpointSet);
    const listed = new Set(endpointSet.workers.map(({ workerId }) => workerId));
    for (const { request, fail } of this.#waiters)
      if (request.strict && !listed.has(request.workerId ?? '')) fail(workerGone());
    this.#dispatch();
  }

  /** Drops the endpoint set, because core no longer updates it. Requests in flight are counted until they end. */
  dropBackends(): void {
    this.#workers.drop();
    this.version = '';
    this.isSynced = false;
    this.#synced = Promise.withResolvers<void>();
  }

  /** Sends no requests to a worker for a moment, because it could not be reached or is full. */
  suspect(workerId: string): void {
    this.#workers.suspect(workerId);
  }

  /** Fails the waiting requests of a key that is no longer valid. */
  rejectKey(apiKey: string): void {
    for (const { request, fail } of this.#waiters) if (request.apiKey === apiKey) fail(unauthorized('invalid api key'));
  }

  /** Returns the keys of waiting requests, the oldest first. Empty for a request that an edge has authorized. */
  *keys(): Iterable<string> {
    for (const { request } of this.#waiters) yield request.apiKey ?? '';
  }

  /** Fails all waiting requests with `error`. */
  close(error: Error): void {
    this.#markSynced();
    for (const waiter of this.#waiters) waiter.fail(error);
    this.#workers.close();
  }

  #markSynced(): void {
    this.isSynced = true;
    this.#synced.resolve();
  }

  #enqueue(waiter: Waiter): void {
    if (!waiter.request.isRetry) return void this.#waiters.add(waiter);
    const others = [...this.#waiters];
    this.#waiters.clear();
    for (const each of [waiter, ...others]) this.#waiters.add(each);
  }

  #dispatch(): void {
    for (const waiter of this.#waiters) {
      const { workerId, strict } = waiter.request;
      if (strict && this.isSynced && !this.#workers.has(workerId!)) {
        waiter.fail(workerGone());
        continue;
      }
      const slot = this.#workers.take(waiter.request);
      if (slot) waiter.grant(slot);
      // Later requests would overtake this one. A strict request blocks no other.
      else if (!strict) break;
    }
    this.#dispatchStrict();
  }

  /**
   * Serves strict requests behind a request that waits for any worker. Their worker has capacity that the first one
   * could not use, so none is overtaken.
   */
  #dispatchStrict(): void {
    for (const waiter of this.#waiters) {
      const slot = waiter.request.strict ? this.#workers.take(waiter.request) : undefined;
      if (slot) waiter.grant(slot);
    }
  }
}

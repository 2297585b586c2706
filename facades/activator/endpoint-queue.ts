/**
 * Queues the requests of one endpoint and hands out slots at its workers: first come, first served; the least loaded
 * worker first; on a tie the worker that was served least recently. A worker never gets more requests than its
 * concurrency. Holds no bytes of a request.
 */

import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { EndpointRotation } from '@slipway/proto/gen/slipway/v1/edge_service';
import { LB_DIRECT_CONCURRENCY_MIN } from '@slipway/proto/wire/limits';
import { noWorkers, unauthorized, workerGone, workerTimeout } from './lb-error.ts';

/**
 * How long a worker gets no requests after it refused a connection or answered that it is full, in milliseconds. Its
 * agent probes it meanwhile.
 */
const SUSPECT_MS = 500;

/**
 * How long after a worker is ready core knows how it treats idle connections, in milliseconds: its agent has probed it
 * and reported by then.
 */
const PROBED_MS = 10_000;

/** Capacity for one request at a worker. */
export interface WorkerSlot {
  workerId: string;
  /** host:port. Empty if the worker is reached by a tunnel. */
  address: string;
  /** Machine whose tunnel leads to the worker. Empty if the worker is reached by its address. */
  tunnelMachineId: string;
  /** Connections to this worker may be pooled and reused. */
  isPooled: boolean;
  /** The request is sent with `Expect: 100-continue`. */
  expectsContinue: boolean;
  /** Sends no `Expect: 100-continue` to this worker from now on, because it does not answer it. */
  disableContinue(): void;
  /** Releases the slot. Idempotent. */
  release(): void;
}

/** A request for a slot. */
export interface SlotRequest {
  /** Preferred worker. `undefined` means any. */
  workerId: string | undefined;
  /** Only the preferred worker will do. */
  strict: boolean;
  /** Longest wait in milliseconds. */
  waitMs: number;
  /** The request had a slot at a worker that could not be reached: it goes to the front of the queue. */
  isRetry: boolean;
  /** Aborts when the client has disconnected or its key was revoked. */
  signal: AbortSignal;
  /** API key of the request. Absent or empty if an edge has authorized it. */
  apiKey?: string;
}

interface Worker {
  id: string;
  address: string;
  tunnelMachineId: string;
  ready: boolean;
  /** When it became ready, by the monotonic clock. */
  readyAtMs: number;
  /** Core no longer lists it. Its running requests are counted until they end. */
  gone: boolean;
  inFlight: number;
  /** Scaling wants to stop it: it gets nothing while another worker has less than its share. */
  surplus: boolean;
  /** Sequence number of its latest request within the endpoint. */
  lastServed: number;
  expectsContinue: boolean;
  suspect: Timer | undefined;
}

interface Waiter {
  request: SlotRequest;
  grant(slot: WorkerSlot): void;
  fail(error: Error): void;
}

export class EndpointQueue {
  readonly #clock: Clock;
  readonly #onChanged: () => void;
  readonly #workers = new Map<string, Worker>();
  readonly #waiters = new Set<Waiter>();
  #concurrency = 1;
  /** Requests in flight for which scaling starts one worker. 0 if unknown. */
  #requestsPerWorker = 0;
  #isH2c = false;
  #poolsConnections = false;
  #served = 0;
  #synced = Promise.withResolvers<void>();
  /** Core has sent the workers of the endpoint, or the queue is closed. */
  isSynced = false;
  /** Version of the endpoint set. Empty if none is known, or if core sends no versions. */
  version = '';

  /** `onChanged` is called when a request joins, gets a slot, or leaves. */
  constructor(clock: Clock, onChanged: () => void) {
    this.#clock = clock;
    this.#onChanged = onChanged;
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
    return this.#isH2c;
  }

  /**
   * Requests may bypass the queue (LoadBalancer.hasReadyWorker). Never if a worker is reached by a tunnel: then all
   * requests go through here.
   */
  get isDirect(): boolean {
    if (!this.#isH2c && (this.#waiters.size > 0 || this.#concurrency < LB_DIRECT_CONCURRENCY_MIN)) return false;
    const ready = [...this.#workers.values()].filter((worker) => worker.ready);
    return ready.some(({ suspect }) => !suspect) && ready.every(({ tunnelMachineId }) => tunnelMachineId === '');
  }

  /** Returns requests and connections in flight by worker. Idle workers are left out. */
  loads(): { workerId: string; inFlight: number }[] {
    return [...this.#workers.values()]
      .filter(({ inFlight }) => inFlight > 0)
      .map(({ id, inFlight }) => ({ workerId: id, inFlight }));
  }

  /**
   * Returns a slot that is free now, or `undefined`. A waiting request could not have used it, so none is overtaken.
   */
  tryAcquire(request: SlotRequest): WorkerSlot | undefined {
    const worker = this.#pick(request);
    const slot = worker && this.#occupy(worker);
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
      const abort = (): void => waiter.fail(new Error('the client has disconnected'));
      request.signal.addEventListener('abort', abort, { once: true });
      this.#enqueue(waiter);
      this.#dispatch();
      if (this.#waiters.has(waiter)) this.#onChanged();
    });
  }

  /** Replaces the endpoint set with the one that core sent. */
  update({ workerConcurrency, requestsPerWorker, h2c, keepsConnections, workers, version }: EndpointRotation): void {
    this.#markSynced();
    this.version = version;
    this.#isH2c = h2c;
    this.#poolsConnections = keepsConnections;
    const now = this.#clock.monotonicMs();
    this.#concurrency = Math.max(1, workerConcurrency);
    this.#requestsPerWorker = requestsPerWorker;
    const listed = new Set(workers.map(({ workerId }) => workerId));
    for (const { workerId: id, address, ready, tunnelMachineId, surplus } of workers) {
      const worker = this.#workers.get(id) ?? newWorker(id, now);
      const isReachable = address !== '' || tunnelMachineId !== '';
      if (!worker.ready) worker.readyAtMs = now;
      this.#workers.set(
        id,
        Object.assign(worker, { address, tunnelMachineId, surplus, ready: ready && isReachable, gone: false }),
      );
    }
    for (const worker of this.#workers.values()) {
      if (listed.has(worker.id)) continue;
      Object.assign(worker, { ready: false, gone: true });
      if (worker.inFlight === 0) this.#workers.delete(worker.id);
    }
    for (const { request, fail } of this.#waiters)
      if (request.strict && !listed.has(request.workerId ?? '')) fail(workerGone());
    this.#dispatch();
  }

  /** Drops the endpoint set, because core no longer updates it. Requests in flight are counted until they end. */
  dropBackends(): void {
    for (const worker of this.#workers.values()) {
      Object.assign(worker, { ready: false });
      if (worker.inFlight === 0) this.#workers.delete(worker.id);
    }
    this.version = '';
    this.isSynced = false;
    this.#synced = Promise.withResolvers<void>();
  }

  /** Sends no requests to a worker for SUSPECT_MS, because it could not be reached or is full. */
  suspect(workerId: string): void {
    const worker = this.#workers.get(workerId);
    if (!worker || worker.suspect) return;
    worker.suspect = this.#clock.after(SUSPECT_MS, () => {
      worker.suspect = undefined;
      this.#dispatch();
    });
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
    for (const worker of this.#workers.values()) worker.suspect?.cancel();
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
      if (strict && this.isSynced && this.#workers.get(workerId!)?.gone !== false) {
        waiter.fail(workerGone());
        continue;
      }
      const worker = this.#pick(waiter.request);
      if (worker) waiter.grant(this.#occupy(worker));
      // Later requests would overtake this one. A strict request blocks nobody.
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
      const worker = waiter.request.strict ? this.#pick(waiter.request) : undefined;
      if (worker) waiter.grant(this.#occupy(worker));
    }
  }

  #pick({ workerId, strict }: SlotRequest): Worker | undefined {
    const preferred = workerId === undefined ? undefined : this.#workers.get(workerId);
    if (preferred && this.#hasCapacity(preferred)) return preferred;
    if (strict) return undefined;
    let best: Worker | undefined;
    for (const worker of this.#workers.values())
      if (this.#hasCapacity(worker) && (!best || this.#isBetter(worker, best))) best = worker;
    return best;
  }

  #hasCapacity({ ready, suspect, inFlight }: Worker): boolean {
    return ready && !suspect && inFlight < this.#concurrency;
  }

  /** Prefers workers that are no surplus, up to their share; then the least loaded; then the least recently served. */
  #isBetter(one: Worker, other: Worker): boolean {
    const [packed, otherPacked] = [one, other].map(
      ({ surplus, inFlight }) => !surplus && inFlight < this.#requestsPerWorker,
    );
    if (one.surplus !== other.surplus && packed !== otherPacked) return packed!;
    return one.inFlight === other.inFlight ? one.lastServed < other.lastServed : one.inFlight < other.inFlight;
  }

  #occupy(worker: Worker): WorkerSlot {
    worker.inFlight += 1;
    worker.lastServed = this.#served += 1;
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      worker.inFlight -= 1;
      if (worker.inFlight === 0 && worker.gone) this.#workers.delete(worker.id);
      this.#onChanged();
      this.#dispatch();
    };
    const { id: workerId, address, tunnelMachineId, expectsContinue, readyAtMs } = worker;
    const isPooled =
      this.#poolsConnections && tunnelMachineId === '' && this.#clock.monotonicMs() - readyAtMs >= PROBED_MS;
    const disableContinue = (): void => {
      worker.expectsContinue = false;
    };
    return { workerId, address, tunnelMachineId, isPooled, expectsContinue, disableContinue, release };
  }
}

function newWorker(id: string, readyAtMs: number): Worker {
  return {
    id,
    address: '',
    tunnelMachineId: '',
    ready: false,
    readyAtMs,
    gone: false,
    inFlight: 0,
    surplus: false,
    lastServed: 0,
    expectsContinue: true,
    suspect: undefined,
  };
}

/**
 * The workers of one endpoint, as core last listed them, and how many requests each has. Picks the least loaded one; on
 * a tie the least recently served one. A worker never gets more requests than its concurrency.
 */

import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { EndpointRotation } from '@slipway/proto/gen/slipway/v1/edge_service';
import { LB_DIRECT_CONCURRENCY_MIN } from '@slipway/proto/wire/limits';
import type { SlotRequest, WorkerSlot } from './worker-slot.ts';

/**
 * Time in which a worker gets no requests after it refused a connection or reported that it is full, in milliseconds.
 * Its agent probes it in that time.
 */
const SUSPECT_MS = 500;

/**
 * How long after a worker is ready core knows how it treats idle connections, in milliseconds: its agent has probed it
 * and reported by then.
 */
const PROBED_MS = 10_000;

interface Worker {
  id: string;
  address: string;
  tunnelMachineId: string;
  ready: boolean;
  /** Time at which it became ready, in monotonic milliseconds. */
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

/** Listeners for changes that no update brings. */
interface EndpointWorkersListeners {
  /** Called when a slot was released. */
  onReleased(): void;
  /** Called when a suspected worker may get requests again. */
  onTrusted(): void;
}

export class EndpointWorkers {
  readonly #clock: Clock;
  readonly #listeners: EndpointWorkersListeners;
  readonly #workers = new Map<string, Worker>();
  #concurrency = 1;
  /** Requests in flight for which scaling starts one worker. 0 if unknown. */
  #requestsPerWorker = 0;
  #poolsConnections = false;
  #served = 0;
  /** The workers speak HTTP/2 without TLS, which only an edge does. */
  isH2c = false;

  constructor(clock: Clock, listeners: EndpointWorkersListeners) {
    this.#clock = clock;
    this.#listeners = listeners;
  }

  /** Whether a ready worker takes many requests at a time, so that a request need not queue. Always true for HTTP/2. */
  get takesMany(): boolean {
    return this.isH2c || this.#concurrency >= LB_DIRECT_CONCURRENCY_MIN;
  }

  /** Whether a worker is ready, and an edge can reach each ready worker by its address. */
  get isReachable(): boolean {
    const ready = [...this.#workers.values()].filter((worker) => worker.ready);
    return ready.some(({ suspect }) => !suspect) && ready.every(({ tunnelMachineId }) => tunnelMachineId === '');
  }

  /** Returns whether core lists the worker. */
  has(workerId: string): boolean {
    return this.#workers.get(workerId)?.gone === false;
  }

  /** Returns requests and connections in flight by worker. Idle workers are left out. */
  loads(): { workerId: string; inFlight: number }[] {
    return [...this.#workers.values()]
      .filter(({ inFlight }) => inFlight > 0)
      .map(({ id, inFlight }) => ({ workerId: id, inFlight }));
  }

  /** Replaces the workers with core's list. */
  update({ workerConcurrency, requestsPerWorker, h2c, keepsConnections, workers }: EndpointRotation): void {
    this.isH2c = h2c;
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
  }

  /** Drops all workers. Requests in flight are counted until they end. */
  drop(): void {
    for (const worker of this.#workers.values()) {
      Object.assign(worker, { ready: false });
      if (worker.inFlight === 0) this.#workers.delete(worker.id);
    }
  }

  /** Picks no such worker for SUSPECT_MS, because it could not be reached or is full. */
  suspect(workerId: string): void {
    const worker = this.#workers.get(workerId);
    if (!worker || worker.suspect) return;
    worker.suspect = this.#clock.after(SUSPECT_MS, () => {
      worker.suspect = undefined;
      this.#listeners.onTrusted();
    });
  }

  /** Cancels all timers. */
  close(): void {
    for (const worker of this.#workers.values()) worker.suspect?.cancel();
  }

  /** Returns a slot at the best worker that has capacity for the request. `undefined` if none has. */
  take({ workerId, strict }: Pick<SlotRequest, 'workerId' | 'strict'>): WorkerSlot | undefined {
    const preferred = workerId === undefined ? undefined : this.#workers.get(workerId);
    if (preferred && this.#hasCapacity(preferred)) return this.#occupy(preferred);
    if (strict) return undefined;
    let best: Worker | undefined;
    for (const worker of this.#workers.values())
      if (this.#hasCapacity(worker) && (!best || this.#isBetter(worker, best))) best = worker;
    return best && this.#occupy(best);
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
      this.#listeners.onReleased();
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

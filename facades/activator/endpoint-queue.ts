/**
 * The workers of one endpoint and the requests that wait for one: first come first served, the least loaded worker first, of several the one whose turn
 * is the longest ago, never more at a worker than it takes at once. Holds no bytes of any request.
 */
import type { EndpointRotation } from '../../proto/gen/slipway/v1/edge_service.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { LB_DIRECT_CONCURRENCY_MIN } from '../../proto/wire/limits.ts';
import { notAllowed, noWorkers, workerGone, workerTimeout } from './lb-error.ts';

/** How long a worker that refused a connection, or said that it is full, gets nothing, in milliseconds; its agent finds out how it is meanwhile. */
const SUSPECT_MS = 500;

/** How long after a worker is ready its agent has seen by then how it treats connections, and core has told, in milliseconds. */
const WATCHED_MS = 10_000;

/** A place at a worker. */
export interface WorkerPlace {
  workerId: string;
  /** host:port; empty: `tunnelMachineId` says how it is reached. */
  address: string;
  /** The machine through whose tunnel alone it is reached; empty: it is reached by its address. */
  tunnelMachineId: string;
  /** Its connections may be kept for other requests. */
  isKept: boolean;
  /** It is asked before it gets a body. */
  isAsked: boolean;
  /** It does not answer when it is asked. */
  askNoMore(): void;
  /** Gives it back. May be called more than once. */
  release(): void;
}

/** What a request asks for. */
export interface PlaceRequest {
  /** The worker that the client wants; undefined: any. */
  workerId: string | undefined;
  /** It wants that one or none. */
  strict: boolean;
  /** Longest wait in milliseconds. */
  waitMs: number;
  /** It was given a place before, at a worker that could not be reached: it goes to the front. */
  again: boolean;
  /** Aborts when the client has gone, or may not wait any more. */
  signal: AbortSignal;
  /** Key of the request. Absent or empty: an edge has let it in. */
  apiKey?: string;
}

interface Worker {
  id: string;
  address: string;
  tunnelMachineId: string;
  ready: boolean;
  /** Since when. */
  readyAtMs: number;
  /** Core names it no more: what runs there runs on, and is counted until it ends. */
  gone: boolean;
  inFlight: number;
  /** Fewer workers are enough: it gets nothing while another has less than is its share. */
  surplus: boolean;
  /** Number of its latest request among those of the endpoint. */
  turn: number;
  isAsked: boolean;
  suspect: Timer | undefined;
}

interface Waiter {
  asked: PlaceRequest;
  give(place: WorkerPlace): void;
  fail(error: Error): void;
}

export class EndpointQueue {
  readonly #clock: Clock;
  readonly #onChanged: () => void;
  readonly #workers = new Map<string, Worker>();
  readonly #waiters = new Set<Waiter>();
  #concurrency = 1;
  /** Requests for which one worker is wanted; 0: not known. */
  #share = 0;
  #isH2c = false;
  #keepsConnections = false;
  #turns = 0;
  #told = Promise.withResolvers<void>();
  /** Core has told of its workers, or that it will not. */
  isTold = false;
  /** Of the rotation that it knows; empty: it knows none, or core gives them none. */
  version = '';

  /** `onChanged`: somebody came, got a place, or left. */
  constructor(clock: Clock, onChanged: () => void) {
    this.#clock = clock;
    this.#onChanged = onChanged;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Resolves as soon as `isTold`. */
  get told(): Promise<void> {
    return this.#told.promise;
  }

  /** Its workers speak HTTP/2 without TLS, which only an edge does. */
  get isH2c(): boolean {
    return this.#isH2c;
  }

  /** Whoever comes may go past it: see Places.hasReadyWorker. Where one must be reached by a tunnel, all are shared out here. */
  get isDirect(): boolean {
    if (!this.#isH2c && (this.#waiters.size > 0 || this.#concurrency < LB_DIRECT_CONCURRENCY_MIN)) return false;
    const ready = [...this.#workers.values()].filter((worker) => worker.ready);
    return ready.some(({ suspect }) => !suspect) && ready.every(({ tunnelMachineId }) => tunnelMachineId === '');
  }

  /** Requests and connections by worker; those with none are left out. */
  loads(): { workerId: string; inFlight: number }[] {
    return [...this.#workers.values()].filter(({ inFlight }) => inFlight > 0).map(({ id, inFlight }) => ({ workerId: id, inFlight }));
  }

  /** A place that is free now. Whoever waits could not have had it. */
  take(asked: PlaceRequest): WorkerPlace | undefined {
    const worker = this.#choose(asked);
    const place = worker && this.#take(worker);
    if (place) this.#onChanged();
    return place;
  }

  /** Resolves with a place. Rejects with an LbError: nothing came in time, or the worker is gone. */
  place(asked: PlaceRequest): Promise<WorkerPlace> {
    return new Promise((resolve, reject) => {
      const over = (): void => waiter.fail(asked.strict ? workerTimeout() : noWorkers());
      const timer = this.#clock.after(asked.waitMs, over);
      const settle = (): void => {
        timer.cancel();
        asked.signal.removeEventListener('abort', leave);
        this.#waiters.delete(waiter);
        this.#onChanged();
      };
      const waiter: Waiter = {
        asked,
        give: (place) => { settle(); resolve(place); },
        fail: (error) => { settle(); reject(error); },
      };
      const leave = (): void => waiter.fail(new Error('the client has gone'));
      asked.signal.addEventListener('abort', leave, { once: true });
      this.#join(waiter);
      this.#serve();
      if (this.#waiters.has(waiter)) this.#onChanged();
    });
  }

  /** The picture of core. */
  update({ workerConcurrency, requestsPerWorker, h2c, keepsConnections, workers, version }: EndpointRotation): void {
    this.#hear();
    this.version = version;
    this.#isH2c = h2c;
    this.#keepsConnections = keepsConnections;
    const now = this.#clock.monotonicMs();
    this.#concurrency = Math.max(1, workerConcurrency);
    this.#share = requestsPerWorker;
    const named = new Set(workers.map(({ workerId }) => workerId));
    for (const { workerId: id, address, ready, tunnelMachineId, surplus } of workers) {
      const worker = this.#workers.get(id)
        ?? { id, address, tunnelMachineId, ready: false, readyAtMs: now, gone: false, inFlight: 0, surplus, turn: 0, isAsked: true, suspect: undefined };
      const isKnown = address !== '' || tunnelMachineId !== '';
      if (!worker.ready) worker.readyAtMs = now;
      this.#workers.set(id, Object.assign(worker, { address, tunnelMachineId, surplus, ready: ready && isKnown, gone: false }));
    }
    for (const worker of this.#workers.values()) {
      if (named.has(worker.id)) continue;
      Object.assign(worker, { ready: false, gone: true });
      if (worker.inFlight === 0) this.#workers.delete(worker.id);
    }
    for (const waiter of this.#waiters) if (waiter.asked.strict && !named.has(waiter.asked.workerId ?? '')) waiter.fail(workerGone());
    this.#serve();
  }

  /** Nobody keeps the rotation up to date any more: nothing new goes by it. What runs is counted until it ends. */
  forgetRotation(): void {
    for (const worker of this.#workers.values()) {
      Object.assign(worker, { ready: false });
      if (worker.inFlight === 0) this.#workers.delete(worker.id);
    }
    this.version = '';
    this.isTold = false;
    this.#told = Promise.withResolvers<void>();
  }

  /** A worker could not be reached, or is full. */
  suspect(workerId: string): void {
    const worker = this.#workers.get(workerId);
    if (!worker || worker.suspect) return;
    worker.suspect = this.#clock.after(SUSPECT_MS, () => {
      worker.suspect = undefined;
      this.#serve();
    });
  }

  /** Refuses those that wait with a key that does not do any more. */
  refuse(apiKey: string): void {
    for (const waiter of this.#waiters) if (waiter.asked.apiKey === apiKey) waiter.fail(notAllowed('invalid api key'));
  }

  /** Keys of those that wait, the oldest first; empty: an edge has let it in. */
  *keys(): Iterable<string> {
    for (const { asked } of this.#waiters) yield asked.apiKey ?? '';
  }

  /** Nobody can be served any more. */
  close(error: Error): void {
    this.#hear();
    for (const waiter of this.#waiters) waiter.fail(error);
    for (const worker of this.#workers.values()) worker.suspect?.cancel();
  }

  #hear(): void {
    this.isTold = true;
    this.#told.resolve();
  }

  #join(waiter: Waiter): void {
    if (!waiter.asked.again) return void this.#waiters.add(waiter);
    const others = [...this.#waiters];
    this.#waiters.clear();
    for (const each of [waiter, ...others]) this.#waiters.add(each);
  }

  #serve(): void {
    for (const waiter of this.#waiters) {
      const { workerId, strict } = waiter.asked;
      if (strict && this.isTold && this.#workers.get(workerId!)?.gone !== false) {
        waiter.fail(workerGone());
        continue;
      }
      const worker = this.#choose(waiter.asked);
      if (worker) waiter.give(this.#take(worker));
      // The next ones could only overtake it; those that insist on one worker block nobody else.
      else if (!strict) break;
    }
    this.#serveStrict();
  }

  /** Those behind a request that waits for any worker may have theirs with room only when that one could not use it, so nobody is overtaken. */
  #serveStrict(): void {
    for (const waiter of this.#waiters) {
      const worker = waiter.asked.strict ? this.#choose(waiter.asked) : undefined;
      if (worker) waiter.give(this.#take(worker));
    }
  }

  #choose({ workerId, strict }: PlaceRequest): Worker | undefined {
    const named = workerId === undefined ? undefined : this.#workers.get(workerId);
    if (named && this.#hasRoom(named)) return named;
    if (strict) return undefined;
    let best: Worker | undefined;
    for (const worker of this.#workers.values()) if (this.#hasRoom(worker) && (!best || this.#comesBefore(worker, best))) best = worker;
    return best;
  }

  #hasRoom({ ready, suspect, inFlight }: Worker): boolean {
    return ready && !suspect && inFlight < this.#concurrency;
  }

  /** Those that are not to become idle first, up to their share; of as good ones the least loaded, and then the one whose turn is the longest ago. */
  #comesBefore(one: Worker, other: Worker): boolean {
    const [packed, otherPacked] = [one, other].map(({ surplus, inFlight }) => !surplus && inFlight < this.#share);
    if (one.surplus !== other.surplus && packed !== otherPacked) return packed!;
    return one.inFlight === other.inFlight ? one.turn < other.turn : one.inFlight < other.inFlight;
  }

  #take(worker: Worker): WorkerPlace {
    worker.inFlight += 1;
    worker.turn = this.#turns += 1;
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      worker.inFlight -= 1;
      if (worker.inFlight === 0 && worker.gone) this.#workers.delete(worker.id);
      this.#onChanged();
      this.#serve();
    };
    const { id: workerId, address, tunnelMachineId, isAsked, readyAtMs } = worker;
    const isKept = this.#keepsConnections && tunnelMachineId === '' && this.#clock.monotonicMs() - readyAtMs >= WATCHED_MS;
    return { workerId, address, tunnelMachineId, isKept, isAsked, askNoMore: () => { worker.isAsked = false; }, release };
  }
}

/**
 * Requests at the load-balancing endpoint. Each comes to a facade, which finds it a worker by its endpoint snapshot.
 * They come in groups, with silences in which facades forget the endpoint and core still remembers who asked.
 */
import type { WorkerSlot } from '@slipway/facades/activator/worker-slot';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { HistoryEvent } from '../checker/history.ts';
import type { PlainConnection } from '../database/sim-server.ts';
import { ROOT_KEY } from '../parts/replica.ts';
import type { SimFacade } from '../parts/sim-facade.ts';
import { NATURE } from '../world/being.ts';
import type { World } from '../world/world.ts';
import { BackendTruth, LB_ENDPOINT } from './backend-truth.ts';
import type { SimWeb } from './sim-web.ts';

interface LbRequestsOptions {
  world: World;
  web: SimWeb;
  admin: PlainConnection;
  /** Facades that answer. */
  facades(): readonly SimFacade[];
  record(event: HistoryEvent): void;
  isCalm(): boolean;
}

/** A facade forgets an endpoint after so many milliseconds without a request: a run has no minutes. */
const REMEMBERED_MS = 6_000;
const GROUP = { least: 2, most: 12 };
const PAUSE_MS = { least: 5, most: 600 };
const SILENCE_MS = { least: 300, most: 16_000 };
const RUN_MS = { least: 2, most: 300, long: 12_000, longShare: 0.03 };
/** Longest wait for a worker. */
const WAIT_MS = 60_000;
/** Pause before a request looks for another worker, after its own refused the connection, in milliseconds. */
const REFUSED_MS = 1;
/** The silences after the faults, and how long a facade may take after them until its snapshot is true. */
const LAST_SILENCES = 2;
const TRUE_MS_MAX = 10_000;

const CALLER = { apiKey: ROOT_KEY, accountId: 'account' };

export class LbRequests {
  readonly #options: LbRequestsOptions;
  readonly #truth: BackendTruth;
  #silences = 0;
  /** Since when requests have waited at a facade beside a ready worker, in virtual milliseconds. */
  readonly #waitingSinceMs = new Map<SimFacade, number>();
  /** Facades with requests that have not ended. */
  readonly #open = new Map<object, SimFacade>();
  #hasCompared = false;

  constructor(options: LbRequestsOptions) {
    this.#options = options;
    this.#truth = new BackendTruth(options.world, options.admin, () => this.#lookAtWaiting());
    LINK_TIMERS.demandRememberedMs = REMEMBERED_MS;
  }

  /** The snapshots of all facades were compared after the faults, and all requests have ended. */
  get isOver(): boolean {
    return this.#hasCompared && [...this.#open.values()].every(({ dead }) => dead);
  }

  /** Begins with groups of requests. */
  begin(): void {
    this.#truth.begin();
    void this.#run();
  }

  async #run(): Promise<void> {
    const { world, isCalm } = this.#options;
    while (this.#silences < LAST_SILENCES) {
      const count = world.between(GROUP.least, GROUP.most);
      for (let sent = 0; sent < count; sent += 1) {
        this.#send();
        await world.pause(world.between(PAUSE_MS.least, PAUSE_MS.most), NATURE);
      }
      await world.pause(world.between(SILENCE_MS.least, SILENCE_MS.most), NATURE);
      if (isCalm()) this.#silences += 1;
    }
    for (const facade of this.#options.facades()) await this.#compare(facade);
    this.#hasCompared = true;
  }

  #send(): void {
    const { world, facades } = this.#options;
    const living = facades();
    if (living.length === 0) return;
    const facade = world.one(living);
    const request = {};
    this.#open.set(request, facade);
    const over = (): void => void this.#open.delete(request);
    this.#request(facade).then(over, over);
  }

  /** Sends one request, again to another worker if the one that it got refuses the connection. */
  async #request(facade: SimFacade): Promise<void> {
    const { world, web, record } = this.#options;
    for (let isRetry = false; ; isRetry = true) {
      const slot = await acquire(facade, { isRetry, waitMs: WAIT_MS });
      const goneForMs = this.#truth.goneForMs(slot.workerId);
      record({ is: 'forwarded', atMs: world.nowMs, facade: facade.name, worker: slot.workerId, goneForMs });
      world.note(facade.name, 'forwards to', slot.workerId);
      const isServed = web.serves(slot.address);
      if (isServed) await world.pause(this.#runMs(), facade);
      else {
        await world.pause(REFUSED_MS, facade);
        facade.loadBalancer.suspect(LB_ENDPOINT, slot);
      }
      slot.release();
      if (isServed) return;
    }
  }

  #runMs(): number {
    const { world } = this.#options;
    return world.chance(RUN_MS.longShare) ? RUN_MS.long : world.between(RUN_MS.least, RUN_MS.most);
  }

  #lookAtWaiting(): void {
    const { world, facades, record, isCalm } = this.#options;
    for (const facade of facades()) {
      const isHeld = isCalm() && facade.loadBalancer.waiting > 0 && this.#truth.ready.length > 0;
      if (!isHeld) this.#waitingSinceMs.delete(facade);
      else if (!this.#waitingSinceMs.has(facade)) this.#waitingSinceMs.set(facade, world.nowMs);
      const ms = world.nowMs - (this.#waitingSinceMs.get(facade) ?? world.nowMs);
      if (ms > 0) record({ is: 'held', atMs: world.nowMs, facade: facade.name, ms });
    }
  }

  /** Compares a facade's snapshot with the database, until they agree. */
  async #compare(facade: SimFacade): Promise<void> {
    const { world, record } = this.#options;
    const fromMs = world.nowMs;
    for (;;) {
      const has: string[] = [];
      for (const id of this.#truth.known) if (await hasWorker(facade, id)) has.push(id);
      const isTrue = has.toSorted().join() === this.#truth.ready.join();
      if (!isTrue && world.nowMs - fromMs < TRUE_MS_MAX) {
        await world.pause(PAUSE_MS.most, NATURE);
        continue;
      }
      const truth = [...this.#truth.ready];
      return record({ is: 'snapshot', atMs: world.nowMs, facade: facade.name, has: has.toSorted(), truth });
    }
  }
}

/** Returns whether a facade sends requests to a worker. */
function hasWorker(facade: SimFacade, workerId: string): Promise<boolean> {
  return acquire(facade, { isRetry: false, waitMs: 50, workerId }).then(
    (slot) => {
      slot.release();
      return true;
    },
    () => false,
  );
}

function acquire(
  { loadBalancer }: SimFacade,
  { workerId, ...request }: { isRetry: boolean; waitMs: number; workerId?: string },
): Promise<WorkerSlot> {
  const { signal } = new AbortController();
  loadBalancer.hasReadyWorker(LB_ENDPOINT, CALLER);
  return loadBalancer.acquire(LB_ENDPOINT, CALLER, { ...request, workerId, strict: workerId !== undefined, signal });
}

/**
 * Decides, for every endpoint that needs it, which workers there should be. Any replica may take a turn at any endpoint; the endpoint's row
 * lock keeps two from deciding at once. Those that something happened to are looked at right away, where it happened, so that a first job waits for
 * no period; so are those of which time alone, or the number of their jobs, may change the decision (core/scaling/next-looks.ts), and, when something came
 * free, those that found no place. Once a second the owner of this duty looks at all that have workers, demand or throttled ones; those that sleep cost
 * nothing. The two go on beside each other: a look at all takes long where there are many, and nobody's first job waits for it. Nor does it wait for turns of
 * others: what is found to need one goes to the queue of turns (core/scaling/turn-queue.ts), and the next look follows.
 */
import { dispensable } from '../domain/giving-way.ts';
import { withKnownIdleness } from '../domain/known-idleness.ts';
import { HEARTBEAT_PERIOD_MS } from '../domain/lease.ts';
import { nextLook } from '../domain/next-look.ts';
import type { Scaler } from '../domain/scaler.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { Clock, Random, Timer } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Loop } from '../runtime/loop.ts';
import type { Duty } from '../runtime/loop.ts';
import { BaseService } from '../runtime/service.ts';
import type { Stores } from '../store/storage.ts';
import type { TurnCourse } from '../store/turn-course.ts';
import { DispensableWorkers } from './dispensable-workers.ts';
import { NextLooks } from './next-looks.ts';
import type { ScaleResult } from './scale-endpoint.ts';
import { isQuiet, isStuck, knownIdleMs, placedTogether, scaleEndpoints } from './scale-endpoint.ts';
import { togetherOrApart } from './together-or-apart.ts';
import type { WaitingTurn } from './turn-order.ts';
import { TurnQueue } from './turn-queue.ts';
import { TurnWatch } from './turn-watch.ts';
import type { TurnMeter } from './turn-watch.ts';

/** Pause between two passes in milliseconds (docs/reference/management.md#scaling). */
const PERIOD_MS = 1_000;
const NO_IDS: ReadonlySet<string> = new Set();
/**
 * Shortest pause between two looks at one endpoint that queued jobs cause, in milliseconds: while it has no worker, and when some start already. Looks with
 * another cause do not count: the first job that finds no worker is in a hurry, whenever its endpoint was looked at before.
 */
const QUEUED_PAUSE_MS = 100;
const QUEUED_PAUSE_STARTING_MS = 1_000;
/** Shortest pause between two looks at all that found no place, in milliseconds, and how many times as long as such a look takes it is at the least. */
const ROOM_PAUSE_MS = 50;
const ROOM_REST_FACTOR = 4;
/** Where looking through all queues is slow, the next look is after this many times what it took: what is queued is news by itself. */
const QUEUES_REST_FACTOR = 50;
/** Endpoints that are looked at with one set of statements; and of those that something happened to, so that those which come meanwhile wait less. */
const LOOKED_MAX = 200;
const LOOKED_WOKEN_MAX = 50;
/**
 * Machines are only given up after the database has answered for this long, in milliseconds: when it comes back after an outage all leases
 * have run out, although every agent is alive and about to extend its own.
 */
const LOST_AFTER_HEALTHY_MS = 3 * HEARTBEAT_PERIOD_MS;

/** What it needs. */
export interface ScaleLoopOptions {
  store: Stores['scales'];
  scaler: Scaler;
  events: CoreEvents;
  /** To look at all endpoints that may need a turn. */
  duty: Duty;
  /** Whether this replica holds sessions of workers of this endpoint: then queued jobs are no news. */
  hasWorker(endpointId: string): boolean;
  /** For how many milliseconds facades and edges could tell what they have. Default: for ever. */
  steadyMs?(): number;
  /** The desired workers of machines changed; other replicas are told too. */
  onDesired(machineIds: readonly string[]): void;
  /** Default: nobody counts. */
  meter?: ScaleMeter;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Counts turns. */
export interface ScaleMeter extends TurnMeter {
  /** A turn was taken. */
  onTurn(result: ScaleResult): void;
}

export class ScaleLoop extends BaseService {
  readonly name = 'scaling';
  readonly #options: ScaleLoopOptions;
  readonly #loop: Loop;
  readonly #sweep: Loop;
  readonly #turns = new TurnQueue((endpointIds) => togetherOrApart(endpointIds, (ids) => this.#watch.over(ids, (course) => this.#take(course, ids))));
  readonly #watch: TurnWatch;
  readonly #woken = new Set<string>();
  /** Found no place, and something came free: after those that something happened to. */
  readonly #refused = new Set<string>();
  /** When an endpoint may be looked at again because of queued jobs, on the steady clock; only those of the next moments. */
  readonly #restUntil = new Map<string, number>();
  readonly #delayed = new Map<string, Timer>();
  /** Empty where this replica does not have the duty, and so does not see all endpoints. */
  readonly #dispensable = new DispensableWorkers();
  readonly #next: NextLooks;
  #queuesRestUntilMs = -Infinity;
  /** Something came free, and nobody has looked since who found no place. */
  #room = false;
  #roomRestUntilMs = -Infinity;
  #roomTimer: Timer | undefined;
  #healthySinceMs: number | undefined;
  #offs: (() => void)[] = [];

  constructor(options: ScaleLoopOptions) {
    super();
    this.#options = options;
    this.#watch = new TurnWatch(options);
    const { clock, random, logger } = options;
    const seams = { periodMs: PERIOD_MS, clock, random, logger };
    this.#next = new NextLooks(clock, (endpointId) => this.wake([endpointId]));
    this.#loop = new Loop({ name: this.name, pass: () => this.#lookAtWoken(), ...seams });
    this.#sweep = new Loop({ name: `${this.name} of all`, pass: () => this.#guarded(), ...seams });
  }

  protected override async onStart(): Promise<void> {
    const { events, duty } = this.#options;
    this.#offs = [
      events.on('queued', (endpointIds) => this.#queued(endpointIds)), duty.onTaken(() => this.#tookOver()), events.on('room', () => this.#roomMade()),
      events.on('load', (loads) => { for (const { endpointId, jobs } of loads) this.#next.changed(endpointId, jobs); }),
    ];
    await Promise.all([this.#loop.start(), this.#sweep.start()]);
  }

  protected override async onStop(): Promise<void> {
    for (const off of this.#offs) off();
    for (const timer of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    this.#roomTimer?.cancel();
    await Promise.all([this.#turns.stop(), this.#loop.stop(), this.#sweep.stop()]);
    this.#next.stop();
  }

  /** Asks for a turn at these endpoints right away. */
  wake(endpointIds: readonly string[]): void {
    if (endpointIds.length === 0) return;
    for (const id of endpointIds) this.#woken.add(id);
    this.#loop.wake();
  }

  /** Whoever had it may have left something undone. */
  #tookOver(): void {
    this.#healthySinceMs = undefined;
    this.#sweep.wake();
  }

  /** A job that follows a look too closely gets its own a moment later. Those of another replica were looked at there. */
  #queued(endpointIds: readonly string[]): void {
    const { clock, events, hasWorker } = this.#options;
    for (const id of endpointIds) this.#next.waits(id, events.relaying);
    if (events.relaying) return;
    const now = clock.monotonicMs();
    for (const id of endpointIds) {
      if (this.#delayed.has(id) || hasWorker(id)) continue;
      const restMs = (this.#restUntil.get(id) ?? now) - now;
      if (restMs <= 0) this.#wakeForJobs(id);
      else this.#delayed.set(id, clock.after(restMs, () => this.#wakeForJobs(id)));
    }
  }

  #wakeForJobs(endpointId: string): void {
    this.#delayed.delete(endpointId);
    this.#restUntil.set(endpointId, this.#options.clock.monotonicMs() + QUEUED_PAUSE_MS);
    this.wake([endpointId]);
  }

  /** Whoever found no place may find one now. However often things come free, looking takes a small share of the time. */
  #roomMade(): void {
    this.#roomTimer ??= this.#options.clock.after(Math.max(this.#roomRestUntilMs - this.#options.clock.monotonicMs(), 0), () => {
      this.#roomTimer = undefined;
      this.#room = true;
      this.#loop.wake();
    });
  }

  /** Answers whether there are more. */
  async #lookAtWoken(): Promise<boolean> {
    const { store, clock, logger } = this.#options;
    const now = clock.monotonicMs();
    const room = this.#room;
    this.#room = false;
    if (room) for (const id of await store.refusedEndpoints()) this.#refused.add(id);
    const passes = Math.ceil(this.#refused.size / LOOKED_WOKEN_MAX);
    const ids = [...new Set([...this.#woken, ...this.#refused])].slice(0, LOOKED_WOKEN_MAX);
    const refused = ids.filter((id) => !this.#woken.has(id));
    for (const id of ids) for (const waiting of [this.#woken, this.#refused]) waiting.delete(id);
    for (const [id, atMs] of this.#restUntil) if (now >= atMs) this.#restUntil.delete(id);
    // What a turn does is seen once it is over.
    for (const id of ids) void this.#turns.turnOf(id)?.then(() => this.wake([id]));
    const due = await this.#look(this.#lookable(ids), refused);
    if (room) this.#roomRestUntilMs = clock.monotonicMs() + Math.max((clock.monotonicMs() - now) * passes * ROOM_REST_FACTOR, ROOM_PAUSE_MS);
    this.#turns.add(due).catch((error: unknown) => logger.warn({ err: error }, 'turns of scaling failed; the next look at all sees what they left'));
    return this.#woken.size + this.#refused.size > 0;
  }

  /** Those that have no turn just now, and none that is still to come. */
  #lookable(endpointIds: Iterable<string>): string[] {
    return [...endpointIds].filter((id) => !this.#turns.turnOf(id) && !this.#turns.waits(id));
  }

  async #guarded(): Promise<void> {
    try {
      await this.#lookWhereNeeded();
    } catch (error) {
      this.#healthySinceMs = undefined;
      throw error;
    }
  }

  async #lookWhereNeeded(): Promise<void> {
    const { store, clock, duty } = this.#options;
    const now = clock.monotonicMs();
    this.#healthySinceMs ??= now;
    if (!duty.mine) return this.#keepOnly(NO_IDS);
    const queues = now >= this.#queuesRestUntilMs;
    const { endpointIds, lost } = await store.endpointsToLookAt({ queues });
    if (queues) this.#queuesRestUntilMs = clock.monotonicMs() + (clock.monotonicMs() - now) * QUEUES_REST_FACTOR;
    const ids = new Set(endpointIds);
    if (lost && now - this.#healthySinceMs > LOST_AFTER_HEALTHY_MS) await this.#endLost(ids);
    this.#keepOnly(ids);
    const all = [...ids];
    for (let from = 0; from < all.length; from += LOOKED_MAX) {
      await this.#turns.add(await this.#look(this.#lookable(all.slice(from, from + LOOKED_MAX))));
    }
  }

  #keepOnly(endpointIds: ReadonlySet<string>): void {
    this.#dispensable.keepOnly(endpointIds);
    this.#next.keepOnly(endpointIds);
  }

  /** Answers those of these endpoints whose turn would come to something; of `refused`, which wait for room alone, no more than there is room for. */
  async #look(endpointIds: readonly string[], refused: readonly string[] = []): Promise<WaitingTurn[]> {
    const { store, scaler, clock, duty } = this.#options;
    if (duty.mine) this.#next.begin(endpointIds);
    const knownMs = this.#knownMs();
    const seen = (await store.look(endpointIds)).map((one) => ({ ...one, sample: withKnownIdleness(one.sample, knownMs) }));
    const now = clock.monotonicMs();
    for (const { endpoint, sample } of seen) {
      const starting = sample.demand.workers.some(({ desired }) => desired === 'RUN');
      if (starting && this.#restUntil.has(endpoint.id)) this.#restUntil.set(endpoint.id, now + QUEUED_PAUSE_STARTING_MS);
      this.#dispensable.see(endpoint.id, duty.mine ? dispensable(sample.demand, sample.settings).map(({ id }) => id) : []);
    }
    const wanting = seen.filter(({ sample, before }) => !isQuiet(sample, before, scaler));
    const throttled = wanting.filter(({ before }) => before && before.throttled > 0).map(({ endpoint }) => endpoint);
    const [machines, crashes] = await Promise.all([throttled.length > 0 ? store.machineView() : undefined, store.crashes(throttled)]);
    for (const { endpoint, sample, before } of seen) {
      this.#next.see(endpoint.id, nextLook(sample, (before?.throttled ?? 0) > 0, crashes.get(endpoint.id) ?? []));
    }
    const asks = ({ id, gpuCount }: { id: string; gpuCount: number }): boolean => gpuCount > 0 && this.#dispensable.askNow(id, now);
    const due = wanting.filter((one) => !isStuck(one, machines, crashes.get(one.endpoint.id) ?? [], scaler) || asks(one.endpoint));
    if (refused.length === 0 || !machines) return due;
    const byId = new Map(due.map((one) => [one.endpoint.id, one]));
    const first = placedTogether(refused.flatMap((id) => byId.get(id) ?? []), machines, crashes);
    return [...due.filter(({ endpoint }) => !refused.includes(endpoint.id)), ...first];
  }

  #knownMs(): number {
    return knownIdleMs(this.#options.steadyMs?.() ?? Infinity);
  }

  async #endLost(ids: Set<string>): Promise<void> {
    const lost = await this.#options.store.endLost();
    for (const id of lost) ids.add(id);
    this.#options.events.emit('rotation', lost);
  }

  /** False: none was taken. */
  async #take(course: TurnCourse, endpointIds: readonly string[]): Promise<boolean> {
    const { store, scaler, random } = this.#options;
    const asked = endpointIds.map((endpointId) => ({ endpointId, dispensable: this.#dispensable.ofOthers(endpointId) }));
    const results = await scaleEndpoints(store, asked, scaler, random, course, this.#knownMs());
    if (!results) return false;
    const machineIds = new Set([...results.values()].flatMap((result) => result.machineIds));
    if (machineIds.size > 0) this.#options.onDesired([...machineIds]);
    const changed = [...results].filter(([endpointId, result]) => this.#taken(endpointId, result)).map(([endpointId]) => endpointId);
    await store.pruneEnded(changed);
    return true;
  }

  /** Tells what a turn did. Answers whether workers changed. */
  #taken(endpointId: string, result: ScaleResult): boolean {
    const { logger, events } = this.#options;
    this.#options.meter?.onTurn(result);
    const { added, drained, retired, woken, frozen, preempted, throttled, reason, rollout } = result;
    if (rollout?.state) logger.info({ endpointId, version: rollout.version, state: rollout.state, workerId: rollout.failedId }, 'rollout');
    // Another version is scaled from now on.
    if (rollout) this.wake([endpointId]);
    if (drained.length + retired.length > 0) events.emit('rotation', [endpointId]);
    // None of those that the pause is for may be left.
    if (drained.length + retired.length + frozen.length > 0) this.#restUntil.delete(endpointId);
    const changed = added.length + drained.length + retired.length + woken.length + frozen.length + preempted.length > 0;
    if (changed) logger.info({ endpointId, added, drained, retired, woken, frozen, preempted, throttled, reason }, 'workers changed');
    return changed;
  }
}

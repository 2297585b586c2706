/**
 * Triggered reconcile: evaluates endpoints right after an event at this replica, so that a first job never waits for
 * the next resync. Events are: a job was queued, workers or settings changed, capacity was freed, or a timer of
 * core/scaling/evaluation-timers.ts is due.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import { Loop } from '@slipway/kit/lifecycle/loop';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random, Timer } from '@slipway/kit/time/clock';
import type { CoreEvents } from '../events/core-events.ts';
import type { Stores } from '../store/storage.ts';
import type { Evaluator } from './evaluator.ts';
import type { WorkQueue } from './work-queue.ts';

/** Pause between two passes without an event, in milliseconds. */
const PERIOD_MS = 1_000;
/**
 * Shortest pause between two evaluations of an endpoint that queued jobs cause, in milliseconds: without workers, and
 * while some start already. Evaluations with another cause do not count, because the first job without a worker must
 * not wait for them.
 */
const QUEUED_PAUSE_MS = 100;
const QUEUED_PAUSE_STARTING_MS = 1_000;
/**
 * Shortest pause between two evaluations of all unplaced endpoints, in milliseconds, and as a multiple of their
 * duration.
 */
const CAPACITY_PAUSE_MS = 50;
const CAPACITY_PAUSE_FACTOR = 4;
/** Maximum number of endpoints per evaluation. With a small number, newly triggered endpoints wait less. */
const BATCH_MAX = 50;

/** Dependencies of the trigger. */
interface TriggerOptions {
  store: Stores['scales'];
  events: CoreEvents;
  evaluator: Evaluator;
  queue: WorkQueue;
  /** Returns whether this replica has sessions of workers of an endpoint. */
  hasWorker(endpointId: string): boolean;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class TriggerLoop extends BaseService {
  readonly name = 'scaling trigger';
  readonly #options: TriggerOptions;
  readonly #loop: Loop;
  readonly #triggered = new Set<string>();
  /** Unplaced endpoints after capacity was freed. They come after the triggered ones. */
  readonly #unplaced = new Set<string>();
  /** Monotonic time from which queued jobs may trigger an endpoint again, in milliseconds. */
  readonly #pausedUntilMs = new Map<string, number>();
  readonly #delayed = new Map<string, Timer>();
  /** Capacity was freed, and the unplaced endpoints were not evaluated since. */
  #capacityFreed = false;
  #capacityPausedUntilMs = -Infinity;
  #capacityTimer: Timer | undefined;
  #offs: (() => void)[] = [];

  constructor(options: TriggerOptions) {
    super();
    this.#options = options;
    const { activity, clock, random, logger } = options;
    this.#loop = new Loop({
      name: this.name,
      pass: () => this.#pass(),
      periodMs: PERIOD_MS,
      restMs: REST_MS,
      activity,
      clock,
      random,
      logger,
    });
  }

  protected override async onStart(): Promise<void> {
    const { events, evaluator } = this.#options;
    this.#offs = [
      events.on('queued', (endpointIds) => this.#onQueued(endpointIds)),
      events.on('capacity', () => this.#onCapacityFreed()),
      events.on('load', (loads) => {
        for (const { endpointId, jobs } of loads) evaluator.timers.jobsChanged(endpointId, jobs);
      }),
    ];
    await this.#loop.start();
  }

  protected override async onStop(): Promise<void> {
    for (const off of this.#offs) off();
    for (const timer of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    this.#capacityTimer?.cancel();
    await this.#loop.stop();
  }

  /** Evaluates these endpoints as soon as possible. */
  add(endpointIds: readonly string[]): void {
    if (endpointIds.length === 0) return;
    for (const id of endpointIds) this.#triggered.add(id);
    this.#loop.wake();
  }

  /** Lengthens the pause of an endpoint whose workers start already. */
  startsWorkers(endpointId: string): void {
    if (!this.#pausedUntilMs.has(endpointId)) return;
    this.#pausedUntilMs.set(endpointId, this.#options.clock.monotonicMs() + QUEUED_PAUSE_STARTING_MS);
  }

  /** Ends the pause of an endpoint: the workers that it waits for may be gone. */
  lostWorkers(endpointId: string): void {
    this.#pausedUntilMs.delete(endpointId);
  }

  /** Triggers endpoints with queued jobs, after their pause. Jobs of other replicas are handled there. */
  #onQueued(endpointIds: readonly string[]): void {
    const { clock, events, hasWorker, evaluator } = this.#options;
    for (const id of endpointIds) evaluator.timers.jobWaits(id, events.relaying);
    if (events.relaying) return;
    const now = clock.monotonicMs();
    for (const id of endpointIds) {
      if (this.#delayed.has(id) || hasWorker(id)) continue;
      const pauseMs = (this.#pausedUntilMs.get(id) ?? now) - now;
      if (pauseMs <= 0) this.#addForJobs(id);
      else
        this.#delayed.set(
          id,
          clock.after(pauseMs, () => this.#addForJobs(id)),
        );
    }
  }

  #addForJobs(endpointId: string): void {
    this.#delayed.delete(endpointId);
    this.#pausedUntilMs.set(endpointId, this.#options.clock.monotonicMs() + QUEUED_PAUSE_MS);
    this.add([endpointId]);
  }

  /**
   * Evaluates unplaced endpoints, after a pause. However often capacity is freed, this takes a small share of the time.
   */
  #onCapacityFreed(): void {
    const pauseMs = Math.max(this.#capacityPausedUntilMs - this.#options.clock.monotonicMs(), 0);
    this.#capacityTimer ??= this.#options.clock.after(pauseMs, () => {
      this.#capacityTimer = undefined;
      this.#capacityFreed = true;
      this.#loop.wake();
    });
  }

  /** Evaluates the next endpoints. Returns whether there are more. */
  async #pass(): Promise<boolean> {
    const { store, clock, logger, evaluator, queue } = this.#options;
    const startMs = clock.monotonicMs();
    const capacityFreed = this.#capacityFreed;
    this.#capacityFreed = false;
    if (capacityFreed) for (const id of await store.unplacedEndpoints()) this.#unplaced.add(id);
    const passes = Math.ceil(this.#unplaced.size / BATCH_MAX);
    const ids = [...new Set([...this.#triggered, ...this.#unplaced])].slice(0, BATCH_MAX);
    const unplaced = ids.filter((id) => !this.#triggered.has(id));
    for (const id of ids) for (const waiting of [this.#triggered, this.#unplaced]) waiting.delete(id);
    for (const [id, atMs] of this.#pausedUntilMs) if (startMs >= atMs) this.#pausedUntilMs.delete(id);
    // The result of a running reconcile is only visible after its end.
    for (const id of ids) void queue.running(id)?.then(() => this.add([id]));
    const due = await evaluator.evaluate(ids, unplaced);
    if (capacityFreed) {
      const tookMs = clock.monotonicMs() - startMs;
      const pauseMs = Math.max(tookMs * passes * CAPACITY_PAUSE_FACTOR, CAPACITY_PAUSE_MS);
      this.#capacityPausedUntilMs = clock.monotonicMs() + pauseMs;
    }
    queue.add(due).catch((error: unknown) => {
      logger.warn({ err: error }, 'reconcile failed; the next resync retries it');
    });
    return this.#triggered.size + this.#unplaced.size > 0;
  }
}

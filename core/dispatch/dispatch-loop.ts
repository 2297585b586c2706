/**
 * Brings queued jobs to free slots. Woken by queued jobs and by freed slots; once a second it looks at every endpoint with room by itself,
 * because a notice may be lost. At most one claim per endpoint is in flight, so that what happens meanwhile leaves with the next one:
 * under load one statement carries many slots, at low load a job waits for nobody.
 */
import type { AttemptCalls } from '../jobs/job-engine.ts';
import type { CoreEvents } from '../events/core-events.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Loop } from '../runtime/loop.ts';
import { BaseService } from '../runtime/service.ts';
import { prefetchCount } from '../domain/prefetch.ts';
import type { ClaimedJob, AssignedJob, Slot } from '../jobs/slots.ts';
import type { ExecutionTimes } from './execution-times.ts';
import type { SlotPool } from './slot-pool.ts';

/** Longest time that an endpoint with room is not looked at, in milliseconds. */
const PERIOD_MS = 1_000;
/** Most slots in one claim. */
const CLAIM_SLOTS_MAX = 500;
/** Most claims in flight, each for another endpoint; the pool of connections is shared with everybody else. */
const CLAIMS_MAX = 4;
/** How long stopping waits for claims in flight, in milliseconds. */
const STOP_MS_MAX = 2_000;
const FAILURE_PAUSE = { firstMs: 50, maxMs: 1_000 };

export interface DispatchLoopOptions {
  pool: SlotPool;
  attempts: Pick<AttemptCalls, 'claim' | 'claimPrefetch'>;
  times: Pick<ExecutionTimes, 'of' | 'doubt'>;
  events: CoreEvents;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class DispatchLoop extends BaseService {
  readonly name = 'dispatch';
  readonly #options: DispatchLoopOptions;
  readonly #sweep: Loop;
  /** Endpoints to look at. */
  readonly #pending = new Set<string>();
  readonly #claiming = new Set<string>();
  /** Endpoints that wait after a failed claim. */
  readonly #paused = new Set<string>();
  #failures = 0;
  /** In flight. */
  #claims = 0;
  #scheduled = false;
  #idle: (() => void) | undefined;
  #off: () => void = () => undefined;

  constructor(options: DispatchLoopOptions) {
    super();
    this.#options = options;
    const { clock, random, logger } = options;
    this.#sweep = new Loop({ name: 'dispatch sweep', periodMs: PERIOD_MS, pass: async () => this.#sweepOnce(), clock, random, logger });
  }

  protected override async onStart(): Promise<void> {
    this.#off = this.#options.events.on('queued', (endpointIds) => { for (const id of endpointIds) this.wake(id); });
    await this.#sweep.start();
  }

  protected override async onStop(): Promise<void> {
    this.#off();
    await this.#sweep.stop();
    if (this.#claims === 0) return;
    // A claim waits for a database that is away; then the engine, which stops later, ends it.
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(STOP_MS_MAX, resolve);
      this.#idle = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Asks for a look at an endpoint. Many calls before the look count as one. */
  wake(endpointId: string): void {
    if (!this.running || this.#paused.has(endpointId)) return;
    this.#pending.add(endpointId);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After the current turn, so that all slots freed by one message are claimed for together.
    this.#options.clock.soon(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #sweepOnce(): void {
    for (const endpointId of this.#options.pool.endpointsWithCapacity()) this.wake(endpointId);
  }

  #pump(): void {
    for (const endpointId of this.#pending) {
      if (!this.running || this.#claims >= CLAIMS_MAX) return;
      if (this.#claiming.has(endpointId)) continue;
      this.#pending.delete(endpointId);
      this.#claims += 1;
      this.#claiming.add(endpointId);
      void this.#claim(endpointId).finally(() => this.#claimed(endpointId));
    }
  }

  #claimed(endpointId: string): void {
    this.#claims -= 1;
    this.#claiming.delete(endpointId);
    if (this.#claims === 0) this.#idle?.();
    if (this.#pending.size > 0) this.#pump();
  }

  /** Never rejects. Slots are either assigned or given back. */
  async #claim(endpointId: string): Promise<void> {
    const { pool, attempts } = this.#options;
    const slots = pool.reserve(endpointId, CLAIM_SLOTS_MAX);
    if (slots.length === 0) {
      const running = pool.runningLow(endpointId);
      if (running.length > 0) pool.assign(await this.#claimPrefetch(endpointId, slots, running));
      return;
    }
    try {
      const jobs = await attempts.claim(endpointId, slots);
      this.#failures = 0;
      const unused = unusedSlots(slots, jobs);
      // Together, so that one take carries them.
      pool.assign(unused.length > 0 ? jobs : [...jobs, ...await this.#claimPrefetch(endpointId, slots, jobs)]);
      pool.unreserve(unused);
      // A full claim means that there may be more, and room may have come meanwhile.
      if (unused.length === 0) this.#pending.add(endpointId);
    } catch (error) {
      pool.unreserve(slots);
      this.#pause(endpointId, error);
    }
  }

  /** More jobs of the kind of `behind` for workers that run short ones faster in a row. Never rejects: what was claimed before must reach its workers. */
  async #claimPrefetch(endpointId: string, taken: readonly Slot[], behind: readonly AssignedJob[]): Promise<ClaimedJob[]> {
    const { pool, attempts, times, logger } = this.#options;
    let slots: Slot[] = [];
    try {
      const timesMs = times.of(endpointId);
      const othersIdle = pool.hasCapacity(endpointId);
      const inputBytes = Math.max(...behind.map(({ inputSize }) => inputSize));
      slots = pool.reservePrefetch(endpointId, taken, (asked) => prefetchCount({ timesMs, slots: asked, othersIdle, inputBytes }));
      if (slots.length === 0) return [];
      const jobs = await attempts.claimPrefetch(endpointId, slots, behind);
      pool.unreserve(unusedSlots(slots, jobs));
      // They are larger than those before them: their agent gives them back.
      if (jobs.some(({ input }) => !input)) times.doubt(endpointId);
      return jobs;
    } catch (error) {
      pool.unreserve(slots);
      logger.warn({ err: error, endpointId }, 'jobs were not handed over ahead');
      return [];
    }
  }

  #pause(endpointId: string, error: unknown): void {
    const { clock, random, logger } = this.#options;
    this.#failures += 1;
    this.#paused.add(endpointId);
    if (this.running) logger.warn({ err: error, endpointId }, 'claim failed, will try again');
    clock.after(backoffMs(this.#failures, FAILURE_PAUSE, random), () => {
      this.#paused.delete(endpointId);
      this.wake(endpointId);
    });
  }
}

/** Slots that got no job. A worker may stand on several slots. */
function unusedSlots<T extends { workerId: string }>(slots: readonly T[], jobs: readonly { workerId: string }[]): T[] {
  const used = new Map<string, number>();
  for (const { workerId } of jobs) used.set(workerId, (used.get(workerId) ?? 0) + 1);
  return slots.filter(({ workerId }) => {
    const left = used.get(workerId) ?? 0;
    if (left > 0) used.set(workerId, left - 1);
    return left === 0;
  });
}

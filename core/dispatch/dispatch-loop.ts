/**
 * Dispatches queued jobs to free slots. Triggered by queued jobs and freed slots; every second it also resyncs all
 * endpoints with capacity, because a notice may be lost. At most one claim per endpoint is in flight, and what
 * happens during a claim goes into the next one: under load one statement fills many slots, else a job never waits.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import { Loop } from '@slipway/kit/lifecycle/loop';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { prefetchCount } from '../domain/jobs/prefetch.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { AttemptCalls } from '../jobs/job-engine.ts';
import type { AssignedJob, ClaimedJob, Slot } from '../jobs/slots.ts';
import type { ExecutionTimes } from './reports/execution-times.ts';
import type { SlotPool } from './slot-pool.ts';

/** Period of the resync of endpoints with capacity, in milliseconds. */
const PERIOD_MS = 1_000;
/** Most slots of one claim. */
const CLAIM_SLOTS_MAX = 500;
/** Most claims in flight, one per endpoint. The connection pool is shared with all other work. */
const CLAIMS_MAX = 4;
/** How long a stop waits for claims in flight, in milliseconds. */
const STOP_MS_MAX = 2_000;
const FAILURE_PAUSE = { firstMs: 50, maxMs: 1_000 };

interface DispatchLoopOptions {
  pool: SlotPool;
  attempts: Pick<AttemptCalls, 'mayClaim' | 'claim' | 'claimPrefetch'>;
  times: Pick<ExecutionTimes, 'of' | 'discard'>;
  events: CoreEvents;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class DispatchLoop extends BaseService {
  readonly name = 'dispatch';
  readonly #options: DispatchLoopOptions;
  readonly #sweep: Loop;
  /** Endpoints to claim for. */
  readonly #pending = new Set<string>();
  readonly #claiming = new Set<string>();
  /** Endpoints in backoff after a failed claim. */
  readonly #paused = new Set<string>();
  #failures = 0;
  /** Claims in flight. */
  #claims = 0;
  #scheduled = false;
  #idle: (() => void) | undefined;
  #off: () => void = () => undefined;

  constructor(options: DispatchLoopOptions) {
    super();
    this.#options = options;
    const { activity, clock, random, logger } = options;
    this.#sweep = new Loop({
      name: 'dispatch sweep',
      periodMs: PERIOD_MS,
      restMs: REST_MS,
      activity,
      pass: async () => this.#sweepOnce(),
      clock,
      random,
      logger,
    });
  }

  protected override async onStart(): Promise<void> {
    this.#off = this.#options.events.on('queued', (endpointIds) => {
      for (const id of endpointIds) this.trigger(id);
    });
    await this.#sweep.start();
  }

  protected override async onStop(): Promise<void> {
    this.#off();
    await this.#sweep.stop();
    if (this.#claims === 0) return;
    // A claim waits while the database is unavailable. The engine, which stops later, ends it.
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(STOP_MS_MAX, resolve);
      this.#idle = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Triggers a claim for an endpoint. Calls before the claim are merged. */
  trigger(endpointId: string): void {
    if (!this.running || this.#paused.has(endpointId)) return;
    this.#pending.add(endpointId);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After the current tick, so that slots freed by one message share a claim.
    this.#options.clock.soon(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #sweepOnce(): void {
    for (const endpointId of this.#options.pool.endpointsWithCapacity()) this.trigger(endpointId);
  }

  #pump(): void {
    for (const endpointId of this.#pending) {
      if (!this.running || this.#claims >= CLAIMS_MAX) return;
      if (this.#claiming.has(endpointId)) continue;
      this.#pending.delete(endpointId);
      if (!this.#options.attempts.mayClaim(endpointId)) continue;
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

  /** Claims for one endpoint. Never rejects. All reserved slots are assigned or returned. */
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
      // One message carries all of them, so that one take returns them.
      pool.assign(unused.length > 0 ? jobs : [...jobs, ...(await this.#claimPrefetch(endpointId, slots, jobs))]);
      pool.unreserve(unused);
      // A full claim means that more jobs may wait, and slots may have become free since.
      if (unused.length === 0) this.#pending.add(endpointId);
    } catch (error) {
      pool.unreserve(slots);
      this.#pause(endpointId, error);
    }
  }

  /**
   * Prefetches jobs like `behind` for workers that run short jobs in a row. Never rejects: jobs claimed before must
   * reach their workers.
   */
  async #claimPrefetch(
    endpointId: string,
    taken: readonly Slot[],
    behind: readonly AssignedJob[],
  ): Promise<ClaimedJob[]> {
    const { pool, attempts, times, logger } = this.#options;
    let slots: Slot[] = [];
    try {
      const timesMs = times.of(endpointId);
      const othersIdle = pool.hasCapacity(endpointId);
      const inputBytes = Math.max(...behind.map(({ inputSize }) => inputSize));
      slots = pool.reservePrefetch(endpointId, taken, (asked) =>
        prefetchCount({ timesMs, slots: asked, othersIdle, inputBytes }),
      );
      if (slots.length === 0) return [];
      const jobs = await attempts.claimPrefetch(endpointId, slots, behind);
      pool.unreserve(unusedSlots(slots, jobs));
      // Their inputs are too large to prefetch: the agent returns them.
      if (jobs.some(({ input }) => !input)) times.discard(endpointId);
      return jobs;
    } catch (error) {
      pool.unreserve(slots);
      logger.warn({ err: error, endpointId }, 'prefetch claim failed');
      return [];
    }
  }

  #pause(endpointId: string, error: unknown): void {
    const { clock, random, logger } = this.#options;
    this.#failures += 1;
    this.#paused.add(endpointId);
    if (this.running) logger.warn({ err: error, endpointId }, 'claim failed, will retry');
    clock.after(backoffMs(this.#failures, FAILURE_PAUSE, random), () => {
      this.#paused.delete(endpointId);
      this.trigger(endpointId);
    });
  }
}

/** Returns the slots that got no job. A worker may hold several slots. */
function unusedSlots<T extends { workerId: string }>(slots: readonly T[], jobs: readonly { workerId: string }[]): T[] {
  const used = new Map<string, number>();
  for (const { workerId } of jobs) used.set(workerId, (used.get(workerId) ?? 0) + 1);
  return slots.filter(({ workerId }) => {
    const left = used.get(workerId) ?? 0;
    if (left > 0) used.set(workerId, left - 1);
    return left === 0;
  });
}

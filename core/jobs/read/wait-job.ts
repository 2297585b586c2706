/**
 * Waits for jobs to become final, in memory. A commit on this replica or a notice of another wakes the waiter.
 * Notices are hints; a slow poll of all waited-for jobs is the guarantee. Every wait ends by the server's clock.
 */

import { OverloadError } from '@slipway/kit/bytes/batcher';
import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Service } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Job, JobKey } from '../../domain/jobs/job.ts';
import { jobNotFound } from '../../domain/jobs/job.ts';
import { WAIT_MS_MAX } from '../../domain/jobs/job-limits.ts';
import { isFinal } from '../../domain/jobs/job-state.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import type { Stores } from '../../store/storage.ts';
import type { LiveJobs, WaitEnd, Waiter } from '../live-jobs.ts';
import type { AcquireMemory, ReadJob } from './read-job.ts';
import type { WaitStopper } from './wait-stopper.ts';

interface WaitJobOptions {
  stores: Pick<Stores, 'jobs'>;
  events: CoreEvents;
  live: LiveJobs;
  reads: ReadJob;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Callers that may wait at once on this replica. */
export const WAITERS_MAX = 100_000;
/** Period of the poll of waited-for jobs, in milliseconds. */
const POLL_PERIOD_MS = 1_500;
const POLL_ITEMS_MAX = 1_000;

export class WaitJob {
  readonly #options: WaitJobOptions;
  readonly #loop: Loop;
  /** Waiting callers. */
  #count = 0;

  constructor(options: WaitJobOptions) {
    this.#options = options;
    const { clock, random, logger } = options;
    this.#loop = new Loop({
      name: 'wait poll',
      periodMs: POLL_PERIOD_MS,
      pass: () => this.poll(),
      clock,
      random,
      logger,
    });
    options.events.on('settled', (keys) => this.#onFinal(keys));
  }

  /** The poll loop. */
  get service(): Service {
    return this.#loop;
  }

  /**
   * Returns the job when it is final, or its present state when the wait ends or is stopped. Throws JOB_NOT_FOUND.
   */
  async wait(key: JobKey, waitMs: number, stopper: WaitStopper, acquireMemory?: AcquireMemory): Promise<Job> {
    const waiter = this.enter(key);
    waiter.stored = true;
    try {
      const job = await this.#options.reads.read(key, { omitOutput: false, acquireMemory });
      if (isFinal(job.state) || waitMs <= 0 || stopper.stopped) return job;
      return await this.finish(waiter, waitMs, stopper);
    } finally {
      this.leave(waiter);
    }
  }

  /**
   * Registers a waiter, possibly before the job is stored, so that no end is missed. The caller must `leave`. Throws
   * OverloadError if too many wait.
   */
  enter(key: JobKey): Waiter {
    if (this.#count >= WAITERS_MAX) throw new OverloadError('waits');
    const { promise: ended, resolve: end } = Promise.withResolvers<WaitEnd>();
    const { live: jobs, clock } = this.#options;
    const live = jobs.open(key.endpointId, key.jobId);
    const waiter: Waiter = { key, live, ended, end, stored: false, sinceMs: clock.monotonicMs() };
    live.waiters ??= new Set();
    live.waiters.add(waiter);
    this.#count += 1;
    return waiter;
  }

  /** Waits for the end of a wait that `enter` began, at most `waitMs` milliseconds. */
  async finish(waiter: Waiter, waitMs: number, stopper: WaitStopper): Promise<Job> {
    const end = (): void => waiter.end(undefined);
    const timer = this.#options.clock.after(Math.min(waitMs, WAIT_MS_MAX), end);
    stopper.listen(end);
    try {
      const how = await waiter.ended;
      if (how instanceof Error) throw how;
      return how ?? (await this.#options.reads.read(waiter.key, { omitOutput: false }));
    } finally {
      timer.cancel();
      stopper.listen(undefined);
    }
  }

  /** Removes a waiter. Idempotent. */
  leave(waiter: Waiter): void {
    const { live } = waiter;
    if (!live.waiters?.delete(waiter)) return;
    this.#count -= 1;
    if (live.waiters.size > 0) return;
    live.waiters = undefined;
    this.#options.live.close(live);
  }

  /** Resolves the waiters of a job that became final on this replica, without a read. */
  resolve(job: Job): void {
    for (const waiter of this.#waitersOf(job.endpointId, job.id)) {
      waiter.end(job);
      this.leave(waiter);
    }
  }

  /** Reads all jobs that were waited for since before the last poll. */
  async poll(): Promise<void> {
    const { clock, stores } = this.#options;
    const before = clock.monotonicMs() - POLL_PERIOD_MS / 2;
    const keys: JobKey[] = [];
    for (const { waiters } of this.#options.live) {
      const waiter = waiters?.values().find((each) => each.stored && each.sinceMs <= before);
      if (waiter) keys.push(waiter.key);
    }
    for (let from = 0; from < keys.length; from += POLL_ITEMS_MAX) {
      const some = keys.slice(from, from + POLL_ITEMS_MAX);
      const found = await stores.jobs.read(
        some,
        some.map(() => -1),
      );
      const states = new Map(found.map((row) => [row.index, row.job.state]));
      await Promise.all(
        some.map(async (key, index) => {
          const state = states.get(index);
          if (state === undefined || isFinal(state)) await this.#check(key);
        }),
      );
    }
  }

  #onFinal(keys: readonly JobKey[]): void {
    if (this.#count === 0) return;
    for (const key of keys) {
      if (this.#options.live.find(key.endpointId, key.jobId)?.waiters === undefined) continue;
      // The poll retries a failed read.
      const { endpointId, jobId } = key;
      this.#check(key).catch((error: unknown) =>
        this.#options.logger.debug(
          { err: error, endpointId, jobId },
          'a job that a client waits for could not be read',
        ),
      );
    }
  }

  async #check(key: JobKey): Promise<void> {
    try {
      const job = await this.#options.reads.read(key, { omitOutput: false });
      if (isFinal(job.state)) this.resolve(job);
    } catch (error) {
      if (!(error instanceof DomainError) || error.reason !== 'JOB_NOT_FOUND') throw error;
      for (const waiter of this.#waitersOf(key.endpointId, key.jobId)) {
        if (waiter.stored) waiter.end(jobNotFound(key.jobId));
      }
    }
  }

  #waitersOf(endpointId: string, jobId: string): Iterable<Waiter> {
    return (this.#count > 0 && this.#options.live.find(endpointId, jobId)?.waiters) || [];
  }
}

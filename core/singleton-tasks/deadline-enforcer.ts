/**
 * Ends jobs that exceed their execution timeout: TIMED_OUT by the database clock, and the agent is asked to stop the
 * attempt.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random, Timer } from '@slipway/kit/time/clock';
import type { Job } from '../domain/jobs/job.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { Stores } from '../store/storage.ts';

interface DeadlineEnforcerOptions {
  stores: Pick<Stores, 'deadlines'>;
  events: CoreEvents;
  /** Receives every job that became final. */
  onFinal(job: Job): void;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/**
 * Longest pause between two passes in milliseconds, and how far a pass looks ahead for the next deadline. The
 * shortest execution timeout is longer, so no new attempt can be due before the next pass.
 */
const PERIOD_MS = 2_000;
const AHEAD_MS = 2_500;
/** Shortest pause before an expired deadline is checked again, in milliseconds. */
const LOCKED_PAUSE_MS = 20;
const BATCH_ITEMS_MAX = 500;

export class DeadlineEnforcer extends LoopService {
  readonly #options: DeadlineEnforcerOptions;
  #alarm: Timer | undefined;

  constructor(options: DeadlineEnforcerOptions) {
    super({ ...options, name: 'deadline enforcer', periodMs: PERIOD_MS, restMs: REST_MS });
    this.#options = options;
  }

  protected override async onStop(): Promise<void> {
    this.#alarm?.cancel();
    await super.onStop();
    this.#alarm?.cancel();
  }

  /** Times out the jobs that are due. Returns their number. */
  async runOnce(): Promise<number> {
    const { stores, events, onFinal } = this.#options;
    const ended = await stores.deadlines.timeOut(BATCH_ITEMS_MAX);
    for (const { job } of ended) onFinal(job);
    events.emit(
      'settled',
      ended.map(({ job }) => ({ endpointId: job.endpointId, jobId: job.id })),
    );
    events.emit(
      'stop',
      ended.map(({ job, machineId }) => ({
        endpointId: job.endpointId,
        jobId: job.id,
        attempt: job.attempt,
        machineId,
        reason: 'execution timeout',
      })),
    );
    return ended.length;
  }

  protected override async pass(): Promise<boolean> {
    const ms = await this.#options.stores.deadlines.nextMs(AHEAD_MS);
    this.#alarm?.cancel();
    if (ms === undefined) return false;
    // Rows that another replica has locked are checked again a moment later.
    if (ms <= 0 && (await this.runOnce()) > 0) return true;
    this.#alarm = this.#options.clock.after(Math.max(LOCKED_PAUSE_MS, ms + 1), () => this.wake());
    return false;
  }
}

/**
 * Recounts all queues periodically and corrects the counters of endpoints: a release without counters, or an
 * operator, may have changed jobs.
 */

import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Stores } from '../store/storage.ts';

interface QueueRecounterOptions {
  stores: Pick<Stores, 'counts'>;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** The first pass is at the start, when it is needed most. A million queued jobs take a third of a second. */
const PERIOD_MS = 30_000;
/**
 * If counting is slow, the pause is this many times its duration, at most `PAUSE_MS_MAX`: one late answer of the
 * database makes it slow as well.
 */
const REST_FACTOR = 200;
const PAUSE_MS_MAX = 300_000;

export class QueueRecounter extends LoopService {
  readonly #options: QueueRecounterOptions;
  #restUntilMs = 0;

  constructor(options: QueueRecounterOptions) {
    super({ ...options, name: 'queue recounter', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<boolean> {
    const { stores, clock, logger } = this.#options;
    const startedAtMs = clock.monotonicMs();
    if (startedAtMs < this.#restUntilMs) return false;
    const endpoints = await stores.counts.recount();
    const endedAtMs = clock.monotonicMs();
    this.#restUntilMs = endedAtMs + Math.min(PAUSE_MS_MAX, (endedAtMs - startedAtMs) * REST_FACTOR);
    if (endpoints > 0) logger.warn({ endpoints }, 'queue counters were wrong and are corrected');
    return false;
  }
}

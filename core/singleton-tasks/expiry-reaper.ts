/** Deletes expired jobs, also while they run, and expired Idempotency-Keys. Readers treat both as gone before that. */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CoreEvents } from '../events/core-events.ts';
import { announceDeleted } from '../jobs/change/delete-jobs.ts';
import type { Stores } from '../store/storage.ts';

interface ExpiryReaperOptions {
  stores: Pick<Stores, 'deletions'>;
  events: CoreEvents;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/**
 * Period of the scans in milliseconds: a running job is stopped at most this long after its ttl has elapsed. While core
 * is quiet, jobs that do not run are deleted up to REST_MS later.
 */
const PERIOD_MS = 1_000;
const BATCH_ITEMS_MAX = 1_000;
/**
 * Largest share of the time that full scans take. The other scans begin where the previous one ended, and so miss rows
 * that were locked at that time.
 */
const FULL_SHARE = 0.02;

export class ExpiryReaper extends LoopService {
  readonly #options: ExpiryReaperOptions;
  #afterUs = 0;
  #fullDueMs = -Infinity;

  constructor(options: ExpiryReaperOptions) {
    super({ ...options, name: 'expiry reaper', periodMs: PERIOD_MS, restMs: REST_MS });
    this.#options = options;
  }

  /** Scans once. If no row is due, does no more. */
  protected override async pass(): Promise<boolean> {
    const { stores, clock } = this.#options;
    const startedAtMs = clock.monotonicMs();
    const full = startedAtMs >= this.#fullDueMs;
    if (full) this.#afterUs = 0;
    const more = (await stores.deletions.isDue(this.#afterUs)) && (await this.runOnce()) >= BATCH_ITEMS_MAX;
    const endedAtMs = clock.monotonicMs();
    if (full) this.#fullDueMs = endedAtMs + (endedAtMs - startedAtMs) / FULL_SHARE;
    return more;
  }

  /** Deletes one batch. Returns the number of deleted jobs and keys. */
  async runOnce(): Promise<number> {
    const { stores, events, logger } = this.#options;
    const { deleted, lastUs } = await stores.deletions.reapExpired(BATCH_ITEMS_MAX, this.#afterUs);
    this.#afterUs = lastUs;
    announceDeleted(events, deleted, 'ttl elapsed');
    for (const { endpointId, jobId, attempt, machineId, isFinal } of deleted) {
      if (isFinal) continue;
      const ran = machineId === undefined ? undefined : { attempt, machineId };
      logger.info({ endpointId, jobId, ...ran }, 'job expired before it ended');
    }
    const keys = await stores.deletions.reapIdempotencyKeys(BATCH_ITEMS_MAX);
    const creationKeys = await stores.deletions.reapCreationKeys(BATCH_ITEMS_MAX);
    return Math.max(deleted.length, keys, creationKeys);
  }
}

/**
 * Finishes the deletion of endpoints: the row is deleted first, the jobs in batches after it. Deletes what remains if
 * the deleting replica stops or loses its database, and jobs submitted at that moment.
 */

import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { DeleteJobs } from '../jobs/change/delete-jobs.ts';
import type { Stores } from '../store/storage.ts';

interface DeletionFinisherOptions {
  stores: Pick<Stores, 'deletions'>;
  deletes: Pick<DeleteJobs, 'deleteSome'>;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Not urgent: a deleted endpoint's jobs are invisible. The first pass is at the start, when it is needed most. */
const PERIOD_MS = 30_000;
/** Endpoints of one pass, one batch of jobs each: a stopping replica waits for the pass. */
const ENDPOINTS_MAX = 10;

export class DeletionFinisher extends LoopService {
  readonly #options: DeletionFinisherOptions;

  constructor(options: DeletionFinisherOptions) {
    super({ ...options, name: 'deletion finisher', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<boolean> {
    return (await this.runOnce()) > 0;
  }

  /** Deletes one batch of jobs of each of some deleted endpoints. Returns the number of deleted jobs. */
  async runOnce(): Promise<number> {
    const { stores, deletes, logger } = this.#options;
    let removed = 0;
    for (const endpointId of await stores.deletions.endpointsGone(ENDPOINTS_MAX)) {
      const jobs = await deletes.deleteSome(endpointId);
      if (jobs > 0) logger.info({ endpointId, jobs }, 'jobs of a deleted endpoint removed');
      removed += jobs;
    }
    return removed;
  }
}

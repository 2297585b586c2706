/**
 * Finishes the deletion of endpoints: their row goes first, their jobs in batches after it. What is left when the replica that deletes ends
 * or loses its database in between, and what was submitted at that moment, goes here.
 */
import type { DeleteJobs } from '../jobs/delete-jobs.ts';
import { LoopService } from '../runtime/loop-service.ts';
import type { SingletonTask } from '../runtime/loop.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Stores } from '../store/storage.ts';

export interface DeletionFinisherOptions {
  stores: Pick<Stores, 'deletions'>;
  deletes: Pick<DeleteJobs, 'deleteSome'>;
  /** Default: it is this replica's. */
  task?: SingletonTask;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Nobody waits for it: nothing of an endpoint that is gone can be seen. The first pass is at the start, which is when it is needed most. */
const PERIOD_MS = 30_000;
/** Endpoints of one pass, one batch of jobs each: a replica that stops waits for a pass. */
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

  /** Deletes one batch of jobs of each of some endpoints that are gone. Number of deleted jobs. */
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

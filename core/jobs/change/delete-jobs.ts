/**
 * Deletes jobs in bounded batches: queued jobs when the owner purges the queue, all jobs when their endpoint is
 * deleted.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { CoreEvents } from '../../events/core-events.ts';
import type { DeletedJobs } from '../../store/jobs/deletion-rows.ts';
import type { Stores } from '../../store/storage.ts';
import type { QueueGate } from '../submit/queue-gate.ts';

/** Jobs of one statement. */
const BATCH_ITEMS_MAX = 2_000;

/** Announces deleted jobs, and stops the attempts of running ones. */
export function announceDeleted(events: CoreEvents, deleted: readonly DeletedJobs[], reason: string): void {
  events.emit(
    'settled',
    deleted.map(({ endpointId, jobId }) => ({ endpointId, jobId })),
  );
  events.emit(
    'stop',
    deleted.flatMap(({ endpointId, jobId, attempt, machineId }) =>
      machineId === undefined ? [] : [{ endpointId, jobId, attempt, machineId, reason }],
    ),
  );
}

export class DeleteJobs {
  readonly #deletions: Stores['deletions'];
  readonly #events: CoreEvents;
  readonly #gate: QueueGate;
  readonly #logger: Logger;

  constructor(options: { stores: Pick<Stores, 'deletions'>; events: CoreEvents; gate: QueueGate; logger: Logger }) {
    this.#deletions = options.stores.deletions;
    this.#events = options.events;
    this.#gate = options.gate;
    this.#logger = options.logger;
  }

  /** Deletes the jobs that are queued now, not later ones. Returns the number of deleted jobs. */
  async purge(endpointId: string): Promise<number> {
    const upTo = await this.#deletions.lastPosition();
    let removed = 0;
    for (const lowPriority of [false, true]) {
      for (let after = 0, more = true; more; ) {
        const { deleted, live, last } = await this.#deletions.purgeQueued(
          endpointId,
          lowPriority,
          { after, upTo },
          BATCH_ITEMS_MAX,
        );
        announceDeleted(this.#events, deleted, 'purged');
        removed += live;
        after = last;
        more = deleted.length === BATCH_ITEMS_MAX;
      }
    }
    this.#gate.forget(endpointId);
    if (removed > 0) this.#logger.info({ endpointId, jobs: removed }, 'queue purged');
    return removed;
  }

  /** Announces queued jobs that were deleted elsewhere. */
  announce(deleted: readonly DeletedJobs[], reason: string): void {
    announceDeleted(this.#events, deleted, reason);
    for (const { endpointId } of deleted) this.#gate.changed(endpointId, -1);
  }

  /** Deletes all jobs of an endpoint. Returns their number. */
  async deleteAll(endpointId: string): Promise<number> {
    let removed = 0;
    for (let more = true; more; ) {
      const deleted = await this.deleteSome(endpointId);
      removed += deleted;
      more = deleted === BATCH_ITEMS_MAX;
    }
    this.#gate.forget(endpointId);
    return removed;
  }

  /** Deletes one batch of an endpoint's jobs. Returns their number. */
  async deleteSome(endpointId: string): Promise<number> {
    const deleted = await this.#deletions.deleteOf(endpointId, BATCH_ITEMS_MAX);
    announceDeleted(this.#events, deleted, 'the endpoint was deleted');
    return deleted.length;
  }
}

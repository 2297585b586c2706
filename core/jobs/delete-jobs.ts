/** Deletes jobs in bounded batches: the queued ones when their owner purges the queue, all of them when their endpoint goes. */
import type { Database } from '../store/database.ts';
import { deleteJobsOf, lastPosition, purgeQueued } from '../store/deadline-store.ts';
import type { Deleted } from '../store/deadline-store.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { QueueGate } from './queue-gate.ts';

/** Jobs of one statement. */
const BATCH_ITEMS_MAX = 2_000;

/** Tells everybody that jobs are gone, and agents to stop those that ran. */
export function announceDeleted(events: CoreEvents, deleted: readonly Deleted[], reason: string): void {
  events.emit('settled', deleted.map(({ endpointId, jobId }) => ({ endpointId, jobId })));
  events.emit('stop', deleted.flatMap(({ endpointId, jobId, attempt, machineId }) => (
    machineId === undefined ? [] : [{ endpointId, jobId, attempt, machineId, reason }])));
}

export class DeleteJobs {
  readonly #database: Database;
  readonly #events: CoreEvents;
  readonly #gate: QueueGate;

  constructor(options: { database: Database; events: CoreEvents; gate: QueueGate }) {
    this.#database = options.database;
    this.#events = options.events;
    this.#gate = options.gate;
  }

  /** Removes the jobs that are queued now; those queued meanwhile stay. Number of removed jobs. */
  async purge(endpointId: string): Promise<number> {
    const { hot } = this.#database;
    const upTo = await lastPosition(hot);
    let removed = 0;
    for (const lowPriority of [false, true]) {
      for (let after = 0, more = true; more;) {
        const { deleted, live, last } = await purgeQueued(hot, endpointId, lowPriority, { after, upTo }, BATCH_ITEMS_MAX);
        announceDeleted(this.#events, deleted, 'purged');
        removed += live;
        after = last;
        more = deleted.length === BATCH_ITEMS_MAX;
      }
    }
    this.#gate.forget(endpointId);
    return removed;
  }

  /** Removes all jobs of an endpoint. Number of removed jobs. */
  async deleteAll(endpointId: string): Promise<number> {
    let removed = 0;
    for (let more = true; more;) {
      const deleted = await this.deleteSome(endpointId);
      removed += deleted;
      more = deleted === BATCH_ITEMS_MAX;
    }
    this.#gate.forget(endpointId);
    return removed;
  }

  /** Removes one batch of the jobs of an endpoint. Number of removed jobs. */
  async deleteSome(endpointId: string): Promise<number> {
    const deleted = await deleteJobsOf(this.#database.hot, endpointId, BATCH_ITEMS_MAX);
    announceDeleted(this.#events, deleted, 'the endpoint was deleted');
    return deleted.length;
  }
}

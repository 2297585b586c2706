/** Retries failed and timed-out jobs: queues them again with their id and input, without their output. */

import type { Job, JobKey } from '../../domain/jobs/job.ts';
import { jobNotFound } from '../../domain/jobs/job.ts';
import { isJobId } from '../../domain/jobs/job-id.ts';
import { statesBefore } from '../../domain/jobs/job-state.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import type { Stores } from '../../store/storage.ts';
import type { ReadJob } from '../read/read-job.ts';
import type { QueueCursors } from '../submit/queue-cursors.ts';
import type { QueueGate } from '../submit/queue-gate.ts';

interface RetryJobOptions {
  stores: Pick<Stores, 'jobs'>;
  events: CoreEvents;
  reads: ReadJob;
  cursors: QueueCursors;
  gate: QueueGate;
}

export class RetryJob {
  readonly #options: RetryJobOptions;

  constructor(options: RetryJobOptions) {
    this.#options = options;
  }

  /** Returns the job, IN_QUEUE. Throws JOB_NOT_FOUND, or JOB_NOT_RETRYABLE in any other state. */
  async retry(key: JobKey): Promise<Job> {
    const { stores, events, reads, cursors, gate } = this.#options;
    if (!isJobId(key.jobId)) throw jobNotFound(key.jobId);
    const queued = await stores.jobs.retry(key);
    if (!queued) {
      const { state } = await reads.read(key, { omitOutput: true });
      throw new DomainError(
        'JOB_NOT_RETRYABLE',
        `The job is ${state}; only ${statesBefore('retry').join(' and ')} jobs can be retried.`,
      );
    }
    cursors.queued(key.endpointId, queued.position, 1);
    gate.changed(key.endpointId, 1);
    events.emit('queued', [key.endpointId]);
    return queued.job;
  }
}

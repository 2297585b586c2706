/** Cancels jobs: a queued one leaves the queue, a running one is stopped, a final one stays as it is. */

import type { Job, JobKey } from '../../domain/jobs/job.ts';
import { jobNotFound } from '../../domain/jobs/job.ts';
import { isJobId } from '../../domain/jobs/job-id.ts';
import { canCancel } from '../../domain/jobs/job-state.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import type { Stores } from '../../store/storage.ts';
import type { ReadJob } from '../read/read-job.ts';

/** Tries of the read-then-cancel race; after them the state that was read is returned. */
const TRIES_MAX = 5;

export class CancelJob {
  readonly #jobs: Stores['jobs'];
  readonly #events: CoreEvents;
  readonly #reads: ReadJob;
  readonly #onFinal: (job: Job) => void;

  constructor(options: { stores: Pick<Stores, 'jobs'>; events: CoreEvents; reads: ReadJob; onFinal(job: Job): void }) {
    this.#jobs = options.stores.jobs;
    this.#events = options.events;
    this.#reads = options.reads;
    this.#onFinal = options.onFinal;
  }

  /** Returns the job afterwards: CANCELLED, or the final state that it already had. Throws JOB_NOT_FOUND. */
  async cancel(key: JobKey): Promise<Job> {
    if (!isJobId(key.jobId)) throw jobNotFound(key.jobId);
    for (let tries = 1; ; tries += 1) {
      const cancelled = await this.#jobs.cancel(key);
      if (cancelled) {
        const { job, machineId } = cancelled;
        this.#onFinal(job);
        this.#events.emit('settled', [key]);
        if (machineId !== undefined)
          this.#events.emit('stop', [{ ...key, attempt: job.attempt, machineId, reason: 'cancelled' }]);
        return job;
      }
      const job = await this.#reads.read(key, { omitOutput: true });
      if (!canCancel(job.state) || tries >= TRIES_MAX) return job;
    }
  }
}

/** Submits a job and waits for its end (POST /runsync). */

import type { Job } from '../../domain/jobs/job.ts';
import { isFinal } from '../../domain/jobs/job-state.ts';
import type { ReadJob } from '../read/read-job.ts';
import type { WaitJob } from '../read/wait-job.ts';
import type { WaitStopper } from '../read/wait-stopper.ts';
import type { Submission } from './submission.ts';
import type { SubmitJob } from './submit-job.ts';

export class SubmitAndWait {
  readonly #submits: SubmitJob;
  readonly #waits: WaitJob;
  readonly #reads: ReadJob;

  constructor(options: { submits: SubmitJob; waits: WaitJob; reads: ReadJob }) {
    this.#submits = options.submits;
    this.#waits = options.waits;
    this.#reads = options.reads;
  }

  /**
   * Returns the job when it is final, or its present state when `submission.waitMs` is over or the wait is stopped.
   * The job is stored in any case. `onStored` receives it as stored.
   */
  async run(submission: Submission, stopper: WaitStopper, onStored?: (job: Job) => void): Promise<Job> {
    const prepared = await this.#submits.prepare(submission);
    const { endpointId, id: jobId } = prepared.job;
    // Register the waiter first: a fast worker may finish before the insert returns.
    const waiter = this.#waits.enter({ endpointId, jobId });
    try {
      const job = await this.#submits.store(prepared);
      waiter.stored = true;
      onStored?.(job);
      if (isFinal(job.state) && job.output) return job;
      if (isFinal(job.state)) return await this.#reads.read({ endpointId, jobId: job.id }, { omitOutput: false });
      if (job.id !== jobId) {
        // A caller waits in one place only.
        this.#waits.leave(waiter);
        return await this.#waits.wait({ endpointId, jobId: job.id }, submission.waitMs, stopper);
      }
      return await this.#waits.finish(waiter, submission.waitMs, stopper);
    } finally {
      this.#waits.leave(waiter);
    }
  }
}

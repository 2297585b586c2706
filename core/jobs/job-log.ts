/** Writes the one line that a job leaves in core's log at the default level. */
import type { Logger } from '@slipway/kit/log/logger';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Job } from '../domain/jobs/job.ts';

interface JobLogOptions {
  logger: Logger;
  /** Default: no traces. */
  tracing?: Tracing | undefined;
}

export class JobLog {
  readonly #logger: Logger;
  readonly #tracing: Tracing | undefined;

  constructor({ logger, tracing }: JobLogOptions) {
    this.#logger = logger;
    this.#tracing = tracing;
  }

  /**
   * Logs a job that became final. Two sentences, because lines are limited by sentence and endpoint: a flood of
   * completed jobs must not hide the failed ones. The error is left out: it may hold a user's data. The trace is known
   * if this replica gave the job to its worker.
   */
  ended(job: Job): void {
    if (!this.#logger.isLevelEnabled('info')) return;
    const { endpointId, id: jobId, state, delayMs, executionMs } = job;
    this.#logger.info(
      {
        endpointId,
        jobId,
        ...(job.workerId !== undefined && { attempt: job.attempt, workerId: job.workerId }),
        state,
        delayMs,
        executionMs,
        ...this.#tracing?.fieldsOf({ endpointId, jobId }),
      },
      state === 'COMPLETED' ? 'job completed' : 'job not completed',
    );
  }
}

/** Shows on stderr the state of a job that the command waits for, and why it still waits. */

import { printable } from '@slipway/kit/log/printable';
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { WorkerCounts } from '@slipway/proto/gen/slipway/v1/job_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Cli } from '../cli.ts';
import { shorten } from './present-job.ts';

/** Wait after which the reason is worth a call, in milliseconds. */
const UNUSUAL_MS = 2_000;

/** One for each wait. */
export class JobProgress {
  readonly #cli: Cli;
  readonly #endpointId: string;
  readonly #startedMs: number;
  #state: JobState = JobState.UNSPECIFIED;
  #stateMs = 0;
  /** Whether the crash of a worker has been explained; once in a wait is enough. */
  #explained = false;

  constructor(cli: Cli, endpointId: string) {
    this.#cli = cli;
    this.#endpointId = endpointId;
    this.#startedMs = cli.clock.monotonicMs();
  }

  /** Shows a job that is not final yet. */
  async show(job: Job): Promise<void> {
    const nowMs = this.#cli.clock.monotonicMs();
    if (job.state !== this.#state) this.#stateMs = nowMs;
    this.#state = job.state;
    const waitedMs = nowMs - this.#stateMs;
    const reason =
      job.state === JobState.IN_QUEUE && waitedMs > UNUSUAL_MS ? await this.#whyQueued() : progressText(job);
    const seconds = `${Math.round((nowMs - this.#startedMs) / 1_000)} s`;
    this.#cli.output.progress(`${job.id} is ${enumName(JobState, job.state)}${reason && `: ${reason}`}`, seconds);
  }

  async #whyQueued(): Promise<string> {
    try {
      const { workers, jobs } = await this.#cli.core.jobs.call((client) => client.getHealth, {
        endpointId: this.#endpointId,
      });
      const why = workers!.cannotRunReason || workers!.throttledReason;
      if (workers!.unhealthy > 0 && why === '') await this.#explainCrash();
      return `${workersText(workers!)}, ${jobs!.inQueue} in queue${why === '' ? '' : `; ${why}`}`;
    } catch {
      // Only a hint. The next read of the job reports any error.
      return '';
    }
  }

  /**
   * Notes why workers crash: a job that waits for them may never run. The worker that was counted may be replaced by
   * now, or core may not answer. Then a later call explains the next crash.
   */
  async #explainCrash(): Promise<void> {
    if (this.#explained) return;
    const { explanation } = await this.#cli.core.endpoints.call((client) => client.explain, {
      endpointId: this.#endpointId,
    });
    const { summary, workers } = explanation!;
    if (!workers.some(({ state }) => state === 'CRASHED')) return;
    this.#explained = true;
    this.#cli.output.note(`${printable(summary)} See more: slipway why ${this.#endpointId}`);
  }
}

function progressText({ state, output }: Job): string {
  return state === JobState.IN_PROGRESS && output !== undefined ? shorten(output.toString('utf8')) : '';
}

function workersText(workers: WorkerCounts): string {
  const { running, idle, initializing, throttled, unhealthy } = workers;
  const parts = Object.entries({ running, idle, initializing, throttled, unhealthy }).filter(
    ([, number]) => number > 0,
  );
  return parts.length === 0
    ? 'no workers'
    : `workers: ${parts.map(([word, number]) => `${number} ${word}`).join(', ')}`;
}

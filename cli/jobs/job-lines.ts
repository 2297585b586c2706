/** Reads piece by piece what workers wrote while they ran a job. */
import type { JobLogLine } from '@slipway/proto/gen/slipway/v1/job_log';
import type { Cli } from '../cli.ts';
import type { JobCursor } from './watch-job.ts';

export class JobLogReader {
  readonly #cli: Cli;
  readonly #jobRef: JobCursor;
  #attempt = 0;
  #offset = 0;
  /** Reason why the lines of an attempt cannot be read. Reported once. */
  #missing = '';

  constructor(cli: Cli, jobRef: JobCursor) {
    this.#cli = cli;
    this.#jobRef = jobRef;
  }

  /** Returns the lines since the last read. `over`: the job is final and no more lines will come. */
  async next(): Promise<{ lines: JobLogLine[]; over: boolean }> {
    const lines: JobLogLine[] = [];
    for (;;) {
      const request = { ...this.#jobRef, attempt: this.#attempt, offset: this.#offset, limit: 0 };
      const page = await this.#cli.core.jobs.call((client) => client.getJobLog, request);
      for (const line of page.lines) lines.push(line);
      this.#attempt = page.attempt;
      this.#offset = page.offset;
      if (page.missing !== '' && page.missing !== this.#missing)
        this.#cli.output.note(`Some lines of its workers cannot be read: ${page.missing}`);
      this.#missing = page.missing;
      if (!page.more) return { lines, over: page.over };
    }
  }
}

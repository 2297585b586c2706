/** Collects the lines of a job's log from their sources, and writes them. */

import { printableLog } from '@slipway/kit/log/printable';
import { delay } from '@slipway/kit/time/clock';
import type { Chunk, Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { enumName } from '@slipway/proto/wire/enum-name';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Cli } from '../cli.ts';
import { chunkDocument, readableError } from './present-job.ts';
import type { JobCursor } from './watch-job.ts';

type Source = 'status' | 'progress' | 'stream' | 'worker';

const SOURCE_WIDTH = 8;
/**
 * Lines in one page; then the interval, in milliseconds, and the most reads for lines that arrive after the end of a
 * job.
 */
const PAGE_LINES = 1_000;
const LAST_POLL_MS = 200;
const LAST_POLLS_MAX = 5;

/** Writes a chunk of streamed output. */
export function writeChunk(cli: Cli, chunk: Chunk): void {
  if (cli.output.json) cli.output.line(`{"source":"stream",${chunkDocument(chunk).slice(1)}`);
  else write(cli, 'stream', chunk.output.toString('utf8'));
}

/** Writes a text, one line of output for each of its lines. */
export function write({ output }: Cli, source: Source, text: string): void {
  if (output.json) return output.line(JSON.stringify({ source, text }));
  const label = output.style(source === 'worker' ? 'dim' : 'bold', source.padEnd(SOURCE_WIDTH));
  for (const line of printableLog(text).split('\n')) output.line(`${label} ${line}`);
}

/** Writes a job's state and progress whenever they change. */
export class JobLines {
  readonly #cli: Cli;
  #status = '';
  #progress = '';

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  write(job: Job): void {
    const { error } = job;
    const why = error === undefined ? '' : `: ${this.#cli.output.json ? error : readableError(error)}`;
    const status = enumName(JobState, job.state) + why;
    if (status !== this.#status) write(this.#cli, 'status', status);
    this.#status = status;
    const progress = job.state === JobState.IN_PROGRESS ? (job.output?.toString('utf8') ?? '') : '';
    if (progress !== '' && progress !== this.#progress) write(this.#cli, 'progress', progress);
    this.#progress = progress;
  }
}

/** Reads the lines that workers wrote while they ran the job. A lost job continues on another worker. */
export class WorkerLines {
  readonly #cli: Cli;
  readonly #jobRef: JobCursor;
  readonly #tail: number;
  #from: { attempt: number; offset: number } | undefined;
  #lastNote = '';
  #over = false;

  /** `tail`: number of lines to begin with. */
  constructor(cli: Cli, jobRef: JobCursor, tail: number) {
    this.#cli = cli;
    this.#jobRef = jobRef;
    this.#tail = tail;
  }

  /**
   * Returns the lines since the last read. A log that cannot be read is reported once and does not affect the job's own
   * lines.
   */
  async next(): Promise<string[]> {
    const isFirst = this.#from === undefined;
    const lines: string[] = [];
    try {
      while (!this.#over) {
        const { attempt, offset } = this.#from ?? { attempt: 0, offset: 0 };
        const page = await this.#cli.core.jobs.call((client) => client.getJobLog, {
          ...this.#jobRef,
          attempt,
          offset,
          limit: PAGE_LINES,
        });
        this.#from = { attempt: page.attempt, offset: page.offset };
        this.#over = page.over;
        this.#note(page.missing);
        lines.push(...page.lines.map(({ text }) => text));
        if (isFirst) lines.splice(0, lines.length - this.#tail);
        if (!page.more) break;
      }
    } catch (error) {
      // Core is away for a moment, or the command ends. The caller that waits for the job reports it.
      if (error instanceof CoreError) this.#note(`The lines of its worker cannot be read: ${error.message}`);
    }
    return lines;
  }

  /** Returns the remaining lines after the end of the job. The last ones arrive with a short delay. */
  async last(): Promise<string[]> {
    const lines = await this.next();
    for (let polls = 0; polls < LAST_POLLS_MAX && !this.#over; polls += 1) {
      await delay(this.#cli.clock, LAST_POLL_MS);
      lines.push(...(await this.next()));
    }
    return lines;
  }

  #note(text: string): void {
    if (text !== '' && text !== this.#lastNote) this.#cli.output.note(text);
    this.#lastNote = text;
  }
}

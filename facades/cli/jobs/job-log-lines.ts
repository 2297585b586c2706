/** Where the lines of a job's log come from, and how each is written. */
import { JobState } from '../../../proto/gen/slipway/v1/job.ts';
import type { Chunk, Job } from '../../../proto/gen/slipway/v1/job.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import type { Cli } from '../cli.ts';
import { LogLines, workerLog } from '../machines/worker-log.ts';
import { printableLog } from '../output/printable.ts';
import { nameOf } from '../output/words.ts';
import { chunkDocument, readableError } from './present-job.ts';

type Source = 'status' | 'progress' | 'stream' | 'worker';

const SOURCE_WIDTH = 8;

/** Writes a piece of streamed output. */
export function writeChunk(cli: Cli, chunk: Chunk): void {
  if (cli.output.json) cli.output.line(`{"source":"stream",${chunkDocument(chunk).slice(1)}`);
  else write(cli, 'stream', chunk.output.toString('utf8'));
}

/** Writes a text, a line of output for each of its lines. */
export function write({ output }: Cli, source: Source, text: string): void {
  if (output.json) return output.line(JSON.stringify({ source, text }));
  const label = output.look(source === 'worker' ? 'dim' : 'bold', source.padEnd(SOURCE_WIDTH));
  for (const line of printableLog(text).split('\n')) output.line(`${label} ${line}`);
}

/** A job's states and progress, each when it is new. */
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
    const status = nameOf(JobState, job.state) + why;
    if (status !== this.#status) write(this.#cli, 'status', status);
    this.#status = status;
    const progress = job.state === JobState.IN_PROGRESS ? job.output?.toString('utf8') ?? '' : '';
    if (progress !== '' && progress !== this.#progress) write(this.#cli, 'progress', progress);
    this.#progress = progress;
  }
}

/** The log of the worker that runs the job; a lost job goes on on another one. */
export class WorkerLines {
  readonly #cli: Cli;
  readonly #tail: number;
  #workerId = '';
  #lines: LogLines | undefined;

  constructor(cli: Cli, tail: number) {
    this.#cli = cli;
    this.#tail = tail;
  }

  of({ workerId = '' }: Job): void {
    if (workerId === this.#workerId || workerId === '') return;
    this.#workerId = workerId;
    this.#lines = new LogLines(workerLog(this.#cli, workerId), this.#tail);
  }

  /** A log that cannot be read is said once and takes nothing from the job's own lines. */
  async next(): Promise<string[]> {
    try {
      return await this.#lines?.next() ?? [];
    } catch (error) {
      // Core is away for a moment, or the command ends: whoever waits for the job says so.
      if (!(error instanceof CoreError)) return [];
      this.#lines = undefined;
      this.#cli.output.note(`The log of worker ${this.#workerId} cannot be read: ${error.message}`);
      return [];
    }
  }

  rest(): string[] {
    return this.#lines?.rest() ?? [];
  }
}

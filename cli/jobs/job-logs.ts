/** `slipway jobs logs`: a job's streamed output, its progress and its worker's lines, each with its source. */

import { delay } from '@slipway/kit/time/clock';
import type { Chunk, ChunkCursor, Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Cli } from '../cli.ts';
import { InterruptedError } from '../failures.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { JobLines, WorkerLines, write, writeChunk } from './job-log-lines.ts';
import { chunkDocument } from './present-job.ts';
import { jobArguments } from './run-job.ts';
import type { JobCursor } from './watch-job.ts';
import { watchJob } from './watch-job.ts';

/** Options of the command. */
export interface LogOptions {
  endpoint?: string;
  follow?: boolean;
  tail: number;
}

const CHUNKS_MAX = 1_000;
const POLL_MS = 500;
const FINAL: ReadonlySet<JobState> = new Set([
  JobState.COMPLETED,
  JobState.FAILED,
  JobState.CANCELLED,
  JobState.TIMED_OUT,
]);

/** Shows the log of a job. With --follow it continues until the job ends. */
export async function followLogs(cli: Cli, jobId: string, options: LogOptions): Promise<void> {
  const jobRef = { endpointId: await endpointIdOf(cli, options.endpoint), jobId };
  if (options.follow) return follow(cli, jobRef, options.tail);
  const { job } = await cli.core.jobs.call((client) => client.getJob, { ...jobRef, omitOutput: true, ttlMs: 0 });
  const chunks = await readAll(cli, jobRef);
  const log = new WorkerLines(cli, jobRef, options.tail);
  const lines = FINAL.has(job!.state) ? await log.last() : await log.next();
  const { output } = cli;
  if (output.json) {
    const stream = `[${chunks.map(chunkDocument).join(',')}]`;
    const id = JSON.stringify(job!.id);
    return output.line(
      `{"id":${id},"status":"${enumName(JobState, job!.state)}","stream":${stream},"worker":${JSON.stringify(lines)}}`,
    );
  }
  for (const line of lines) write(cli, 'worker', line);
  for (const chunk of chunks) write(cli, 'stream', chunk.output.toString('utf8'));
  write(cli, 'status', enumName(JobState, job!.state));
}

async function readAll(cli: Cli, jobRef: JobCursor): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  let cursor: ChunkCursor = { attempt: 0, number: 0 };
  for (;;) {
    const request = { ...jobRef, cursor, waitMs: 0, limit: CHUNKS_MAX };
    const page = await cli.core.jobs.call((client) => client.readChunks, request);
    chunks.push(...page.chunks);
    cursor = page.cursor ?? cursor;
    if (!page.more) return chunks;
  }
}

async function follow(cli: Cli, jobRef: JobCursor, tail: number): Promise<void> {
  const log = new WorkerLines(cli, jobRef, tail);
  const done = new AbortController();
  const writeLog = async (): Promise<void> => {
    for (const line of await log.next()) write(cli, 'worker', line);
  };
  const followLog = async (): Promise<void> => {
    for (; !done.signal.aborted; await delay(cli.clock, POLL_MS, done.signal)) await writeLog();
  };
  const job = new JobLines(cli);
  const logging = followLog();
  // Its failure is reported by the last read.
  logging.catch(() => undefined);
  try {
    const onJob = (seen: Job): void => job.write(seen);
    const last = await watchJob(cli, jobRef, { onJob, onChunk: (chunk) => writeChunk(cli, chunk) });
    done.abort();
    await logging;
    for (const line of await log.last()) write(cli, 'worker', line);
    job.write(last);
  } catch (error) {
    const again = `slipway jobs logs -f ${jobArguments(cli, jobRef)}`;
    if (error instanceof InterruptedError) cli.output.note(`The job continues. Follow it again: ${again}`);
    throw error;
  } finally {
    done.abort();
  }
}

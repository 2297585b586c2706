/** Follows one job to its end: its states, its progress, and every chunk of its streamed output once. */

import type { Chunk, ChunkCursor, Job, JobState } from '@slipway/proto/gen/slipway/v1/job';
import { isFinal } from '@slipway/proto/wire/final-state';
import type { Cli } from '../cli.ts';
import { retryWhileAway } from '../retry-while-away.ts';

/** Identity of a job. */
export interface JobCursor {
  endpointId: string;
  jobId: string;
}

/** Callbacks for the events of a job. */
interface JobEvents {
  /**
   * Called about once a second until the job is final. While it is IN_PROGRESS, `output` is the latest progress value.
   */
  onJob(job: Job): Promise<void> | void;
  /** Called in order. Chunks of a lost attempt are void as soon as a higher attempt begins. */
  onChunk(chunk: Chunk): void;
}

/** Interval between two reads of the job, in milliseconds. Its end is returned at once. */
const POLL_MS = 1_000;
const CHUNKS_WAIT_MS = 30_000;
const CHUNKS_MAX = 1_000;

/** Resolves with the final record, after the last chunk. */
export async function watchJob(cli: Cli, jobRef: JobCursor, events: JobEvents): Promise<Job> {
  const failed = new AbortController();
  const end = <Answer>(part: Promise<Answer>): Promise<Answer> =>
    part.catch((error: unknown) => {
      failed.abort(error);
      throw error;
    });
  const { signal } = failed;
  const [job] = await Promise.all([
    end(watchState(cli, jobRef, events, signal)),
    end(watchChunks(cli, jobRef, events, signal)),
  ]);
  return job;
}

async function watchState(cli: Cli, jobRef: JobCursor, events: JobEvents, signal: AbortSignal): Promise<Job> {
  const request = { ...jobRef, waitMs: POLL_MS };
  for (;;) {
    const { job } = await retryWhileAway(cli, () =>
      cli.core.jobs.call((client) => client.waitJob, request, { waitMs: POLL_MS, signal }),
    );
    if (isFinal(job!.state)) return job!;
    await events.onJob(job!);
    signal.throwIfAborted();
  }
}

async function watchChunks(cli: Cli, jobRef: JobCursor, events: JobEvents, signal: AbortSignal): Promise<JobState> {
  let cursor: ChunkCursor = { attempt: 0, number: 0 };
  for (;;) {
    const request = { ...jobRef, cursor, waitMs: CHUNKS_WAIT_MS, limit: CHUNKS_MAX };
    const page = await retryWhileAway(cli, () =>
      cli.core.jobs.call((client) => client.readChunks, request, { waitMs: CHUNKS_WAIT_MS, signal }),
    );
    for (const chunk of page.chunks) events.onChunk(chunk);
    cursor = page.cursor ?? cursor;
    if (isFinal(page.state) && !page.more) return page.state;
  }
}

/** Pages of the chunks of a job. */

import type { JobState } from '../../domain/jobs/job-state.ts';

/** A stored chunk. */
interface Chunk {
  attempt: number;
  number: number;
  output: Buffer;
  metrics: Buffer | undefined;
}

/** A position in a job's chunks. Reading continues strictly after it. */
export interface ChunkCursor {
  attempt: number;
  number: number;
}

/** A page of chunks. */
export interface ChunkPage {
  chunks: Chunk[];
  /** The job's state. If it is final and `more` is false, no chunk follows. */
  state: JobState;
  cursor: ChunkCursor;
  more: boolean;
  error: string | undefined;
}

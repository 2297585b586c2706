/** Streamed output as public JSON (docs/reference/api.md#stream), with every chunk's bytes as the handler sent them. */

import type { Chunk } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { ReadChunksResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { isFinal } from '@slipway/proto/wire/final-state';
import type { PublicStatus } from './present-job.ts';
import { publicStatus } from './present-job.ts';
import type { StreamShape } from './stream-shape.ts';

const COMMA = Buffer.from(',');
const OUTPUT = Buffer.from('{"output":');
const METRICS = Buffer.from(',"metrics":');
const CLOSE = Buffer.from('}');

/** Returns a chunk as `{"output": …}`, with `metrics` if the handler sent some. */
export function presentChunk(chunk: Chunk): Buffer {
  if (chunk.metrics === undefined) return Buffer.concat([OUTPUT, chunk.output, CLOSE]);
  return Buffer.concat([OUTPUT, chunk.output, METRICS, chunk.metrics, CLOSE]);
}

/** Converts a page of chunks to the chosen shape. */
export function presentChunks(page: ReadChunksResponse, shape: StreamShape): Buffer {
  const pieces: Buffer[] = [];
  for (const chunk of page.chunks) {
    if (pieces.length > 0) pieces.push(COMMA);
    pieces.push(presentChunk(chunk));
  }
  if (shape === 'array') return Buffer.concat([Buffer.from('['), ...pieces, Buffer.from(']')]);
  return Buffer.concat([Buffer.from(`{"status":"${streamStatus(page)}","stream":[`), ...pieces, Buffer.from(']}')]);
}

/**
 * Returns the status of a page. A final status comes with the last page only: the JavaScript client stops reading at
 * it.
 */
export function streamStatus({ state, more }: ReadChunksResponse): PublicStatus {
  return more && isFinal(state) ? publicStatus(JobState.IN_PROGRESS) : publicStatus(state);
}

/** Sizes of large parts of jobs. */
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import type { ReadChunksResponse } from '@slipway/proto/gen/slipway/v1/job_service';

/** Returns the bytes of output and error. */
export function jobBytes({ output, error }: Job): number {
  return (output?.length ?? 0) + (error?.length ?? 0);
}

/** Returns the bytes of a page. */
export function pageBytes({ chunks }: ReadChunksResponse): number {
  return chunks.reduce((bytes, { output, metrics }) => bytes + output.length + (metrics?.length ?? 0), 0);
}

/** Event ids of the live feed: `<attempt>-<number>`, the cursor of a chunk in the log of its job. */
import type { ChunkCursor } from '@slipway/proto/gen/slipway/v1/job';
import { CoreError } from '@slipway/proto/wire/reason';

/** Cursor before the first chunk. */
export const LOG_START: ChunkCursor = { attempt: 0, number: 0 };

const FORM = /^(\d{1,9})-(\d{1,9})$/;

/** Returns the event id of a cursor. */
export function chunkId({ attempt, number }: ChunkCursor): string {
  return `${attempt}-${number}`;
}

/** Returns the cursor in a Last-Event-ID header, or the start. Throws INVALID_REQUEST. */
export function parseChunkId(text: string | string[] | undefined): ChunkCursor {
  if (text === undefined || text === '') return LOG_START;
  const match = typeof text === 'string' ? FORM.exec(text.trim()) : null;
  if (match === null)
    throw new CoreError('INVALID_REQUEST', 'Last-Event-ID must be an id of this feed: <attempt>-<number>.');
  return { attempt: Number(match[1]), number: Number(match[2]) };
}

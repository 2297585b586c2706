/** Rows of the requests of batches, and of their results. */
import type { ItemState } from '../../domain/batches/batch.ts';
import type { Sql } from '../sql/database.ts';
import { numberArray, packBytes, textArray } from '../sql/pack.ts';

/** A request that was found in a file. */
export interface NewItem {
  number: number;
  customId: string;
  start: number;
  bytes: number;
}

/** The result of a request. */
export interface ItemResult {
  number: number;
  state: ItemState;
  side: 'OUTPUT' | 'ERROR';
  /** Encrypted pieces, each with its size before encryption. */
  pieces: readonly { bytes: number; sealed: Buffer }[];
  startedMs: number | null;
}

/** Inserts requests, and returns the numbers of those whose name was free. */
export async function insertItems(tx: Sql, batchId: string, items: readonly NewItem[]): Promise<Set<number>> {
  const rows = await tx<{ number: number }[]>`
    INSERT INTO batch_item (batch_id, number, custom_id, start, bytes)
    SELECT ${batchId}, * FROM unnest(${numberArray(items.map(({ number }) => number))}::int[],
      ${textArray(items.map(({ customId }) => customId))}::text[],
      ${numberArray(items.map(({ start }) => start))}::bigint[], ${numberArray(items.map(({ bytes }) => bytes))}::int[])
    ON CONFLICT (batch_id, custom_id) DO NOTHING RETURNING number`;
  return new Set(rows.map(({ number }) => number));
}

/** Inserts the pieces of results. Returns their bytes. */
export async function insertPieces(tx: Sql, batchId: string, results: readonly ItemResult[]): Promise<number> {
  const pieces = results.flatMap(({ number, side, pieces: own }) =>
    own.map((piece, index) => ({ ...piece, number, side, index })),
  );
  if (pieces.length === 0) return 0;
  const packed = packBytes(pieces.map(({ sealed }) => sealed));
  await tx`
    INSERT INTO batch_result (batch_id, side, number, piece, bytes, content_sealed)
    SELECT ${batchId}, g.side, g.number, g.piece, g.bytes, substring(${packed.blob}::bytea FROM g.start FOR g.length)
    FROM unnest(${textArray(pieces.map(({ side }) => side))}::text[],
      ${numberArray(pieces.map(({ number }) => number))}::int[],
      ${numberArray(pieces.map(({ index }) => index))}::int[], ${numberArray(pieces.map(({ bytes }) => bytes))}::int[],
      ${packed.starts}::int[], ${packed.lengths}::int[]) AS g(side, number, piece, bytes, start, length)`;
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Pieces of files, and what the files of an account take. */
import { sql } from '@slipway/drizzle/orm';
import type { Statement, Transaction } from '../sql/database.ts';

/** An encrypted piece of a file, with its offset. */
export interface FilePiece {
  start: number;
  bytes: number;
  sealed: Buffer;
}

/** Adds a piece at the end of a locked file. */
export async function addPiece(tx: Transaction, fileId: string, { start, bytes, sealed }: FilePiece): Promise<void> {
  await tx.execute(sql`INSERT INTO file_piece (file_id, start, bytes, content_sealed)
    VALUES (${fileId}, ${start}::bigint, ${bytes}::int, ${sealed})`);
  await tx.execute(sql`UPDATE account_file SET bytes = ${start + bytes}::bigint, written_at = now()
    WHERE id = ${fileId}`);
}

/** Returns the bytes of all files and results of an account. */
export async function usedBytes(statement: Statement, accountId: string): Promise<number> {
  const [row] = await statement<{ bytes: number }[]>`
    SELECT ((SELECT coalesce(sum(bytes), 0) FROM account_file
        WHERE account_id = ${accountId} AND batch_id IS NULL AND state <> 'DELETED')
      + (SELECT coalesce(sum(result_bytes), 0) FROM batch WHERE account_id = ${accountId}))::bigint AS bytes`;
  return Number(row!.bytes);
}

/** Pieces of files, and what the files of an account take. */
import { sql } from '@slipway/drizzle/orm';
import type { FileLimits } from '../../domain/batches/file.ts';
import type { Statement, Transaction } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';

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

/** Free bytes of an account up to which its additions wait for each other: far more than connections write at once. */
const SCARCE_BYTES = 256 * 1024 * 1024;

/**
 * Returns whether so many bytes more fit into an account's limit. Near the limit it locks the account until the end of
 * the transaction, so that additions at the same moment do not exceed it together. Far from it uploads stay parallel.
 */
export async function hasSpace(
  tx: Transaction,
  accountId: string,
  bytes: number,
  { bytes: bytesMax }: Pick<FileLimits, 'bytes'>,
): Promise<boolean> {
  const statement = statementOf(tx);
  if ((await usedBytes(statement, accountId)) + bytes <= bytesMax - SCARCE_BYTES) return true;
  await statement`SELECT FROM account WHERE id = ${accountId} FOR NO KEY UPDATE`;
  return (await usedBytes(statement, accountId)) + bytes <= bytesMax;
}

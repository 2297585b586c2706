/** Deletes files and batches whose time is over, in bounded steps. */
import { BATCH_KEPT_MS } from '../../domain/batches/batch.ts';
import { UPLOAD_SECONDS_MAX } from '../../domain/batches/file.ts';
import type { Database, Sql } from '../sql/database.ts';

/** Rows of one step. A piece has up to 1 MiB. */
const PIECES_MAX = 200;
const ROWS_MAX = 5_000;

export class BatchReaperStore {
  readonly #sql: Sql;

  constructor({ sql }: Pick<Database, 'sql'>) {
    this.#sql = sql;
  }

  /** Deletes a part of one file that is deleted, has expired or was given up. Returns false if there is none. */
  async reapFile(): Promise<boolean> {
    // Marked in the statement that finds it: an upload that ends at this moment is kept. Marked, it cannot be reached
    // any more, so its parts may be deleted one after the other.
    const [file] = await this.#sql<{ id: string; batch_id: string | null; side: string | null }[]>`
      WITH due AS MATERIALIZED (
        SELECT id, batch_id, side, state FROM account_file f WHERE (state = 'DELETED' OR expires_at <= now()
            OR (state = 'UPLOADING' AND written_at < now() - ${UPLOAD_SECONDS_MAX}::int * interval '1 s'))
          AND NOT EXISTS (SELECT FROM batch b WHERE b.file_id = f.id AND b.ended_at IS NULL)
        LIMIT 1 FOR UPDATE OF f SKIP LOCKED
      ), marked AS (
        UPDATE account_file a SET state = 'DELETED' FROM due d WHERE a.id = d.id AND d.state <> 'DELETED'
      )
      SELECT id, batch_id, side FROM due`;
    if (!file) return false;
    const { id, batch_id: batchId, side } = file;
    const removed =
      batchId === null
        ? await this.#sql`
          DELETE FROM file_piece WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM file_piece WHERE file_id = ${id} LIMIT ${PIECES_MAX}))`
        : await this.#removeResults(batchId, side!);
    if (removed.count === 0) await this.#sql`DELETE FROM account_file WHERE id = ${id}`;
    return true;
  }

  /** Deletes a part of one batch that ended long ago. Returns false if there is none. */
  async reapBatch(): Promise<boolean> {
    const [old] = await this.#sql<{ id: string; file_id: string; kind: string }[]>`
      SELECT id, file_id, kind FROM batch WHERE ended_at < now() - ${BATCH_KEPT_MS}::bigint * interval '1 ms' LIMIT 1`;
    if (!old) return false;
    const { id } = old;
    const results = await this.#removeResults(id, '');
    if (results.count > 0) return true;
    const items = await this.#sql`
      DELETE FROM batch_item WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM batch_item WHERE batch_id = ${id} LIMIT ${ROWS_MAX}))`;
    if (items.count > 0) return true;
    if (old.kind === 'ENDPOINT') await this.#sql`UPDATE account_file SET state = 'DELETED' WHERE id = ${old.file_id}`;
    await this.#sql`DELETE FROM batch WHERE id = ${id}`;
    return true;
  }

  /** Removes some results of a batch. Empty side: of both. */
  #removeResults(batchId: string, side: string) {
    return this.#sql`
      WITH gone AS (
        DELETE FROM batch_result WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM batch_result WHERE batch_id = ${batchId} AND (${side} = '' OR side = ${side})
          LIMIT ${PIECES_MAX})) RETURNING bytes
      ), counted AS (
        UPDATE batch SET result_bytes = result_bytes - (SELECT coalesce(sum(bytes), 0) FROM gone) WHERE id = ${batchId}
      )
      SELECT FROM gone`;
  }
}

/**
 * Deletes expired jobs, purged queues, and jobs of deleted endpoints, in bounded batches. Several replicas share the
 * work without waiting for each other.
 */

import type { Database, Fragment, Sql } from '../sql/database.ts';
import { inTransaction } from '../sql/database.ts';
import type { DeletedJobs, DeletedRow } from './deletion-rows.ts';
import { deletedJobs, removeJobs } from './deletion-rows.ts';
import { isLive } from './rows.ts';

export class DeletionStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /** Returns whether an Idempotency-Key or a job has expired at `afterUs` or later (see reapExpired). */
  async isDue(afterUs = 0): Promise<boolean> {
    const [row] = await this.#hot<{ due: boolean }[]>`
      SELECT EXISTS (SELECT FROM job WHERE expires_at <= now() AND expires_at >= ${instant(this.#hot, afterUs)})
        OR EXISTS (SELECT FROM idempotency_key WHERE expires_at <= now())
        OR EXISTS (SELECT FROM creation_key WHERE expires_at <= now()) AS due`;
    return row!.due;
  }

  /**
   * Deletes up to `limit` expired jobs in any state, with all their rows. Reads only jobs that expired at `afterUs`
   * or later, in microseconds since 1970: deleted rows stay in the index until vacuum removes them, and a scan from
   * the start would step over all of them. `lastUs`: expiry of the last job read.
   */
  async reapExpired(limit: number, afterUs = 0): Promise<{ deleted: DeletedJobs[]; lastUs: number }> {
    const rows = await remove(
      this.#hot,
      this.#hot`
      SELECT endpoint_id, id FROM job WHERE expires_at <= now() AND expires_at >= ${instant(this.#hot, afterUs)}
      ORDER BY expires_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED`,
    );
    return { deleted: deletedJobs(rows), lastUs: Math.max(afterUs, ...rows.map((row) => row.expires_us)) };
  }

  /** Deletes up to `limit` queued jobs of one priority with positions in (after, upTo]. */
  async purgeQueued(endpointId: string, lowPriority: boolean, range: { after: number; upTo: number }, limit: number) {
    const rows = await remove(
      this.#hot,
      this.#hot`
      SELECT endpoint_id, id FROM job
      WHERE endpoint_id = ${endpointId} AND low_priority = ${lowPriority} AND state = 'IN_QUEUE'
        AND position > ${range.after} AND position <= ${range.upTo}
      ORDER BY position LIMIT ${limit}::int FOR UPDATE SKIP LOCKED`,
    );
    return {
      deleted: deletedJobs(rows),
      live: rows.filter((row) => row.live).length,
      last: Math.max(range.after, ...rows.map((row) => row.position)),
    };
  }

  /** Returns a position that no queued job has passed yet. */
  async lastPosition(): Promise<number> {
    const [row] = await this.#hot<{ last: number }[]>`SELECT last_value AS last FROM job_position_seq`;
    return row?.last ?? 0;
  }

  /** Deletes up to `limit` jobs of an endpoint in any state. */
  async deleteOf(endpointId: string, limit: number): Promise<DeletedJobs[]> {
    return deletedJobs(
      await remove(
        this.#hot,
        this.#hot`
      SELECT endpoint_id, id FROM job WHERE endpoint_id = ${endpointId} ORDER BY id LIMIT ${limit}::int FOR UPDATE`,
      ),
    );
  }

  /**
   * Returns up to `limit` deleted endpoints that still have jobs. Costs one lookup in the primary key for each
   * endpoint with jobs: fine from time to time, too expensive for every second. No job exists before its endpoint.
   */
  async endpointsGone(limit: number): Promise<string[]> {
    const rows = await this.#hot<{ id: string }[]>`
      WITH RECURSIVE owners AS (
        (SELECT endpoint_id AS id FROM job ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.endpoint_id FROM job j WHERE j.endpoint_id > o.id ORDER BY j.endpoint_id LIMIT 1) FROM owners o
          WHERE o.id IS NOT NULL
      )
      SELECT o.id FROM owners o WHERE o.id IS NOT NULL AND NOT EXISTS (SELECT FROM endpoint e
        WHERE e.id = ANY(ARRAY[o.id])) LIMIT ${limit}::int`;
    return rows.map((row) => row.id);
  }

  /**
   * Deletes up to `limit` expired Idempotency-Keys; a key whose job got a longer life is extended instead. Returns the
   * number of both.
   */
  async reapIdempotencyKeys(limit: number): Promise<number> {
    const [row] = await this.#hot<{ count: number }[]>`
      WITH due AS MATERIALIZED (
        SELECT k.endpoint_id, k.key_hash,
          (SELECT j.expires_at FROM job j WHERE j.endpoint_id = k.endpoint_id AND j.id = k.job_id
            AND ${isLive(this.#hot)}) AS until
        FROM idempotency_key k WHERE k.expires_at <= now() ORDER BY k.expires_at
          LIMIT ${limit}::int FOR UPDATE SKIP LOCKED
      ), kept AS (
        UPDATE idempotency_key k SET expires_at = d.until FROM due d
        WHERE d.until IS NOT NULL AND k.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND k.key_hash = d.key_hash
      ), gone AS (
        DELETE FROM idempotency_key k USING due d
        WHERE d.until IS NULL AND k.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND k.key_hash = d.key_hash
      )
      SELECT count(*) AS count FROM due`;
    return row!.count;
  }

  /** Deletes up to `limit` expired Idempotency-Keys of creations. Returns their number. */
  async reapCreationKeys(limit: number): Promise<number> {
    const { count } = await this.#hot`
      DELETE FROM creation_key k USING (
        SELECT account_id, action, key_hash FROM creation_key WHERE expires_at <= now()
        ORDER BY expires_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED
      ) d WHERE k.account_id = d.account_id AND k.action = d.action AND k.key_hash = d.key_hash`;
    return count;
  }
}

/** Deletes the jobs that `due` selects and locks. */
async function remove(sql: Sql, due: Fragment): Promise<DeletedRow[]> {
  return inTransaction(sql, (tx) => removeJobs(tx, due));
}

function instant(sql: Sql, microseconds: number): Fragment {
  return sql`(timestamptz 'epoch' + ${microseconds}::bigint * interval '1 microsecond')`;
}

/**
 * Inserts jobs with their inputs, many in one statement. Jobs for which a worker is free are claimed by the same
 * statement.
 */
import type { Database, Sql } from '../sql/database.ts';
import { inTransaction } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';
import type { EndedJob } from './ended-rows.ts';
import { insertEnded } from './ended-rows.ts';
import type { JobWithSlot, NewJob, StoredJob, StoredRow } from './inserted-rows.ts';
import { insertJobs, storedFromRow } from './inserted-rows.ts';
import type { RecordedOutcome } from './outcome-store.ts';
import { isLive, jobColumns } from './rows.ts';

/** A submission with an Idempotency-Key. */
interface KeyedJob {
  job: NewJob;
  /** SHA-256 of the caller's key. */
  keyHash: Buffer;
  /** SHA-256 of the submitted body. */
  bodyHash: Buffer;
}

/** `made`: stored now. `existing`: the job that this key made earlier. `reused`: the key made a job of another body. */
type KeyedResult = { is: 'made'; stored: StoredJob } | { is: 'existing'; jobId: string } | { is: 'reused' };

export class SubmissionStore {
  readonly #hot: Sql;
  readonly #sql: Sql;

  constructor({ hot, sql }: Pick<Database, 'hot' | 'sql'>) {
    this.#hot = hot;
    this.#sql = sql;
  }

  /**
   * Inserts jobs in order and returns the new ones. A job whose id exists already is left as it is. A job with a slot
   * is inserted as attempt 1, IN_PROGRESS, under `claimId`. Idempotent.
   */
  insert(placements: readonly JobWithSlot[], claimId: string): Promise<StoredJob[]> {
    return insertJobs(this.#hot, placements, claimId);
  }

  /** Inserts jobs together with their outcomes. See ended-rows.ts. */
  insertEnded(jobs: readonly EndedJob[]): Promise<RecordedOutcome[]> {
    return insertEnded(this.#hot, jobs);
  }

  /** Returns jobs that exist already, without expired ones. */
  async read(keys: readonly { endpointId: string; id: string }[]): Promise<StoredJob[]> {
    const rows = await this.#hot<StoredRow[]>`
      SELECT ${jobColumns(this.#hot)}, j.position, j.claim_id
      FROM unnest(${textArray(keys.map((key) => key.endpointId))}::text[],
        ${textArray(keys.map((key) => key.id))}::text[]) AS g(endpoint_id, id)
      JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id
      WHERE ${isLive(this.#hot)}`;
    return rows.map(storedFromRow);
  }

  /** Stores a job under its key, or returns the job that the key made. Key and job are stored in one transaction. */
  async insertKeyed(keyed: KeyedJob, claimId: string): Promise<KeyedResult> {
    const { job, keyHash, bodyHash } = keyed;
    return await inTransaction(this.#sql, async (tx): Promise<KeyedResult> => {
      // A second submission waits here until the first has committed. Waiting inside the INSERT would not do: it
      // would look for the first one's job in a snapshot from before that commit, find none and take the key.
      await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${job.endpointId} ${keyHash.toString('hex')}`}, 0))`;
      // The key of a deleted job is free again.
      const taken = await tx`
        INSERT INTO idempotency_key AS k (endpoint_id, key_hash, body_hash, job_id, expires_at)
        VALUES (${job.endpointId}, ${keyHash}, ${bodyHash}, ${job.id}, now() + ${job.ttlMs}::bigint * interval '1 ms')
        ON CONFLICT (endpoint_id, key_hash) DO UPDATE
          SET body_hash = excluded.body_hash, job_id = excluded.job_id, expires_at = excluded.expires_at
          WHERE NOT EXISTS (SELECT FROM job j WHERE j.endpoint_id = k.endpoint_id AND j.id = k.job_id
            AND j.expires_at > now())`;
      if (taken.count === 0) {
        const [row] = await tx<{ job_id: string; same: boolean }[]>`
          SELECT job_id, body_hash = ${bodyHash} AS same FROM idempotency_key WHERE endpoint_id = ${job.endpointId}
            AND key_hash = ${keyHash}`;
        return row?.same ? { is: 'existing', jobId: row.job_id } : { is: 'reused' };
      }
      const [stored] = await insertJobs(tx, [{ job, slot: undefined }], claimId);
      return stored ? { is: 'made', stored } : { is: 'existing', jobId: job.id };
    });
  }
}

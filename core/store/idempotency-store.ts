/** Remembers which job an Idempotency-Key made, for as long as that job lives. */
import type { Sql } from './database.ts';
import { insertJobs } from './insert-store.ts';
import type { NewJob, StoredJob } from './insert-store.ts';

/** A submission with its key. */
export interface KeyedJob {
  job: NewJob;
  /** SHA-256 of the caller's key. */
  keyHash: Buffer;
  /** SHA-256 of all that was submitted. */
  bodyHash: Buffer;
}

/** `made`: stored now. `existing`: the job that this key made earlier. `reused`: the key made a job of another body. */
export type KeyedResult = { is: 'made'; stored: StoredJob } | { is: 'existing'; jobId: string } | { is: 'reused' };

/** Stores a job under its key, or finds the job that the key made. One transaction: the key and its job appear together. */
export async function insertKeyedJob(sql: Sql, keyed: KeyedJob, claimId: string): Promise<KeyedResult> {
  const { job, keyHash, bodyHash } = keyed;
  return await sql.begin(async (tx): Promise<KeyedResult> => {
    // A second submission waits here until the first has committed. Waiting inside the INSERT would not do: it would look for the first one's
    // job in a snapshot from before that commit, find none and take the key.
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${job.endpointId} ${keyHash.toString('hex')}`}, 0))`;
    // A key whose job is gone is free again.
    const taken = await tx`
      INSERT INTO idempotency_key AS k (endpoint_id, key_hash, body_hash, job_id, expires_at)
      VALUES (${job.endpointId}, ${keyHash}, ${bodyHash}, ${job.id}, now() + ${job.ttlMs}::bigint * interval '1 ms')
      ON CONFLICT (endpoint_id, key_hash) DO UPDATE
        SET body_hash = excluded.body_hash, job_id = excluded.job_id, expires_at = excluded.expires_at
        WHERE NOT EXISTS (SELECT FROM job j WHERE j.endpoint_id = k.endpoint_id AND j.id = k.job_id AND j.expires_at > now())`;
    if (taken.count === 0) {
      const [row] = await tx<{ job_id: string; same: boolean }[]>`
        SELECT job_id, body_hash = ${bodyHash} AS same FROM idempotency_key WHERE endpoint_id = ${job.endpointId} AND key_hash = ${keyHash}`;
      return row?.same ? { is: 'existing', jobId: row.job_id } : { is: 'reused' };
    }
    const [stored] = await insertJobs(tx as unknown as Sql, [{ job, slot: undefined }], claimId);
    return stored ? { is: 'made', stored } : { is: 'existing', jobId: job.id };
  }) as KeyedResult;
}

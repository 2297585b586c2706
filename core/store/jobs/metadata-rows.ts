/**
 * Metadata of jobs: parts of the statements that insert and delete jobs. A statement for jobs without metadata has none
 * of these parts.
 */
import type { Fragment, Sql } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';
import type { NewJob } from './inserted-rows.ts';

/** Parts of an insert (inserted-rows.ts). All are empty if no job has metadata. */
interface DescribedJobs {
  /** The row set `described`: endpoint_id, id, metadata. */
  rows: Fragment;
  /** Column of job_input, its value, and the join that the value needs. */
  column: Fragment;
  value: Fragment;
  joined: Fragment;
  /** Inserts the pairs of the jobs in `stored`. */
  pairs: Fragment;
}

/** Returns the parts of the insert of these jobs. */
export function describedJobs(sql: Sql, jobs: readonly NewJob[]): DescribedJobs {
  const described = jobs.filter(({ metadata }) => metadata !== undefined);
  if (described.length === 0) return { rows: sql``, column: sql``, value: sql``, joined: sql``, pairs: sql`` };
  return {
    rows: sql`, described AS MATERIALIZED (
      SELECT * FROM unnest(${textArray(described.map(({ endpointId }) => endpointId))}::text[],
        ${textArray(described.map(({ id }) => id))}::text[],
        ${textArray(described.map(({ metadata }) => metadata))}::text[]) AS d(endpoint_id, id, metadata)
    )`,
    column: sql`, metadata`,
    value: sql`, d.metadata`,
    joined: sql` LEFT JOIN described d ON d.endpoint_id = g.endpoint_id AND d.id = g.id`,
    pairs: sql`, pairs AS (
      INSERT INTO job_metadata (endpoint_id, job_id, key, value, position)
      SELECT s.endpoint_id, s.id, p.key, p.value, s.position
      FROM described d JOIN stored s ON s.endpoint_id = d.endpoint_id AND s.id = d.id
      CROSS JOIN LATERAL json_each_text(d.metadata::json) AS p
    )`,
  };
}

/** Deletes the pairs of jobs. Does nothing for no jobs. */
export async function removeMetadata(tx: Sql, jobs: readonly { endpoint_id: string; job_id: string }[]): Promise<void> {
  if (jobs.length === 0) return;
  await tx`
    DELETE FROM job_metadata m
    USING unnest(${textArray(jobs.map((job) => job.endpoint_id))}::text[],
      ${textArray(jobs.map((job) => job.job_id))}::text[]) AS g(endpoint_id, id)
    WHERE m.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND m.job_id = g.id`;
}

/** Returns stored metadata as pairs. `undefined` if there is none. */
export function metadataOf(text: string | null | undefined): Record<string, string> | undefined {
  return text === null || text === undefined ? undefined : (JSON.parse(text) as Record<string, string>);
}

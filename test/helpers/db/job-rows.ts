/** Reads rows as they are stored, and moves deadlines so that no test has to wait for them. */
import postgres from 'postgres';
import type { Test } from 'tap';
import { waitFor } from '../time/wait-for.ts';

export interface StoredJob {
  state: string;
  attempt: number;
  execution_timeout_ms: string;
  retention_ms: string;
  low_priority: boolean;
  /** Milliseconds from submission to the ttl deadline. */
  ttl_ms: number;
  /** Milliseconds from the end of the job to its expiry; null before. */
  kept_ms: number | null;
  /** Milliseconds from now to its expiry. */
  left_ms: number;
}

/** Opens a connection of the test's own, closed when the test ends. */
export function jobRows(t: Test, url: string) {
  const sql = postgres(url, { max: 4, onnotice: () => undefined });
  t.teardown(() => sql.end());
  const ms = (span: string) => sql.unsafe(`extract(epoch FROM ${span})::float8 * 1000`);
  return {
    sql,
    /** The row of a job; undefined when there is none. */
    job: async (id: string): Promise<StoredJob | undefined> => {
      const [row] = await sql<StoredJob[]>`
        SELECT state, attempt, execution_timeout_ms, retention_ms, low_priority,
          ${ms('ttl_deadline_at - submitted_at')} AS ttl_ms,
          ${ms('expires_at - finished_at')} AS kept_ms, ${ms('expires_at - now()')} AS left_ms
        FROM job WHERE id = ${id}`;
      return row;
    },
    /** How many jobs there are, of one endpoint or of all. */
    count: async (endpointId?: string): Promise<number> => {
      const [row] = await sql<
        { n: number }[]
      >`SELECT count(*)::int AS n FROM job ${endpointId ? sql`WHERE endpoint_id = ${endpointId}` : sql``}`;
      return row!.n;
    },
    /** Ids of all jobs. Their number can fall meanwhile: results of /runsync are kept for a minute. */
    ids: async (): Promise<string[]> => (await sql<{ id: string }[]>`SELECT id FROM job`).map(({ id }) => id),
    /** Makes the ttl of a job elapse now. */
    elapseTtl: async (id: string): Promise<void> => {
      await sql`UPDATE job SET ttl_deadline_at = now(), expires_at = now() WHERE id = ${id}`;
    },
    /** Makes the retention of a finished job end now. */
    elapseRetention: async (id: string): Promise<void> => {
      await sql`UPDATE job SET expires_at = now() WHERE id = ${id} AND finished_at IS NOT NULL`;
    },
    /** Makes the execution timeout of a running job elapse now. */
    elapseExecution: async (id: string): Promise<void> => {
      await sql`UPDATE job SET execution_deadline_at = now() WHERE id = ${id} AND state = 'IN_PROGRESS'`;
    },
    /** Changes a running job: it was submitted at a whole millisecond and started this many microseconds later. */
    startedAfterUs: async (id: string, waitedUs: number): Promise<void> => {
      await sql`UPDATE job SET submitted_at = date_trunc('milliseconds', submitted_at),
        started_at = date_trunc('milliseconds', submitted_at) + ${waitedUs}::int * interval '1 microsecond'
          WHERE id = ${id} AND state = 'IN_PROGRESS'`;
    },
    /** Waits until nothing of the job is stored any more. */
    removed: (id: string): Promise<boolean> =>
      waitFor(`all rows of job ${id} to be removed`, async () => {
        const [row] = await sql<{ n: number }[]>`
        SELECT (SELECT count(*) FROM job WHERE id = ${id})::int + (SELECT count(*) FROM job_input
          WHERE job_id = ${id})::int
          + (SELECT count(*) FROM job_output WHERE job_id = ${id})::int + (SELECT count(*) FROM job_chunk
            WHERE job_id = ${id})::int AS n`;
        return row!.n === 0;
      }),
  };
}

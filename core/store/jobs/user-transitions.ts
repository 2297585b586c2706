/**
 * Transitions that users make, for one job or many. Each is a statement that returns the moved jobs. `which` selects
 * rows of job j: the rest of the UPDATE after SET, FROM if needed and WHERE. For several jobs it must select in the
 * order in which outcomes lock them (domain/job.ts, byJob).
 */
import type { Fragment, Sql } from '../sql/database.ts';
import { queueCountersAdded } from './endpoint-counters.ts';
import { rememberedOfUser } from './lost-attempt-rows.ts';
import { isLive, jobColumns } from './rows.ts';

/** Cancels jobs; machine_id is set for jobs that ran. Earlier progress is removed as in outcome-side-effects.ts. */
export function cancelled(sql: Sql, which: Fragment): Fragment {
  return sql`
    WITH moved AS (
      UPDATE job j SET state = 'CANCELLED', finished_at = now(), execution_deadline_at = NULL, claim_id = NULL,
        expires_at = least(j.ttl_deadline_at, now() + j.retention_ms * interval '1 ms')
      ${which} AND ${isLive(sql)}
      RETURNING ${jobColumns(sql)}, j.machine_id, j.low_priority
    ), emptied AS (
      INSERT INTO job_output (endpoint_id, job_id) SELECT m.endpoint_id, m.id FROM moved m
        WHERE m.machine_id IS NOT NULL
      ON CONFLICT (endpoint_id, job_id) DO UPDATE SET output = NULL, error = NULL
    ), ${queueCountersAdded(sql, -1, sql`SELECT endpoint_id, low_priority FROM moved WHERE machine_id IS NULL`)}
    SELECT * FROM moved`;
}

/** Queues jobs again at a position. Deletes output, chunks and stream cursor; the attempt is kept in the history. */
export function requeued(sql: Sql, position: Fragment, which: Fragment): Fragment {
  return sql`
    WITH moved AS (
      UPDATE job j SET state = 'IN_QUEUE', position = ${position}, retries = 0, started_at = NULL, finished_at = NULL,
        machine_id = NULL, worker_id = NULL, expires_at = j.ttl_deadline_at
      ${which} AND ${isLive(sql)}
      RETURNING ${jobColumns(sql)}, j.position, j.low_priority
    ), ${rememberedOfUser(sql)}, outputs AS (
      DELETE FROM job_output t USING moved m WHERE t.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND t.job_id = m.id
    ), chunks AS (
      DELETE FROM job_chunk t USING moved m WHERE t.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND t.job_id = m.id
    ), cursors AS (
      DELETE FROM stream_cursor t USING moved m WHERE t.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND t.job_id = m.id
    ), ${queueCountersAdded(sql, 1, sql`SELECT endpoint_id, low_priority FROM moved`)}
    SELECT * FROM moved`;
}

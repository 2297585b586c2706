/**
 * Side effects of a job's state change, as parts of the statement that makes the change. Each part reads the row set
 * `moved`: endpoint_id, id, state, attempt, retries, counted, low_priority, has_webhook, worker_id, delay_ms,
 * execution_ms, output, error.
 */
import { ANNOUNCED_STATES } from '../../domain/jobs/job-state.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import { samePart } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';
import { countersAdded } from './endpoint-counters.ts';

/**
 * Returns output, webhook and counters of the rows in `moved` as further WITH items (starting with a comma). `queues`:
 * some may go back into their queue. Without it that part is left out, because each part costs even without rows.
 * `isOne`: `moved` has at most one row, so nothing is grouped.
 */
export function sideEffects(sql: Sql, { queues, isOne = false }: { queues: boolean; isOne?: boolean }): Fragment {
  if (queues) return ofAny(sql);
  return isOne ? ofOneFinal(sql) : ofFinal(sql);
}

const ofFinal = samePart((sql) => sql`, ${outputs(sql)}, ${webhooks(sql)}, ${counters(sql)}`);
const ofOneFinal = samePart((sql) => sql`, ${outputs(sql)}, ${webhooks(sql)}, ${counterOfOne(sql)}`);
const ofAny = samePart((sql) => sql`${ofFinal(sql)}, ${cut(sql)}`);

/**
 * Replaces stored outputs: a final job shows its own output and error, a queued one nothing. This statement does not
 * see progress that was committed while it waited for the job's row. Only an upsert meets it, so a row is emptied and
 * never deleted. Chunks that came the same way stay, and readers pass over them.
 */
function outputs(sql: Sql) {
  return sql`stored AS (
      INSERT INTO job_output (endpoint_id, job_id, output, error)
      SELECT m.endpoint_id, m.id, CASE WHEN m.state <> 'IN_QUEUE' THEN m.output END, CASE WHEN m.state <> 'IN_QUEUE'
        THEN m.error END FROM moved m
      ON CONFLICT (endpoint_id, job_id) DO UPDATE SET output = excluded.output, error = excluded.error
    )`;
}

function cut(sql: Sql) {
  return sql`cut AS (
      DELETE FROM job_chunk c USING moved m WHERE m.state = 'IN_QUEUE' AND c.endpoint_id = ANY(ARRAY[m.endpoint_id])
        AND c.job_id = m.id
    )`;
}

/**
 * Builds webhook calls. The body is the status record with input, webhook and metadata
 * (docs/reference/api.md#webhooks). Input and output are copied byte for byte inside the database. The encrypted
 * webhook is inserted when the call is made. There is no call once the endpoint is deleted: its signing secret is
 * deleted too.
 */
function webhooks(sql: Sql) {
  return sql`announced AS (
      INSERT INTO webhook_delivery (endpoint_id, job_id, url, url_sealed, body)
      SELECT m.endpoint_id, m.id, ${announcement(sql)}
      FROM moved m JOIN job_input i ON i.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND i.job_id = m.id
      WHERE m.has_webhook AND m.state = ANY(${textArray(ANNOUNCED_STATES)}::text[])
        AND num_nonnulls(i.webhook, i.webhook_sealed) > 0
        AND EXISTS (SELECT FROM endpoint e WHERE e.id = ANY(ARRAY[m.endpoint_id]))
    )`;
}

/**
 * Returns the address, encrypted address and body of a webhook call of job m with input i. One expression, so that a
 * repeated call has the same content as the first.
 */
export function announcement(sql: Sql): Fragment {
  return sql`coalesce(i.webhook, ''), i.webhook_sealed,
    convert_to(concat('{"id":', to_json(m.id), ',"status":"', m.state, '"',
      ',"delayTime":' || m.delay_ms::bigint, ',"executionTime":' || m.execution_ms::bigint,
      ',"workerId":' || to_json(m.worker_id),
      CASE WHEN m.retries > 0 THEN ',"retries":' || m.retries END, ',"error":' || to_json(m.error),
      ',"webhook":' || to_json(i.webhook), ',"metadata":' || i.metadata, ',"input":'), 'UTF8')
    || i.input || CASE WHEN m.output IS NULL THEN ''::bytea
      ELSE convert_to(',"output":', 'UTF8') || m.output END || convert_to('}', 'UTF8')`;
}

/** Counts jobs that ended or were requeued. */
function counters(sql: Sql) {
  return countersAdded(
    sql,
    sql`
    SELECT endpoint_id, count(*) FILTER (WHERE state = 'COMPLETED') AS completed,
      count(*) FILTER (WHERE state IN ('FAILED', 'TIMED_OUT')) AS failed,
      count(*) FILTER (WHERE state = 'IN_QUEUE' AND counted) AS retried,
      count(*) FILTER (WHERE state = 'IN_QUEUE') AS queued,
      count(*) FILTER (WHERE state = 'IN_QUEUE' AND low_priority) AS queued_low, 0 AS claimed_to
    FROM moved GROUP BY endpoint_id`,
  );
}

/** Counts an ended job, for statements that end at most one. */
function counterOfOne(sql: Sql) {
  return countersAdded(
    sql,
    sql`SELECT endpoint_id, (state = 'COMPLETED')::int AS completed, (state IN ('FAILED', 'TIMED_OUT'))::int AS failed,
    0 AS retried, 0 AS queued, 0 AS queued_low, 0 AS claimed_to FROM moved`,
  );
}

/**
 * Maintains the counters of endpoints (drizzle/schema/endpoint.ts, endpointTally) in the statements that change them,
 * so that no queue is counted to know its length.
 */
import type { Fragment, Sql } from '../sql/database.ts';

/**
 * Each connection adds to its own row of an endpoint's counters, so that no statement waits for another's commit.
 * Sixteen rows suffice for the connections of two replicas.
 */
const SLOTS = 16;

/**
 * Returns a WITH item (without a comma) that adds to the counters. `changes` selects endpoint_id, completed, failed,
 * retried, queued, queued_low, claimed_to, one row per endpoint. Ordered by endpoint, so that statements never
 * deadlock.
 */
export function countersAdded(sql: Sql, changes: Fragment) {
  return sql`tallied AS (
      INSERT INTO endpoint_tally AS t (endpoint_id, slot, completed, failed, retried, queued, queued_low, claimed_to)
      SELECT c.endpoint_id, pg_backend_pid() % ${sql.unsafe(String(SLOTS))}, c.completed, c.failed, c.retried, c.queued,
        c.queued_low, c.claimed_to
      FROM (${changes}) AS c ORDER BY c.endpoint_id
      ON CONFLICT (endpoint_id, slot) DO UPDATE SET completed = t.completed + excluded.completed,
        failed = t.failed + excluded.failed,
        retried = t.retried + excluded.retried, queued = t.queued + excluded.queued,
        queued_low = t.queued_low + excluded.queued_low,
        claimed_to = greatest(t.claimed_to, excluded.claimed_to)
    )`;
}

/** Returns the same for jobs that entered (1) or left (-1) their queue: `rows` select endpoint_id, low_priority. */
export function queueCountersAdded(sql: Sql, sign: 1 | -1, rows: Fragment) {
  return queueChanges(sql, sign, rows, sql`0`);
}

/** Returns the same for a claim: `rows` also select position. */
export function claimCountersAdded(sql: Sql, rows: Fragment) {
  return queueChanges(sql, -1, rows, sql`coalesce(max(position) FILTER (WHERE NOT low_priority), 0)`);
}

function queueChanges(sql: Sql, sign: 1 | -1, rows: Fragment, claimedTo: Fragment) {
  const times = sql.unsafe(String(sign));
  return countersAdded(
    sql,
    sql`
    SELECT endpoint_id, 0 AS completed, 0 AS failed, 0 AS retried, ${times} * count(*) AS queued,
      ${times} * count(*) FILTER (WHERE low_priority) AS queued_low, ${claimedTo} AS claimed_to FROM (${rows}) AS r
        GROUP BY endpoint_id`,
  );
}

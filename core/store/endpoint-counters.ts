/** The numbers of endpoints (drizzle/schema/endpoint.ts, endpointTally), kept by the statements that change them: nobody counts a queue to know its length. */
import type { Fragment, Sql } from './database.ts';

/**
 * Numbers that change in one statement are kept in the slot of its connection, so that no other waits for its commit; sixteen are enough for
 * the connections of two replicas.
 */
const SLOTS = 16;

/**
 * A further WITH item (without a comma) that adds to the tally. `changes` selects endpoint_id, completed, failed, retried, queued, queued_low, claimed_to,
 * a row for each endpoint. In order of the endpoint, so that two statements never wait for each other.
 */
export function countersAdded(sql: Sql, changes: Fragment) {
  return sql`tallied AS (
      INSERT INTO endpoint_tally AS t (endpoint_id, slot, completed, failed, retried, queued, queued_low, claimed_to)
      SELECT c.endpoint_id, pg_backend_pid() % ${sql.unsafe(String(SLOTS))}, c.completed, c.failed, c.retried, c.queued, c.queued_low, c.claimed_to
      FROM (${changes}) AS c ORDER BY c.endpoint_id
      ON CONFLICT (endpoint_id, slot) DO UPDATE SET completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
        retried = t.retried + excluded.retried, queued = t.queued + excluded.queued, queued_low = t.queued_low + excluded.queued_low,
        claimed_to = greatest(t.claimed_to, excluded.claimed_to)
    )`;
}

/** The same for jobs that came to their queue (1) or went from it (-1): `rows` select endpoint_id, low_priority. */
export function queueCountersAdded(sql: Sql, sign: 1 | -1, rows: Fragment) {
  return queueChanges(sql, sign, rows, sql`0`);
}

/** The same for a claim: `rows` also select position. */
export function claimCountersAdded(sql: Sql, rows: Fragment) {
  return queueChanges(sql, -1, rows, sql`coalesce(max(position) FILTER (WHERE NOT low_priority), 0)`);
}

function queueChanges(sql: Sql, sign: 1 | -1, rows: Fragment, claimedTo: Fragment) {
  const times = sql.unsafe(String(sign));
  return countersAdded(sql, sql`
    SELECT endpoint_id, 0 AS completed, 0 AS failed, 0 AS retried, ${times} * count(*) AS queued,
      ${times} * count(*) FILTER (WHERE low_priority) AS queued_low, ${claimedTo} AS claimed_to FROM (${rows}) AS r GROUP BY endpoint_id`);
}

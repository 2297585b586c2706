/** The numbers of endpoints (drizzle/schema/endpoint.ts, endpointTally), kept by the statements that change them: nobody counts a queue to know its length. */
import type { Fragment, Sql } from './database.ts';

/**
 * Numbers that change in one statement are kept in the slot of its connection, so that no other waits for its commit; sixteen are enough for
 * the connections of two replicas.
 */
const SLOTS = 16;

/**
 * A further WITH item (without a comma) that adds to the tally. `changes` selects endpoint_id, completed, failed, retried, queued, a row for each
 * endpoint; rows that change nothing should not be among them. In order of the endpoint, so that two statements never wait for each other.
 */
export function tallied(sql: Sql, changes: Fragment) {
  return sql`tallied AS (
      INSERT INTO endpoint_tally AS t (endpoint_id, slot, completed, failed, retried, queued)
      SELECT c.endpoint_id, pg_backend_pid() % ${sql.unsafe(String(SLOTS))}, c.completed, c.failed, c.retried, c.queued
      FROM (${changes}) AS c ORDER BY c.endpoint_id
      ON CONFLICT (endpoint_id, slot) DO UPDATE SET completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
        retried = t.retried + excluded.retried, queued = t.queued + excluded.queued
    )`;
}

/** The same where only the queues change: one of `sign` for each of `rows`, which select endpoint_id. */
export function talliedQueue(sql: Sql, sign: 1 | -1, rows: Fragment) {
  return tallied(sql, sql`
    SELECT endpoint_id, 0 AS completed, 0 AS failed, 0 AS retried, ${sql.unsafe(String(sign))} * count(*) AS queued FROM (${rows}) AS r GROUP BY endpoint_id`);
}

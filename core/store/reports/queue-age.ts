/**
 * Computes how long the first job of a queue has waited. The scan starts at the claim position, so it does not walk
 * the queue.
 */
import type { Fragment, Sql } from '../sql/database.ts';

/**
 * Returns the wait in milliseconds; 0 if no job waits. For statements on the hot pool in which `e` is the endpoint and
 * `t` its counters, with queued and claimed_to.
 */
export function oldestWaitMs(hot: Sql): Fragment {
  const since = hot`coalesce(${first(hot, false, hot`t.claimed_to`)}, ${first(hot, false, hot`0`)},
    ${first(hot, true, hot`0`)})`;
  return hot`CASE WHEN t.queued > 0 THEN coalesce(greatest(extract(epoch FROM now() - ${since}) * 1000, 0)::bigint, 0)
    ELSE 0 END`;
}

/** Returns the submission time of the first queued job after a position. */
function first(hot: Sql, lowPriority: boolean, after: Fragment): Fragment {
  return hot`(SELECT submitted_at FROM job WHERE endpoint_id = e.id AND state = 'IN_QUEUE'
    AND low_priority = ${hot.unsafe(String(lowPriority))}
    AND position > ${after} ORDER BY position LIMIT 1)`;
}

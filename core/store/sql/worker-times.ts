/**
 * What a worker was at and when, for its time line: begins and ends in turn in one array of its row, the latest
 * STRETCHES_MAX of them, so that a worker that lives for months keeps no more than one of an hour. Written only where
 * its row is written anyway.
 */
import type { Fragment, Sql } from './database.ts';

/** Kept of each kind. */
const STRETCHES_MAX = 24;
/** Attempts less than so far apart are one stretch, in seconds; reports of what was used come each second. */
const GAP_SECONDS = 5;

/** What `busy_times` of a worker `w` becomes when it has had attempts just now. `isIdle`: it holds none any more. */
export function busyTimes(sql: Sql, isIdle: Fragment): Fragment {
  const length = sql`cardinality(w.busy_times)`;
  return sql`(CASE
      WHEN ${length} % 2 = 1 THEN w.busy_times
      WHEN w.busy_times[${length}] > now() - ${GAP_SECONDS}::int * interval '1 s' THEN w.busy_times[:${length} - 1]
      ELSE ${latest(sql, sql`w.busy_times`)} || now() END)
    || CASE WHEN ${isIdle} THEN ARRAY[now()] ELSE '{}' END`;
}

/** What `frozen_times` of a worker `w` becomes with its report `r`. */
export function frozenTimes(sql: Sql): Fragment {
  const isOpen = sql`cardinality(w.frozen_times) % 2 = 1`;
  return sql`CASE
      WHEN r.state = 'FROZEN' AND NOT ${isOpen} THEN ${latest(sql, sql`w.frozen_times`)} || now()
      WHEN r.state <> 'FROZEN' AND ${isOpen} THEN w.frozen_times || now()
      ELSE w.frozen_times END`;
}

/** Leaves room for one more. */
function latest(sql: Sql, times: Fragment): Fragment {
  return sql`${times}[cardinality(${times}) - ${(STRETCHES_MAX - 1) * 2}::int + 1:]`;
}

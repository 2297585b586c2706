/**
 * Time line of a worker: alternating begins and ends in one array of its row, the latest STRETCHES_MAX of them, so
 * that a worker that lives for months stores no more than one of an hour. Written only where the row is written
 * anyway.
 */
import type { Fragment, Sql } from './database.ts';

/** Most periods stored of each kind. */
const STRETCHES_MAX = 24;
/** Attempts less than this many seconds apart form one period; usage is reported every second. */
const GAP_SECONDS = 5;

/** Returns the new `busy_times` of a worker `w` that just had attempts. `isIdle`: it holds none now. */
export function busyTimes(sql: Sql, isIdle: Fragment): Fragment {
  const length = sql`cardinality(w.busy_times)`;
  return sql`(CASE
      WHEN ${length} % 2 = 1 THEN w.busy_times
      WHEN w.busy_times[${length}] > now() - ${GAP_SECONDS}::int * interval '1 s' THEN w.busy_times[:${length} - 1]
      ELSE ${latest(sql, sql`w.busy_times`)} || now() END)
    || CASE WHEN ${isIdle} THEN ARRAY[now()] ELSE '{}' END`;
}

/** Returns the new `frozen_times` of a worker `w` after its report `r`. */
export function frozenTimes(sql: Sql): Fragment {
  const isOpen = sql`cardinality(w.frozen_times) % 2 = 1`;
  return sql`CASE
      WHEN r.state = 'FROZEN' AND NOT ${isOpen} THEN ${latest(sql, sql`w.frozen_times`)} || now()
      WHEN r.state <> 'FROZEN' AND ${isOpen} THEN w.frozen_times || now()
      ELSE w.frozen_times END`;
}

/** Drops the oldest entry to make space for one more. */
function latest(sql: Sql, times: Fragment): Fragment {
  return sql`${times}[cardinality(${times}) - ${(STRETCHES_MAX - 1) * 2}::int + 1:]`;
}

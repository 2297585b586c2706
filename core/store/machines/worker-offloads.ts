/** Columns of the report statement for a worker's standby level and its moves. */

import type { OffloadFacts } from '../../domain/machines/standby.ts';
import type { Fragment, Sql } from '../sql/database.ts';

/** Returns the names of the columns of `r`, in the order of `moveArrays`. */
export function moveNames(sql: Sql): Fragment {
  return sql`reached, gpu_bytes, offload_bytes, offload_ms, restore_bytes, restore_ms, offload_failure`;
}

/** Returns the values of the reports, one array per column. */
export function moveArrays(sql: Sql, facts: readonly Partial<OffloadFacts>[]): Fragment {
  return sql`${facts.map((f) => f.standbyReached ?? '')}::text[], ${facts.map((f) => f.gpuMemoryBytes ?? 0)}::bigint[],
    ${facts.map((f) => f.lastOffload?.bytes ?? null)}::bigint[], ${facts.map((f) => f.lastOffload?.ms ?? null)}::int[],
    ${facts.map((f) => f.lastRestore?.bytes ?? null)}::bigint[], ${facts.map((f) => f.lastRestore?.ms ?? null)}::int[],
    ${facts.map((f) => f.offloadFailure ?? '')}::text[]`;
}

/** Returns the new values of a worker `w` after its report `r`. Values that the report leaves out stay. */
export function moveColumns(sql: Sql): Fragment {
  return sql`standby_reached = r.reached, standby_level = ${levelAfter(sql)},
    offloaded_at = CASE WHEN r.reached = 'HOST' THEN coalesce(w.offloaded_at, now()) END,
    gpu_memory_bytes = ${bytesAfter(sql)}, offload_failure = r.offload_failure,
    offload_bytes = coalesce(r.offload_bytes, w.offload_bytes), offload_ms = coalesce(r.offload_ms, w.offload_ms),
    restore_bytes = coalesce(r.restore_bytes, w.restore_bytes), restore_ms = coalesce(r.restore_ms, w.restore_ms)`;
}

/** Returns the columns of `w` that are compared with `movesAfter`. */
export function movesBefore(sql: Sql): Fragment {
  return sql`w.standby_reached, w.standby_level, w.gpu_memory_bytes, w.offload_ms, w.restore_ms, w.offload_failure`;
}

/** Returns the values of the columns of `movesBefore` after the report. */
export function movesAfter(sql: Sql): Fragment {
  return sql`r.reached, ${levelAfter(sql)}, ${bytesAfter(sql)}, coalesce(r.offload_ms, w.offload_ms),
    coalesce(r.restore_ms, w.restore_ms), r.offload_failure`;
}

/**
 * Returns the level that the worker should have. One that was offloaded before it was asked to keep its GPU memory
 * stays in host memory: it must not hold a GPU that it has left.
 */
function levelAfter(sql: Sql): Fragment {
  return sql`CASE WHEN r.reached = 'HOST' AND w.desired = 'FREEZE' THEN 'HOST' ELSE w.standby_level END`;
}

function bytesAfter(sql: Sql): Fragment {
  return sql`CASE WHEN r.gpu_bytes > 0 THEN r.gpu_bytes ELSE w.gpu_memory_bytes END`;
}

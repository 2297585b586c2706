/** Drains of machines, as stored in their rows. */
import type { DrainState } from '../../domain/machines/drain.ts';
import type { Fragment, Sql } from '../sql/database.ts';

/** Columns of a machine that is being drained. Null, apart from the reason, if it is not. */
export interface DrainRow {
  draining_since_ms: number | null;
  drain_deadline_ms: number | null;
  drain_reason: string;
  drain_workers: number | null;
  drain_jobs: number | null;
  drain_pods: number | null;
}

/** Returns the columns of a DrainRow for a statement over `machine`. Only drained machines are counted. */
export function drainColumns(sql: Sql): Fragment {
  const ifDraining = (counted: Fragment): Fragment =>
    sql`CASE WHEN machine.draining_since IS NOT NULL THEN (SELECT count(*)::int FROM ${counted}) END`;
  return sql`(extract(epoch FROM draining_since) * 1000)::bigint AS draining_since_ms,
    (extract(epoch FROM drain_deadline_at) * 1000)::bigint AS drain_deadline_ms,
    ${ifDraining(sql`worker w WHERE w.machine_id = machine.id AND w.ended_at IS NULL AND w.machine_id <> ''
      AND w.state <> 'UNHEALTHY'`)} AS drain_workers,
    ${ifDraining(sql`job j WHERE j.machine_id = machine.id AND j.state = 'IN_PROGRESS'`)} AS drain_jobs,
    ${ifDraining(sql`pod p WHERE p.machine_id = machine.id`)} AS drain_pods`;
}

/** Returns the drain of a machine. `undefined`: it has none. */
export function drainOf(row: DrainRow): DrainState | undefined {
  if (row.draining_since_ms === null) return undefined;
  return {
    sinceMs: Number(row.draining_since_ms),
    deadlineMs: row.drain_deadline_ms === null ? null : Number(row.drain_deadline_ms),
    reason: row.drain_reason,
    workers: row.drain_workers ?? 0,
    jobs: row.drain_jobs ?? 0,
    pods: row.drain_pods ?? 0,
  };
}

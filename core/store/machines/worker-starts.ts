/**
 * Finds workers that a report made ready, and why they were started. Read in the statement that writes the report, so
 * that each start is counted once.
 */
import type { Fragment, Sql } from '../sql/database.ts';

/** Cause of a start: from zero, beside others, a new version, a crash, or a resumed standby worker. */
export type StartCause = 'from_zero' | 'scale' | 'release' | 'crash' | 'resume';

/** A worker that became ready. */
export interface WorkerStart {
  endpointId: string;
  cause: StartCause;
  /** Milliseconds since it was requested, `undefined` if it was resumed. */
  tookMs?: number;
}

/** Columns of a worker `w` that a statement has just changed. */
export interface StartRow {
  endpoint_id: string;
  start_cause: StartCause | null;
  start_ms: number;
}

/** Returns the columns of a StartRow. A time that equals `now()` is of this statement. */
export function startColumns(sql: Sql): Fragment {
  const another = (which: Fragment): Fragment => sql`EXISTS (
    SELECT FROM worker o WHERE o.endpoint_id = w.endpoint_id AND o.id <> w.id AND o.ended_at IS NULL
      AND o.endpoint_id <> '' AND ${which})`;
  return sql`CASE
      WHEN w.state <> 'READY' THEN NULL
      WHEN w.ready_at IS DISTINCT FROM now() THEN CASE WHEN w.busy_at = now() THEN 'resume' END
      WHEN w.failures > 0 THEN 'crash'
      WHEN ${another(sql`o.version < w.version`)} THEN 'release'
      WHEN ${another(sql`o.state IN ('READY', 'DRAINING')`)} THEN 'scale'
      ELSE 'from_zero' END AS start_cause,
    coalesce(extract(epoch FROM w.ready_at - w.created_at) * 1000, 0)::bigint AS start_ms`;
}

/** Returns the starts among the changed workers. */
export function startsOf(rows: readonly StartRow[]): WorkerStart[] {
  return rows.flatMap(({ endpoint_id: endpointId, start_cause: cause, start_ms: ms }) =>
    cause === null ? [] : [{ endpointId, cause, ...(cause === 'resume' ? {} : { tookMs: Number(ms) }) }],
  );
}

/** Lists living and ended workers, for people. */
import { and, eq, inArray, isNull, sql } from '@slipway/drizzle/orm';
import { worker } from '@slipway/drizzle/schema/worker';
import type { EndedWorker } from '../../domain/machines/ended-workers.ts';
import { moveOf } from '../../domain/machines/standby.ts';
import type { Worker } from '../../domain/machines/worker.ts';
import {
  ENDED_WORKERS_KEPT,
  ENDED_WORKERS_KEPT_HOURS,
  ENDED_WORKERS_SHOWN_MAX,
  MACHINE_LOST_REASON,
  stretchesOf,
  UNLISTED_REASON,
} from '../../domain/machines/worker.ts';
import type { Database, Fragment, Sql } from '../sql/database.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { readPage } from '../sql/page.ts';

/** Filter of workers. Empty fields match all. */
export interface WorkerSelection {
  endpointId: string;
  accountId: string;
  machineIds?: readonly string[] | undefined;
}

type WorkerRow = Omit<
  Worker,
  | 'createdAt'
  | 'held'
  | 'readyAt'
  | 'endedAt'
  | 'crashedAt'
  | 'retryAt'
  | 'busy'
  | 'frozen'
  | 'lastOffload'
  | 'lastRestore'
> & {
  offloadBytes: number | null;
  offloadMs: number | null;
  restoreBytes: number | null;
  restoreMs: number | null;
  createdAtMs: number;
  readyAtMs: number | null;
  crashedAtMs: number | null;
  retryAtMs: number | null;
  endedAtMs: number | null;
  busyAtMs: number;
  busyTimesMs: number[];
  frozenTimesMs: number[];
};

/** Returns a page of the workers that have not ended, oldest first. */
export async function listWorkers(
  database: Database,
  selection: WorkerSelection,
  page: PageRequest,
): Promise<Page<Worker>> {
  const { endpointId, accountId, machineIds = [] } = selection;
  const where = and(
    isNull(worker.endedAt),
    endpointId === '' ? undefined : eq(worker.endpointId, endpointId),
    accountId === ''
      ? undefined
      : sql`EXISTS (SELECT FROM endpoint e WHERE e.id = ${worker.endpointId} AND e.account_id = ${accountId})`,
    machineIds.length === 0 ? undefined : inArray(worker.machineId, [...machineIds]),
  );
  // Periods add to the size: up to 96 instants of about 20 bytes each.
  const bytes = sql`3000 + octet_length(${worker.reason})`;
  return readPage(database, { from: worker, id: worker.id, createdAt: worker.createdAt, bytes, where }, page, (ids) =>
    workersById(database, ids),
  );
}

/** Returns the stored ended workers of an endpoint or of a machine, latest first. */
export async function recentWorkers(
  database: Database,
  of: { endpointId: string } | { machineId: string },
): Promise<Worker[]> {
  const { sql: statement } = database;
  const [those, most] =
    'endpointId' in of
      ? [statement`endpoint_id = ${of.endpointId}`, ENDED_WORKERS_KEPT]
      : [statement`machine_id = ${of.machineId}`, ENDED_WORKERS_SHOWN_MAX];
  const rows = await statement<{ id: string }[]>`
    SELECT id FROM worker
    WHERE ${those} AND ended_at IS NOT NULL AND ended_at > now() - ${ENDED_WORKERS_KEPT_HOURS}::int * interval '1 h'
    ORDER BY ended_at DESC, id LIMIT ${most}`;
  const workers = await workersById(
    database,
    rows.map(({ id }) => id),
  );
  return workers.toSorted((a, b) => b.endedAt!.getTime() - a.endedAt!.getTime());
}

/**
 * Returns the stored workers that ended unexpectedly, latest first. `endpointIds`: only of these endpoints; empty: all.
 */
export async function endedWorkers(
  database: Database,
  selection: WorkerSelection,
  endpointIds: readonly string[],
): Promise<EndedWorker[]> {
  const { endpointId, accountId, machineIds = [] } = selection;
  const rows = await database.sql<(Omit<EndedWorker, 'endedAt'> & { endedAtMs: number })[]>`
    SELECT w.id, w.endpoint_id AS "endpointId", e.name AS "endpointName", w.exit_code AS "exitCode", w.reason,
      (extract(epoch FROM w.ended_at) * 1000)::bigint AS "endedAtMs"
    FROM worker w JOIN endpoint e ON e.id = w.endpoint_id
    WHERE (${endpointId} = '' OR w.endpoint_id = ${endpointId}) AND (${accountId} = '' OR e.account_id = ${accountId})
      AND w.ended_at IS NOT NULL
      AND (cardinality(${[...endpointIds]}::text[]) = 0 OR w.endpoint_id = ANY(${[...endpointIds]}::text[]))
      ${machineIds.length === 0 ? database.sql`` : database.sql`AND w.machine_id = ANY(${[...machineIds]}::text[])`}
      AND (w.state = 'UNHEALTHY' OR w.reason IN (${MACHINE_LOST_REASON}, ${UNLISTED_REASON}))
    ORDER BY w.ended_at DESC, w.id`;
  return rows.map(({ endedAtMs, ...row }) => ({ ...row, endedAt: new Date(endedAtMs) }));
}

/** Returns these workers, living or ended, in any order. */
export async function workersById(database: Database, ids: string[]): Promise<Worker[]> {
  const rows = await database.sql<WorkerRow[]>`
    SELECT w.id, w.endpoint_id AS "endpointId", e.name AS "endpointName", e.account_id AS "accountId",
      w.machine_id AS "machineId", w.desired,
      w.state, w.capacity, w.version, w.version < e.version AND w.desired <> 'RUN' AS outdated,
      w.gpu_uuids AS "gpuUuids", ${loads(database.sql)} AS "gpuLoads", ${load(database.sql)} AS "load",
      w.reason, w.exit_code AS "exitCode",
      CASE WHEN w.gpu_uuids <> '{}' THEN w.standby_reached ELSE '' END AS "standbyReached",
      w.gpu_memory_bytes AS "gpuMemoryBytes", w.suspended,
      w.offload_bytes AS "offloadBytes", w.offload_ms AS "offloadMs", w.restore_bytes AS "restoreBytes",
      w.restore_ms AS "restoreMs",
      w.sdk_version AS "sdkVersion", (extract(epoch FROM w.created_at) * 1000)::bigint AS "createdAtMs",
      (extract(epoch FROM w.ready_at) * 1000)::bigint AS "readyAtMs",
      (extract(epoch FROM w.ended_at) * 1000)::bigint AS "endedAtMs",
      (extract(epoch FROM w.crashed_at) * 1000)::bigint AS "crashedAtMs",
      (extract(epoch FROM w.retry_at) * 1000)::bigint AS "retryAtMs",
      (extract(epoch FROM w.busy_at) * 1000)::bigint AS "busyAtMs",
      (SELECT coalesce(json_agg((extract(epoch FROM t.at) * 1000)::bigint ORDER BY t.place), '[]')
        FROM unnest(w.busy_times) WITH ORDINALITY AS t (at, place)) AS "busyTimesMs",
      (SELECT coalesce(json_agg((extract(epoch FROM t.at) * 1000)::bigint ORDER BY t.place), '[]')
        FROM unnest(w.frozen_times) WITH ORDINALITY AS t (at, place)) AS "frozenTimesMs"
    FROM worker w JOIN endpoint e ON e.id = w.endpoint_id LEFT JOIN machine m ON m.id = w.machine_id
    WHERE w.id = ANY(${ids})`;
  const held = await heldNow(database, [...new Set(rows.map((row) => row.endpointId))]);
  return rows.map(({ createdAtMs, readyAtMs, endedAtMs, busyAtMs, busyTimesMs, frozenTimesMs, ...rest }) => {
    const { crashedAtMs, retryAtMs, offloadBytes, offloadMs, restoreBytes, restoreMs, ...row } = rest;
    const holds = held.get(row.id) ?? 0;
    return {
      ...row,
      lastOffload: moveOf(offloadBytes, offloadMs),
      lastRestore: moveOf(restoreBytes, restoreMs),
      held: holds,
      createdAt: new Date(createdAtMs),
      readyAt: dateOf(readyAtMs),
      endedAt: dateOf(endedAtMs),
      crashedAt: dateOf(crashedAtMs),
      retryAt: dateOf(retryAtMs),
      // A period that continues without an attempt was left open by a replica that ended.
      busy: stretchesOf(busyTimesMs, endedAtMs ?? (holds > 0 ? undefined : busyAtMs)),
      frozen: stretchesOf(frozenTimesMs, endedAtMs ?? undefined),
    };
  });
}

/** Returns whether loads are shown for worker w on machine m. */
function hasLoad(sql: Sql): Fragment {
  return sql`w.ended_at IS NULL AND w.desired <> 'FREEZE' AND w.state NOT IN ('FROZEN', 'UNHEALTHY')
      AND m.session_id IS NOT NULL AND m.lease_expires_at > now()`;
}

/** Returns the use of processors and memory of worker w on machine m. */
function load(sql: Sql): Fragment {
  return sql`CASE WHEN ${hasLoad(sql)} THEN m.worker_loads -> w.id END`;
}

/** Returns the loads of the GPUs that worker w alone has, on machine m. */
function loads(sql: Sql): Fragment {
  return sql`
    CASE WHEN ${hasLoad(sql)}
    THEN (SELECT coalesce(jsonb_agg(l.load), '[]') FROM jsonb_array_elements(m.gpu_loads) AS l (load)
      WHERE l.load ->> 'uuid' = ANY(w.gpu_uuids))
    ELSE '[]' END`;
}

function dateOf(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms);
}

async function heldNow(database: Database, endpointIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await database.hot<{ worker_id: string; held: number }[]>`
    SELECT h.worker_id, h.held FROM unnest(${[...endpointIds]}::text[]) AS e (id) CROSS JOIN LATERAL (
      SELECT worker_id, count(*)::int AS held FROM job WHERE endpoint_id = e.id AND state = 'IN_PROGRESS'
        GROUP BY worker_id ORDER BY worker_id
    ) h`;
  return new Map(rows.map((row) => [row.worker_id, row.held]));
}

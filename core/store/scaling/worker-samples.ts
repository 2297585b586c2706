/** Reads the living workers of endpoints, as samples have them. */
import type { WorkerSample } from '../../domain/scaling/scaler.ts';
import type { Sql } from '../sql/database.ts';
import type { OffloadColumns } from './offload-samples.ts';
import { addOffload, offloadColumns } from './offload-samples.ts';

/** A worker of an endpoint. */
export type WorkerRow = Omit<WorkerSample, 'held'> & { endpointId: string };

/** A worker as it is read. */
type StoredWorker = Omit<WorkerRow, 'retryMs' | 'readyMs' | 'served' | 'takesRequests' | 'blocked'> &
  OffloadColumns &
  Record<'served' | 'takesRequests' | 'blocked', boolean> &
  Record<'retryMs' | 'readyMs', number | null>;

/** Returns living workers of endpoints, oldest first. */
export async function readWorkers(sql: Sql, endpointIds: readonly string[]): Promise<WorkerRow[]> {
  const rows = await sql<StoredWorker[]>`
    SELECT w.endpoint_id AS "endpointId", w.id, w.machine_id AS "machineId", w.desired, w.state, w.version, w.failures,
      w.state = 'READY' AND w.health = 'READY' AS "takesRequests",
      w.blocked AND w.state = 'READY' AND w.desired = 'RUN' AS blocked,
      coalesce(w.retry_at <= now(), false) AS "retryDue",
      CASE WHEN w.retry_at > now() THEN ceil(extract(epoch FROM w.retry_at - now()) * 1000)::bigint END AS "retryMs",
      greatest(extract(epoch FROM now() - w.busy_at) * 1000, 0)::bigint AS "idleMs",
      greatest(extract(epoch FROM now() - w.desired_at) * 1000, 0)::bigint AS "ageMs",
      greatest(extract(epoch FROM now() - w.ready_at) * 1000, 0)::bigint AS "readyMs",
      cardinality(w.busy_times) > 1 AS served, ${offloadColumns(sql)},
      cardinality(w.gpu_uuids) AS gpus, m.session_id IS NOT NULL AND m.lease_expires_at > now()
        AND NOT m.cordoned AS reachable
    FROM worker w JOIN machine m ON m.id = w.machine_id
    WHERE w.endpoint_id = ANY(${[...endpointIds]}) AND w.ended_at IS NULL AND w.endpoint_id <> ''
      ORDER BY w.created_at, w.id`;
  return rows.map(workerOf);
}

/**
 * Returns a row without members that do not apply. Names each: `...rest` takes thirty times as long, and there may be
 * thousands.
 */
function workerOf(row: StoredWorker): WorkerRow {
  const worker: WorkerRow = {
    endpointId: row.endpointId,
    id: row.id,
    machineId: row.machineId,
    desired: row.desired,
    state: row.state,
    version: row.version,
    failures: row.failures,
    retryDue: row.retryDue,
    idleMs: row.idleMs,
    ageMs: row.ageMs,
    gpus: row.gpus,
    reachable: row.reachable,
  };
  addOffload(worker, row);
  if (row.retryMs !== null) worker.retryMs = row.retryMs;
  if (row.readyMs !== null) worker.readyMs = row.readyMs;
  if (row.served) worker.served = true;
  if (row.takesRequests) worker.takesRequests = true;
  if (row.blocked) worker.blocked = true;
  return worker;
}

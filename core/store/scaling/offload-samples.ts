/** Columns of samples about offloaded workers, and running workers that may be offloaded for others. */

import { expectedOffloadMs, expectedRestoreMs, moveLimitMs, moveOf } from '../../domain/machines/standby.ts';
import type { WorkerSample } from '../../domain/scaling/scaler.ts';
import type { MovableWorker } from '../../domain/scaling/standby-restore.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import { gpusOccupied } from './standby-rows.ts';

/** Columns of a worker that only matter with GPUs. */
export interface OffloadColumns {
  isOffloaded: boolean;
  isSuspended: boolean;
  gpuUuids: string[];
  bytes: number;
  restoreBytes: number | null;
  restoreMs: number | null;
  /** Milliseconds of its cold start. */
  startMs: number | null;
  /** Milliseconds of a move in progress. */
  movingMs: number | null;
}

/** Returns the columns of worker `w`. */
export function offloadColumns(sql: Sql): Fragment {
  return sql`w.desired = 'FREEZE' AND w.standby_level = 'HOST' AS "isOffloaded", w.suspended AS "isSuspended",
    w.gpu_uuids AS "gpuUuids", w.gpu_memory_bytes AS bytes, w.restore_bytes AS "restoreBytes",
    w.restore_ms AS "restoreMs", (extract(epoch FROM w.ready_at - w.created_at) * 1000)::bigint AS "startMs",
    ${movingMs(sql)} AS "movingMs"`;
}

/**
 * Returns the milliseconds for which worker `w` has been moved: to host memory since it was asked to and had no job, or
 * back since others had left its GPUs. Null if it is not moved, or waits for others.
 */
function movingMs(sql: Sql): Fragment {
  const left = sql`(SELECT max(greatest(x.offloaded_at, x.ended_at)) FROM worker x
    WHERE x.machine_id = w.machine_id AND x.id <> w.id AND x.gpu_uuids && w.gpu_uuids)`;
  const since = sql`CASE
    WHEN w.desired = 'FREEZE' AND w.standby_level = 'HOST' AND w.standby_reached <> 'HOST'
      THEN greatest(w.desired_at, w.busy_at)
    WHEN w.desired = 'RUN' AND w.standby_reached = 'HOST' AND NOT ${gpusOccupied(sql, sql`true`)}
      THEN greatest(w.desired_at, ${left}) END`;
  return sql`(extract(epoch FROM now() - ${since}) * 1000)::bigint`;
}

/** Adds what a row says to a worker. Members that do not apply stay absent, because samples are logged. */
export function addOffload(
  worker: Pick<WorkerSample, 'offloaded' | 'suspended' | 'moveLate' | 'gpuBytes'>,
  { isOffloaded, isSuspended, gpuUuids, bytes, restoreBytes, restoreMs, startMs, movingMs }: OffloadColumns,
): void {
  if (isOffloaded)
    worker.offloaded = {
      gpuUuids,
      restoreMs: expectedRestoreMs(bytes, moveOf(restoreBytes, restoreMs)),
      ...(startMs !== null && { startMs }),
    };
  if (movingMs !== null && movingMs > moveLimitMs(bytes)) worker.moveLate = true;
  if (isSuspended) worker.suspended = true;
  if (bytes > 0) worker.gpuBytes = bytes;
}

/** Returns the given workers that run on machines that can offload them. */
export async function readMovable(sql: Sql, workerIds: readonly string[]): Promise<MovableWorker[]> {
  if (workerIds.length === 0) return [];
  const rows = await sql<(Omit<MovableWorker, 'offloadMs'> & { movedBytes: number | null; movedMs: number | null })[]>`
    SELECT w.id, w.machine_id AS "machineId", w.gpu_uuids AS "gpuUuids", w.gpu_memory_bytes AS bytes,
      w.offload_bytes AS "movedBytes", w.offload_ms AS "movedMs",
      (extract(epoch FROM now() - w.busy_at) * 1000)::bigint AS "idleMs"
    FROM worker w JOIN machine m ON m.id = w.machine_id
    WHERE w.id = ANY(${[...workerIds]}) AND w.desired = 'RUN' AND w.state = 'READY' AND w.ended_at IS NULL
      AND (m.gpu_offload ->> 'supported')::boolean
    ORDER BY w.busy_at, w.id`;
  return rows.map(({ movedBytes, movedMs, ...row }) => ({
    ...row,
    offloadMs: expectedOffloadMs(row.bytes, moveOf(movedBytes, movedMs)),
  }));
}

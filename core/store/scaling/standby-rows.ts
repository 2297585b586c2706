/**
 * Changes of standby workers: freeze, resume and evict, locked in the order of worker-order.ts. All of them hold the
 * placement lock until the transaction ends, so that a worker never resumes while its resources are assigned to
 * another.
 */
import { MOVE_LATE_REASON } from '../../domain/machines/standby.ts';
import type { Fragment, Sql, Statement } from '../sql/database.ts';

/** Key of the advisory lock for placing workers and pods. Two concurrent placements could assign the same GPU twice. */
export const PLACEMENT_LOCK = 5_947_213_006;

/** A worker whose desired state changed. */
interface MovedWorker {
  id: string;
  machineId: string;
}

/** Takes the placement lock. Idempotent: taking it again costs one round trip. */
export async function lockPlacement(statement: Statement): Promise<void> {
  await statement`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK})`;
}

/**
 * Puts workers on standby with their GPU memory while their machines can hold more, most recently busy first. Returns
 * the moved workers.
 */
export async function freezeWorkers(statement: Statement, workerIds: readonly string[]): Promise<MovedWorker[]> {
  if (workerIds.length === 0) return [];
  await lockPlacement(statement);
  return statement<MovedWorker[]>`
    WITH locked AS MATERIALIZED (
      SELECT id, machine_id, busy_at FROM worker
      WHERE id = ANY(string_to_array(${workerIds.join()}, ',')) AND desired = 'RUN' AND ended_at IS NULL
        ORDER BY id FOR NO KEY UPDATE
    ), idle AS (
      SELECT id, machine_id, row_number() OVER (PARTITION BY machine_id ORDER BY busy_at DESC, id) AS place FROM locked
    ), room AS (
      SELECT m.id, m.standby_max - (
          SELECT count(*) FROM worker s WHERE s.machine_id = m.id AND s.desired = 'FREEZE' AND s.standby_level = 'GPU'
            AND s.ended_at IS NULL AND s.machine_id <> '') AS free
      FROM machine m
    )
    UPDATE worker w SET desired = 'FREEZE', standby_level = 'GPU', desired_at = now()
    FROM idle JOIN room ON room.id = idle.machine_id
    WHERE w.id = idle.id AND idle.place <= room.free RETURNING w.id, w.machine_id AS "machineId"`;
}

/** Resumes standby workers. Returns the workers that were still on standby. */
export async function resumeStandbys(statement: Statement, workerIds: readonly string[]): Promise<MovedWorker[]> {
  if (workerIds.length === 0) return [];
  await lockPlacement(statement);
  return statement<MovedWorker[]>`
    UPDATE worker w SET desired = 'RUN', desired_at = now(), busy_at = now() FROM (
      SELECT id FROM worker WHERE id = ANY(string_to_array(${workerIds.join()}, ',')) AND desired = 'FREEZE'
        AND ended_at IS NULL
      ORDER BY id FOR NO KEY UPDATE) AS l
    WHERE w.id = l.id RETURNING w.id, w.machine_id AS "machineId"`;
}

/**
 * Offloads workers to host memory: at once on standby, running ones after their jobs. They give up their GPUs at
 * once; who gets these starts once the agent reports that they have left. The caller holds the placement lock. Returns
 * the workers that were not offloaded yet.
 */
export async function offloadWorkers(statement: Statement, workerIds: readonly string[]): Promise<MovedWorker[]> {
  if (workerIds.length === 0) return [];
  return statement<MovedWorker[]>`
    UPDATE worker w SET desired = 'FREEZE', standby_level = 'HOST', desired_at = now()
    FROM (
      SELECT id FROM worker WHERE id = ANY(string_to_array(${workerIds.join()}, ',')) AND ended_at IS NULL
        AND (desired = 'FREEZE' AND standby_level = 'GPU' OR desired = 'RUN' AND state = 'READY')
      ORDER BY id FOR NO KEY UPDATE) AS l
    WHERE w.id = l.id RETURNING w.id, w.machine_id AS "machineId"`;
}

/** Removes workers, with the reason if a move of their GPU memory was late. Returns those whose move was. */
export async function retireWorkers(sql: Sql, workerIds: readonly string[]): Promise<string[]> {
  if (workerIds.length === 0) return [];
  const isLate = sql`w.state <> 'UNHEALTHY' AND (w.desired = 'RUN' AND w.standby_reached = 'HOST'
    OR w.desired = 'FREEZE' AND w.standby_level = 'HOST' AND w.standby_reached <> 'HOST')`;
  const rows = await sql<{ id: string; late: boolean }[]>`
    UPDATE worker w SET desired = 'GONE', ended_at = now(), state = CASE WHEN l.late THEN 'STOPPED' ELSE w.state END,
      reason = CASE WHEN l.late THEN ${MOVE_LATE_REASON} ELSE w.reason END,
      offload_failure = CASE WHEN l.late THEN 'TIMED_OUT' ELSE w.offload_failure END
    FROM (SELECT w.id, ${isLate} AS late FROM worker w
      WHERE w.id = ANY(${[...workerIds]}) AND w.ended_at IS NULL ORDER BY w.id FOR NO KEY UPDATE) AS l
    WHERE w.id = l.id RETURNING w.id, l.late`;
  return rows.flatMap(({ id, late }) => (late ? [id] : []));
}

/** Drains standby workers whose slot is assigned to another worker. The caller holds the placement lock. */
export async function evictStandbys(statement: Statement, workerIds: readonly string[]): Promise<void> {
  if (workerIds.length === 0) return;
  await statement`
    UPDATE worker w SET desired = 'DRAIN', desired_at = now() FROM (
      SELECT id FROM worker WHERE id = ANY(string_to_array(${workerIds.join()}, ',')) AND desired = 'FREEZE'
        AND ended_at IS NULL
      ORDER BY id FOR NO KEY UPDATE) AS l
    WHERE w.id = l.id`;
}

/** Returns the bytes of a machine's budget that offloaded workers use, moves in progress included. */
export function offloadedBytes(sql: Sql, machineId: Fragment): Fragment {
  return sql`(SELECT coalesce(sum(o.gpu_memory_bytes), 0)::float8 FROM worker o
    WHERE o.machine_id = ${machineId} AND o.ended_at IS NULL AND o.machine_id <> '' AND o.state <> 'UNHEALTHY'
      AND (o.standby_reached = 'HOST' OR (o.desired = 'FREEZE' AND o.standby_level = 'HOST')))`;
}

/**
 * Returns the condition that worker or pod `w` has its GPUs but must not start or resume yet: another worker has not
 * left them for host memory, or is evicted while `w` waits there.
 */
export function gpusOccupied(sql: Sql, isOffloaded: Fragment): Fragment {
  return sql`EXISTS (SELECT FROM worker x WHERE x.machine_id = w.machine_id AND x.ended_at IS NULL
    AND x.machine_id <> '' AND x.id <> w.id AND x.gpu_uuids && w.gpu_uuids AND x.state <> 'UNHEALTHY'
    AND ((x.desired = 'FREEZE' AND x.standby_level = 'HOST' AND x.standby_reached <> 'HOST')
      OR (x.desired = 'DRAIN' AND ${isOffloaded})))`;
}

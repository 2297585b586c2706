/** Reads and writes of scaling: endpoints to resync, samples, reconcile transactions, and the log of decisions. */

import { ENDED_WORKERS_KEPT, ENDED_WORKERS_KEPT_HOURS, MACHINE_LOST_REASON } from '../../domain/machines/worker.ts';
import type { MachineCrashes } from '../../domain/scaling/machine-crashes.ts';
import { CRASHES_REMEMBERED_HOURS } from '../../domain/scaling/machine-crashes.ts';
import type { PlacementMachine, PlacementRequest } from '../../domain/scaling/placement-machine.ts';
import type { PlacementRefusal } from '../../domain/scaling/placement-refusal.ts';
import { NO_WORKERS_REFUSAL } from '../../domain/scaling/placement-refusal.ts';
import type { WorkerSample } from '../../domain/scaling/scaler.ts';
import type { MovableWorker } from '../../domain/scaling/standby-restore.ts';
import { deleteEnded } from '../jobs/lost-attempt-rows.ts';
import type { RunningJobs } from '../jobs/running-jobs.ts';
import type { Database, Sql } from '../sql/database.ts';
import { inTransaction } from '../sql/database.ts';
import { DEMAND_VALID_MS } from '../sql/demand-rows.ts';
import { isGpuTaken } from '../sql/transient.ts';
import { lockedInOrder } from '../sql/worker-order.ts';
import { busyTimes } from '../sql/worker-times.ts';
import type { EndpointReconcile } from './endpoint-reconcile.ts';
import { checkedVersions, reconcileOf } from './endpoint-reconcile.ts';
import type { ImageMachines, ImageVersion } from './image-machines.ts';
import { readImageMachines } from './image-machines.ts';
import { readMovable } from './offload-samples.ts';
import { asked, readPlacement } from './placement-view.ts';
import { ReconcileFleet } from './reconcile-fleet.ts';
import { ReconcileWrites } from './reconcile-writes.ts';
import { reapLog } from './scale-log-rows.ts';
import type { EndpointSample, EndpointVersion } from './scale-samples.ts';
import { readCrashes, sampleEndpoints } from './scale-samples.ts';
import { TransactionMonitor } from './transaction-monitor.ts';

/** Maximum number of unplaced endpoints that are evaluated when capacity is freed. */
const UNPLACED_MAX = 1_000;

/** Requirements of an endpoint's workers. */
interface EndpointDemand extends PlacementRequest {
  id: string;
  version: number;
}

export class ScaleStore {
  readonly #database: Database;
  readonly #running: RunningJobs;
  readonly #standbySeconds: number | undefined;

  /** `standbySeconds`: time that workers on standby keep their memory on GPUs, if it is not STANDBY_SECONDS. */
  constructor(database: Database, running: RunningJobs, standbySeconds?: number) {
    this.#database = database;
    this.#running = running;
    this.#standbySeconds = standbySeconds;
  }

  /**
   * Returns endpoints that may need a change: those with workers, workersMin, unplaced workers, a release to check, or
   * waiting jobs or requests of normal priority. Idle endpoints without workers are not even read. `lost`: a machine
   * whose lease expired has workers. Runs on the hot pool, which steps from queue to queue by index; another plan would
   * read all queued jobs every second. Without `queues`, queued jobs alone do not count.
   */
  async endpointsToResync({ queues }: { queues: boolean }): Promise<{ endpointIds: string[]; lost: boolean }> {
    const rows = await this.#database.hot<{ id: string }[]>`
      WITH RECURSIVE queue AS (
        (SELECT endpoint_id AS id FROM job WHERE ${queues} AND state = 'IN_QUEUE' ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.endpoint_id FROM job j WHERE j.state = 'IN_QUEUE' AND j.endpoint_id > q.id
          ORDER BY j.endpoint_id LIMIT 1)
        FROM queue q WHERE q.id IS NOT NULL
      )
      SELECT w.endpoint_id AS id FROM worker w WHERE w.ended_at IS NULL AND w.machine_id <> ''
      UNION SELECT e.id FROM endpoint e WHERE e.workers_min > 0
      UNION SELECT s.endpoint_id FROM scale_decision s WHERE s.throttled > 0
      UNION SELECT r.endpoint_id FROM endpoint_rollout r JOIN endpoint e ON e.id = r.endpoint_id AND e.workers_max > 0
        WHERE r.state = 'CHECKING' AND NOT r.checked AND r.good_version IS NOT NULL
      UNION SELECT d.endpoint_id FROM endpoint_demand d
        WHERE d.waiting > 0 AND d.reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms'
      UNION SELECT q.id FROM queue q JOIN endpoint e ON e.id = ANY(ARRAY[q.id])
        WHERE q.id IS NOT NULL AND e.workers_max > 0 AND (SELECT j.position FROM job j
          WHERE j.endpoint_id = q.id AND j.state = 'IN_QUEUE' AND NOT j.low_priority ORDER BY j.position
            LIMIT 1) IS NOT NULL
      UNION SELECT '' WHERE EXISTS (
        SELECT FROM machine m JOIN worker w ON w.machine_id = m.id AND w.ended_at IS NULL AND w.machine_id <> ''
          WHERE m.lease_expires_at < now())`;
    return { endpointIds: rows.flatMap(({ id }) => (id === '' ? [] : [id])), lost: rows.some(({ id }) => id === '') };
  }

  /** Returns endpoints with unplaced workers in their last decision, longest waiting first. */
  async unplacedEndpoints(): Promise<string[]> {
    const rows = await this.#database.hot<{ id: string }[]>`
      SELECT endpoint_id AS id FROM scale_decision WHERE throttled > 0 ORDER BY decided_at, endpoint_id
        LIMIT ${UNPLACED_MAX}`;
    return rows.map(({ id }) => id);
  }

  /** Returns all machines as of now, without a lock. Nothing may be placed by it. */
  async machineView(): Promise<PlacementMachine[]> {
    return readPlacement(this.#database.sql, { endpointId: '', imageName: '', imageDigest: '' });
  }

  /** Returns the given workers that may be offloaded for others, as of now, without a lock. */
  async movable(workerIds: readonly string[]): Promise<MovableWorker[]> {
    return readMovable(this.#database.sql, workerIds);
  }

  /** Returns the machines that have the images of these versions. */
  imageMachines(versions: readonly ImageVersion[]): Promise<ImageMachines> {
    return readImageMachines(this.#database.sql, versions);
  }

  /** Returns crashes of workers by endpoint. At most one version per endpoint. */
  async crashes(versions: readonly EndpointVersion[]): Promise<Map<string, MachineCrashes[]>> {
    return readCrashes(this.#database.hot, versions);
  }

  /**
   * Returns why workers of endpoints are unplaced, or why jobs wait at endpoints with workersMax 0. Other endpoints are
   * left out.
   */
  async refusals(endpointIds: readonly string[]): Promise<Map<string, PlacementRefusal>> {
    const rows = await this.#database.sql<(PlacementRefusal & { id: string })[]>`
      SELECT endpoint_id AS id, refusal, refusal_by_machine AS "refusalByMachine" FROM scale_decision
      WHERE endpoint_id = ANY(${[...endpointIds]}) AND throttled > 0`;
    const waiting = await this.#database.hot<{ id: string }[]>`
      SELECT e.id FROM endpoint e WHERE e.id = ANY(${[...endpointIds]}) AND e.workers_max = 0
        AND (SELECT j.position FROM job j
        WHERE j.endpoint_id = e.id AND j.state = 'IN_QUEUE' ORDER BY j.low_priority, j.position LIMIT 1) IS NOT NULL`;
    return new Map([
      ...rows.map(({ id, ...refusal }) => [id, refusal] as const),
      ...waiting.map(({ id }) => [id, NO_WORKERS_REFUSAL] as const),
    ]);
  }

  /** Returns the requirements of these endpoints. */
  async requestsOf(endpointIds: readonly string[]): Promise<EndpointDemand[]> {
    const { sql } = this.#database;
    return sql<EndpointDemand[]>`SELECT ${asked(sql)}, e.version FROM endpoint e WHERE e.id = ANY(${[...endpointIds]})`;
  }

  /** Ends the workers of machines whose lease expired. Returns their endpoints. */
  async endLost(): Promise<string[]> {
    const { sql } = this.#database;
    const lost = sql`ended_at IS NULL AND machine_id <> '' AND EXISTS (SELECT FROM machine m
      WHERE m.id = worker.machine_id AND m.lease_expires_at < now())`;
    const rows = await sql<{ endpoint_id: string }[]>`
      UPDATE worker w SET desired = 'GONE', state = 'STOPPED', capacity = 0, ended_at = now(),
        reason = ${MACHINE_LOST_REASON}
      FROM ${lockedInOrder(sql, lost)} AS l WHERE w.id = l.id RETURNING w.endpoint_id`;
    return [...new Set(rows.map((row) => row.endpoint_id))];
  }

  /** Samples endpoints without a lock. Deleted ones are left out. Records workers that hold attempts as busy. */
  async sample(endpointIds: readonly string[]): Promise<EndpointSample[]> {
    const { sql } = this.#database;
    const found = await sampleEndpoints(this.#sources(sql), endpointIds);
    // Idle time counts from the last sample that saw the worker busy. Sessions add attempts that begin and end between
    // two samples.
    const busy = found.flatMap(({ endpoint, sample }) =>
      sample.demand.workers.filter((worker) => countsAgain(worker, endpoint)).map(({ id }) => id),
    );
    if (busy.length > 0) {
      // The end of a request is not reported, so a period that is not open stays ended until the next sample.
      const times = busyTimes(sql, sql`cardinality(w.busy_times) % 2 = 0`);
      await sql`UPDATE worker w SET busy_at = now(), busy_times = ${times}
        FROM ${lockedInOrder(sql, sql`id = ANY(${busy})`)} AS l WHERE w.id = l.id`;
    }
    return found;
  }

  /**
   * Deletes old and surplus ended workers of these endpoints. The last crash per machine is kept, as placement avoids
   * that machine.
   */
  async pruneEnded(endpointIds: readonly string[]): Promise<void> {
    if (endpointIds.length === 0) return;
    const { sql } = this.#database;
    const old = await sql<{ id: string }[]>`
      SELECT id FROM (
        SELECT id, ended_at, row_number() OVER (PARTITION BY endpoint_id ORDER BY ended_at DESC) AS place,
          state = 'UNHEALTHY' AND retry_at > now() - ${CRASHES_REMEMBERED_HOURS}::int * interval '1 h' AS remembered,
          row_number() OVER (PARTITION BY endpoint_id, machine_id, state = 'UNHEALTHY' ORDER BY retry_at DESC) AS crash
            FROM worker
        WHERE endpoint_id = ANY(${[...endpointIds]}) AND ended_at IS NOT NULL) w
      WHERE ended_at < now() - ${ENDED_WORKERS_KEPT_HOURS}::int * interval '1 h'
        OR (place > ${ENDED_WORKERS_KEPT}::int AND NOT coalesce(remembered AND crash = 1, false))`;
    await deleteEnded(
      sql,
      old.map(({ id }) => id),
    );
  }

  /** Deletes up to `limit` old log entries, and all entries above the maximum per endpoint. Returns their number. */
  async reapLog(limit: number): Promise<number> {
    return reapLog(this.#database.sql, limit);
  }

  /** Returns a monitor to pass to `reconcile`. */
  monitor(): TransactionMonitor {
    return new TransactionMonitor(this.#database);
  }

  /**
   * Reconciles endpoints in this order, in one transaction with one read of the machines. Endpoints that another
   * replica has locked are left out. Returns `false` if a GPU was assigned elsewhere in the meantime: then nothing was
   * changed, and the next evaluation finds it. `monitor` can observe and abort the transaction.
   */
  async reconcile(
    endpointIds: readonly string[],
    run: (endpointId: string, locked: EndpointReconcile) => Promise<void>,
    monitor = this.monitor(),
  ): Promise<boolean> {
    const { sql: pool, hot } = this.#database;
    const committed = inTransaction(pool, async (sql) => {
      const locked = await sql<{ id: string; pid: number }[]>`
        SELECT id, pg_backend_pid() AS pid FROM endpoint WHERE id = ANY(${[...endpointIds]}) FOR NO KEY UPDATE SKIP
          LOCKED`;
      if (locked.length > 0) monitor.started(locked[0]!.pid);
      const ids = locked.map(({ id }) => id);
      const found = await sampleEndpoints(this.#sources(sql), ids);
      const checked = checkedVersions(found);
      const [crashes, checkedCrashes] = await Promise.all([
        readCrashes(
          hot,
          found.map(({ endpoint }) => endpoint),
        ),
        readCrashes(hot, checked),
      ]);
      const fleet = new ReconcileFleet(
        sql,
        found.map(({ endpoint }) => endpoint),
        crashes,
        checked,
      );
      const byId = new Map(found.map((one) => [one.endpoint.id, one]));
      const written = new ReconcileWrites(sql);
      for (const id of endpointIds) {
        const one = byId.get(id);
        if (one) await run(id, reconcileOf({ sql, fleet, written, checkedCrashes }, one));
      }
      await written.flush();
      return true;
    });
    return committed.catch((error: unknown) => (isGpuTaken(error) ? false : Promise.reject(error)));
  }

  #sources(sql: Sql) {
    const { hot } = this.#database;
    return { sql, hot, running: this.#running, standbySeconds: this.#standbySeconds };
  }

  /**
   * Drains one worker before its next job, because it asked for that. Returns its endpoint, `undefined` if it already
   * drains.
   */
  async drainOne(workerId: string, machineId: string): Promise<string | undefined> {
    const [row] = await this.#database.sql<{ endpoint_id: string }[]>`
      UPDATE worker SET desired = 'DRAIN' WHERE id = ${workerId} AND machine_id = ${machineId} AND desired = 'RUN'
        RETURNING endpoint_id`;
    return row?.endpoint_id;
  }
}

/**
 * Returns whether a worker that holds jobs or requests must be recorded as busy. Sessions report ended jobs, but
 * not ended requests.
 */
function countsAgain(
  { held, idleMs }: WorkerSample,
  { type, idleTimeoutSeconds }: EndpointSample['endpoint'],
): boolean {
  return held > 0 && (type === 'LB' || idleMs * 2 >= idleTimeoutSeconds * 1_000);
}

/**
 * Stores the state of workers as their agents report it, and answers queries of people and agents. Their desired state
 * is written in scale-store.
 */

import type { Sealer } from '@slipway/kit/host/seal';
import type { EndedWorker } from '../../domain/machines/ended-workers.ts';
import type { OffloadFacts } from '../../domain/machines/standby.ts';
import type { Worker, WorkerHealth, WorkerState } from '../../domain/machines/worker.ts';
import { crashPauseSeconds, UNLISTED_REASON } from '../../domain/machines/worker.ts';
import { gpusOccupied } from '../scaling/standby-rows.ts';
import type { Database, Sql } from '../sql/database.ts';
import { inTransaction } from '../sql/database.ts';
import { DEMAND_VALID_MS } from '../sql/demand-rows.ts';
import { flagArray, textArray } from '../sql/pack.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { lockedInOrder } from '../sql/worker-order.ts';
import { busyTimes, frozenTimes } from '../sql/worker-times.ts';
import type { MachineSession } from './machine-store.ts';
import type { WorkerSelection } from './worker-list.ts';
import { endedWorkers, listWorkers, recentWorkers, workersById } from './worker-list.ts';
import { moveArrays, moveColumns, moveNames, movesAfter, movesBefore } from './worker-offloads.ts';
import type { WorkerSpecRow } from './worker-specs.ts';
import { readWorkerSpecs } from './worker-specs.ts';
import type { StartRow, WorkerStart } from './worker-starts.ts';
import { startColumns, startsOf } from './worker-starts.ts';

/** State of a worker, as its agent reports it. */
export interface WorkerFacts extends Partial<OffloadFacts> {
  workerId: string;
  state: WorkerState;
  capacity: number;
  reason: string;
  exitCode: number | null;
  sdkVersion: string;
  /** For a worker of a load-balancing endpoint, once known: its address and the result of its health check. */
  address: string;
  health: WorkerHealth;
  /** True if each connection to its HTTP server is for one request (agent_service.proto). */
  singleUse: boolean;
  /** True if it gets no jobs until a stopped one has ended (agent_service.proto). Default: false. */
  blocked?: boolean;
}

/** A worker that its machine should have. */
export interface DesiredWorkerRow {
  id: string;
  endpointId: string;
  machineId: string;
  desired: 'RUN' | 'FREEZE' | 'DRAIN';
  standbyLevel: 'GPU' | 'HOST';
  /**
   * True if it drains, belongs to a load-balancing endpoint, and no reporter has a request for it, or its machine's
   * deadline is over.
   */
  idle: boolean;
}

export class WorkerStore {
  readonly #database: Database;
  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /**
   * Stores the report of a machine's agent. Workers of other machines do not change. Nothing changes if a later session
   * owns the machine: it has reported the newer state. Returns the endpoints whose workers changed.
   */
  async report(
    session: MachineSession,
    facts: readonly WorkerFacts[],
    onStarts?: (starts: readonly WorkerStart[]) => void,
  ): Promise<string[]> {
    const ids = facts.map((fact) => fact.workerId);
    const write = async (sql: Sql) => {
      const crashed = await this.#crash(sql, session, facts);
      const written = await sql<StartRow[]>`
        UPDATE worker w SET state = r.state, capacity = r.capacity, reason = r.reason, exit_code = r.exit_code,
          sdk_version = r.sdk_version,
          address = r.address, health = r.health, single_use = w.single_use OR r.single_use,
          blocked = r.blocked, ${moveColumns(sql)},
          busy_at = CASE WHEN r.state = 'READY' AND w.state IN ('INITIALIZING', 'FROZEN') THEN now() ELSE w.busy_at END,
          ready_at = coalesce(w.ready_at, CASE WHEN r.state = 'READY' AND w.state = 'INITIALIZING' THEN now() END),
          frozen_times = ${frozenTimes(sql)}, ended_at = CASE WHEN r.state = 'STOPPED' THEN now() END
        FROM ${lockedInOrder(
          sql,
          sql`id = ANY(${ids}) AND machine_id = ${session.machineId} AND ended_at IS NULL
          AND state <> 'UNHEALTHY'`,
        )} AS l
          JOIN unnest(${ids}::text[], ${facts.map((f) => f.state)}::text[], ${facts.map((f) => f.capacity)}::int[],
          ${facts.map((f) => f.reason)}::text[], ${facts.map((f) => f.exitCode)}::int[],
          ${facts.map((f) => f.sdkVersion)}::text[],
          ${facts.map((f) => f.address)}::text[], ${facts.map((f) => f.health)}::text[],
          ${flagArray(facts.map((f) => f.singleUse))}::boolean[],
          ${flagArray(facts.map((f) => f.blocked ?? false))}::boolean[], ${moveArrays(sql, facts)})
          AS r (id, state, capacity, reason, exit_code, sdk_version, address, health, single_use, blocked,
            ${moveNames(sql)})
            ON r.id = l.id
        WHERE w.id = l.id AND w.machine_id = ${session.machineId} AND ${speaks(sql, session)}
          AND w.ended_at IS NULL AND w.state <> 'UNHEALTHY' AND r.state <> 'UNHEALTHY'
          AND (w.state, w.capacity, w.reason, w.sdk_version, w.address, w.health, w.single_use, w.blocked,
            ${movesBefore(sql)})
            IS DISTINCT FROM (r.state, r.capacity, r.reason, r.sdk_version, r.address, r.health, w.single_use
              OR r.single_use, r.blocked, ${movesAfter(sql)})
        RETURNING w.endpoint_id, ${startColumns(sql)}`;
      return { crashed, written };
    };
    // One statement needs no transaction around it.
    const changed = !facts.some((fact) => fact.state === 'UNHEALTHY')
      ? await write(this.#database.sql)
      : await inTransaction(this.#database.sql, write);
    onStarts?.(startsOf(changed.written));
    return [...new Set([...changed.crashed, ...changed.written.map((row) => row.endpoint_id)])];
  }

  /**
   * Records crashes. A crash counts once; its reason stays until the worker is replaced. Locks all workers of the
   * report, not only the crashed ones.
   */
  async #crash(sql: Sql, session: MachineSession, facts: readonly WorkerFacts[]): Promise<string[]> {
    const crashed = new Map(facts.filter((fact) => fact.state === 'UNHEALTHY').map((fact) => [fact.workerId, fact]));
    if (crashed.size === 0) return [];
    const locked = await sql<{ id: string; endpoint_id: string; state: string; failures: number }[]>`
      SELECT id, endpoint_id, state, failures FROM worker
      WHERE id = ANY(${facts.map((fact) => fact.workerId)}) AND machine_id = ${session.machineId}
        AND ${speaks(sql, session)}
        AND ended_at IS NULL AND state <> 'UNHEALTHY'
      ORDER BY id FOR UPDATE`;
    const rows = locked.filter((row) => crashed.has(row.id));
    for (const row of rows) {
      const fact = crashed.get(row.id)!;
      const failures = row.failures + 1;
      const pauseSeconds = crashPauseSeconds(failures, row.state !== 'INITIALIZING');
      // A worker that was to stop anyway needs no replacement: it has simply ended.
      await sql`
        UPDATE worker SET state = 'UNHEALTHY', capacity = 0, reason = ${fact.reason}, exit_code = ${fact.exitCode},
          sdk_version = ${fact.sdkVersion}, failures = ${failures}, standby_reached = '', offloaded_at = NULL,
          offload_failure = ${fact.offloadFailure ?? ''},
          crashed_at = now(), retry_at = now() + ${pauseSeconds}::int * interval '1 s',
          ended_at = CASE WHEN desired = 'RUN' THEN NULL ELSE now() END
        WHERE id = ${row.id}`;
    }
    return rows.map((row) => row.endpoint_id);
  }

  /**
   * Ends the workers that the agent of a machine had and does not list in its hello. Returns their endpoints. Fenced
   * like reports.
   */
  async endUnlisted(session: MachineSession, listedIds: readonly string[]): Promise<string[]> {
    const { sql } = this.#database;
    const rows = await sql<{ endpoint_id: string }[]>`
      UPDATE worker w SET state = 'STOPPED', capacity = 0, ended_at = now(), reason = ${UNLISTED_REASON}
      FROM ${lockedInOrder(
        sql,
        sql`machine_id = ${session.machineId} AND ended_at IS NULL AND machine_id <> '' AND state <> 'UNHEALTHY'
        AND (state <> 'INITIALIZING' OR desired <> 'RUN') AND id <> ALL(${[...listedIds]})`,
      )} AS l
      WHERE w.id = l.id AND ${speaks(sql, session)} RETURNING w.endpoint_id`;
    return [...new Set(rows.map((row) => row.endpoint_id))];
  }

  /** Returns whether a session owns its machine: neither has a later one taken it over, nor has this one ended. */
  async ownsMachine({ machineId, sessionId }: MachineSession): Promise<boolean> {
    const { sql } = this.#database;
    return (await sql`SELECT FROM machine WHERE id = ${machineId} AND session_id = ${sessionId}`).length > 0;
  }

  /**
   * Records that workers had attempts just now. Workers in `provenIds` finished one, which resets their count of
   * crashes; workers in `idleIds` hold none any more.
   */
  async touch(usedIds: readonly string[], provenIds: readonly string[], idleIds: readonly string[]): Promise<void> {
    const { sql } = this.#database;
    await sql`
      UPDATE worker w SET busy_at = now(), busy_times = ${busyTimes(sql, sql`w.id = ANY(${[...idleIds]})`)},
        failures = CASE WHEN w.id = ANY(${[...provenIds]}) THEN 0 ELSE failures END
      FROM ${lockedInOrder(sql, sql`id = ANY(${[...usedIds]})`)} AS l WHERE w.id = l.id`;
  }

  /**
   * Returns the workers that these machines should have. Crashed ones are left out: their process is gone. So are new
   * ones whose GPUs others still leave.
   */
  async desiredOf(machineIds: readonly string[]): Promise<DesiredWorkerRow[]> {
    const { sql } = this.#database;
    // A worker has its GPUs before those who leave them for host memory have left.
    const mayWait = sql`w.desired = 'RUN' AND w.gpu_uuids <> '{}'`;
    const waitsInHost = sql`${mayWait} AND w.standby_reached = 'HOST' AND ${gpusOccupied(sql, sql`true`)}`;
    const waitsToStart = sql`${mayWait} AND w.state = 'INITIALIZING' AND ${gpusOccupied(sql, sql`false`)}`;
    return sql<DesiredWorkerRow[]>`
      SELECT w.id, w.endpoint_id AS "endpointId", w.machine_id AS "machineId",
        CASE WHEN ${waitsInHost} THEN 'FREEZE' ELSE w.desired END AS desired,
        CASE WHEN ${waitsInHost} THEN 'HOST' ELSE w.standby_level END AS "standbyLevel",
        (w.desired = 'DRAIN' AND w.address <> '' AND (NOT EXISTS (
          SELECT FROM endpoint_demand d WHERE d.endpoint_id = w.endpoint_id AND w.id = ANY(d.worker_ids)
            AND d.reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms')
          OR EXISTS (SELECT FROM machine m WHERE m.id = w.machine_id AND m.drain_deadline_at <= now()))) AS idle
      FROM worker w
      WHERE w.machine_id = ANY(${[...machineIds]}) AND w.ended_at IS NULL AND w.machine_id <> '' AND w.desired <> 'GONE'
        AND w.state <> 'UNHEALTHY' AND NOT (${waitsToStart})
      ORDER BY w.created_at, w.id`;
  }

  /** Returns the start specs of these workers. */
  async specsOf(workerIds: readonly string[]): Promise<WorkerSpecRow[]> {
    return readWorkerSpecs(this.#database.sql, this.#sealer, workerIds);
  }

  /** Returns which of the given workers are on the machine, with their endpoints. */
  async endpointsOf(machineId: string, workerIds: readonly string[]): Promise<Map<string, string>> {
    // PostgreSQL would reject an id with a NUL, and with it the whole hello.
    const ids = workerIds.filter((id) => !id.includes('\0'));
    if (ids.length === 0) return new Map();
    const rows = await this.#database.sql<{ id: string; endpointId: string }[]>`
      SELECT id, endpoint_id AS "endpointId" FROM worker WHERE id = ANY(${ids}) AND machine_id = ${machineId}`;
    return new Map(rows.map((row) => [row.id, row.endpointId]));
  }

  /** Returns the endpoint and the machine of a worker. `undefined` if there is no such worker. */
  async find(workerId: string): Promise<{ endpointId: string; machineId: string } | undefined> {
    const [row] = await this.#database.sql<{ endpointId: string; machineId: string }[]>`
      SELECT endpoint_id AS "endpointId", machine_id AS "machineId" FROM worker WHERE id = ${workerId}`;
    return row;
  }

  /** Returns a worker that has not ended. `undefined`: there is none. */
  async living(workerId: string): Promise<Worker | undefined> {
    const [worker] = await workersById(this.#database, [workerId]);
    return worker?.endedAt ? undefined : worker;
  }

  /** Returns a page of the workers that have not ended, oldest first. */
  async list(selection: WorkerSelection, page: PageRequest): Promise<Page<Worker>> {
    return listWorkers(this.#database, selection, page);
  }

  /** Returns the stored ended workers of an endpoint or of a machine, latest first. */
  async recent(of: { endpointId: string } | { machineId: string }): Promise<Worker[]> {
    return recentWorkers(this.#database, of);
  }

  /**
   * Returns the stored workers that ended unexpectedly, latest first. `endpointIds`: only of these endpoints; empty:
   * all.
   */
  async ended(selection: WorkerSelection, endpointIds: readonly string[] = []): Promise<EndedWorker[]> {
    return endedWorkers(this.#database, selection, endpointIds);
  }

  /**
   * Returns for each endpoint the number of its living workers that have asked for work, busy or not, in the given
   * order. The dynamic rate limit of docs/reference/api.md#rate-limits grows with them.
   */
  async countStarted(endpointIds: readonly string[]): Promise<number[]> {
    const rows = await this.#database.sql<{ endpoint_id: string; started: number }[]>`
      SELECT endpoint_id, count(*)::int AS started FROM worker
      WHERE endpoint_id = ANY(${textArray(endpointIds)}::text[]) AND ended_at IS NULL AND endpoint_id <> ''
        AND state = 'READY' GROUP BY endpoint_id`;
    const started = new Map(rows.map((row) => [row.endpoint_id, row.started]));
    return endpointIds.map((id) => started.get(id) ?? 0);
  }
}

/**
 * Returns the condition that no later session owns the machine. The last report of a session that ended normally still
 * counts.
 */
function speaks(sql: Sql, { machineId, sessionId }: MachineSession) {
  return sql`EXISTS (SELECT FROM machine m WHERE m.id = ${machineId}
    AND coalesce(m.session_id, ${sessionId}) = ${sessionId})`;
}

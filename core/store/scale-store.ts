/** What scaling reads and writes: which endpoints to look at, their samples, and the workers that are desired. */
import type { PlacementMachine, PlacementRequest } from '../domain/placement-filters.ts';
import type { PlacementPlace } from '../domain/placement.ts';
import { NO_WORKERS_REFUSAL } from '../domain/placement-refusal.ts';
import type { PlacementRefusal } from '../domain/placement-refusal.ts';
import type { QuotaState } from '../domain/quota.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from '../domain/scaler.ts';
import { ENDED_WORKERS_KEPT, ENDED_WORKERS_KEPT_HOURS, MACHINE_LOST_REASON } from '../domain/worker.ts';
import { inTransaction } from './database.ts';
import type { Database, Sql } from './database.ts';
import { DEMAND_VALID_MS, readDemand } from './edge-store.ts';
import { settledDigest } from './image-store.ts';
import { asked, placementView } from './placement-view.ts';
import { readQuotaState } from './quota-store.ts';
import { evictStandbys, freezeWorkers, lockPlacement, wakeStandbys } from './standby-rows.ts';
import type { MovedWorker } from './standby-rows.ts';

/** Queued jobs are counted no further than this. */
const QUEUED_COUNTED_MAX = 100_000;

/** An endpoint as scaling needs it. */
export interface ScaleEndpoint extends ScaleSettings, PlacementRequest {
  id: string;
  accountId: string;
  type: 'QB' | 'LB';
}

/** An endpoint as it asks for machines. */
export interface EndpointNeeds extends PlacementRequest {
  id: string;
}

/** A worker to start. */
export interface NewWorker extends PlacementPlace {
  id: string;
  failures: number;
}

/** What a turn came to. */
export interface ScaleDecision extends PlacementRefusal {
  target: number;
  throttled: number;
  reason: string;
}

/** What one endpoint's turn may do while it is locked. Whatever freezes, wakes or evicts takes the placement lock, so that none crosses another. */
export interface ScaleTurn {
  endpoint: ScaleEndpoint;
  sample: ScaleSample;
  /** Machines, under the placement lock, which is kept until the turn ends. */
  machines(): Promise<PlacementMachine[]>;
  /** Starts a worker. */
  add(worker: NewWorker): Promise<void>;
  /** Wakes frozen workers. Answers those that were still frozen, with their machines. */
  wake(workerIds: readonly string[]): Promise<MovedWorker[]>;
  /** Freezes idle workers while their machines have room for that. Answers those that are to be frozen. */
  freeze(workerIds: readonly string[]): Promise<MovedWorker[]>;
  /** Lets workers finish and stop. Answers their machines. */
  drain(workerIds: readonly string[]): Promise<string[]>;
  /** Gives up crashed workers. */
  retire(workerIds: readonly string[]): Promise<void>;
  /** What the account may have and has, exact while the placement lock is held. */
  quota(): Promise<QuotaState>;
  /** Keeps the decision; writes only when it differs from the one before. */
  note(decision: ScaleDecision): Promise<void>;
}

type WorkerRow = Omit<WorkerSample, 'held'>;

/** What there is to do, and what each worker has of it. */
type HeldDemand = Omit<ScaleSample, 'workers'> & { heldBy: ReadonlyMap<string, number> };

export class ScaleStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Endpoints that may need a change: they want workers, have some, have throttled ones, or have normal jobs or requests waiting. On the hot pool,
   * which looks each endpoint up in the indexes: another plan would read all queued jobs once a second.
   */
  async endpointsToLookAt(): Promise<string[]> {
    const rows = await this.#database.hot<{ id: string }[]>`
      SELECT e.id FROM endpoint e WHERE e.workers_min > 0
        OR EXISTS (SELECT FROM worker w WHERE w.endpoint_id = e.id AND w.ended_at IS NULL)
        OR EXISTS (SELECT FROM scale_decision s WHERE s.endpoint_id = e.id AND s.throttled > 0)
        OR (e.type = 'LB' AND EXISTS (SELECT FROM endpoint_demand d WHERE d.endpoint_id = e.id AND d.waiting > 0
          AND d.reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms'))
        OR (e.type = 'QB' AND e.workers_max > 0 AND (SELECT j.position FROM job j WHERE j.endpoint_id = e.id AND j.state = 'IN_QUEUE' AND NOT j.low_priority
          ORDER BY j.position LIMIT 1) IS NOT NULL)`;
    return rows.map((row) => row.id);
  }

  /** Why workers of these endpoints find no place, or jobs wait for workers that may not be; others are left out. */
  async refusals(endpointIds: readonly string[]): Promise<Map<string, PlacementRefusal>> {
    const rows = await this.#database.sql<(PlacementRefusal & { id: string })[]>`
      SELECT endpoint_id AS id, refusal, refusal_by_machine AS "refusalByMachine" FROM scale_decision
      WHERE endpoint_id = ANY(${[...endpointIds]}) AND throttled > 0`;
    const waiting = await this.#database.hot<{ id: string }[]>`
      SELECT e.id FROM endpoint e WHERE e.id = ANY(${[...endpointIds]}) AND e.workers_max = 0 AND (SELECT j.position FROM job j
        WHERE j.endpoint_id = e.id AND j.state = 'IN_QUEUE' ORDER BY j.low_priority, j.position LIMIT 1) IS NOT NULL`;
    return new Map([...rows.map(({ id, ...refusal }) => [id, refusal] as const), ...waiting.map(({ id }) => [id, NO_WORKERS_REFUSAL] as const)]);
  }

  /** What these endpoints ask of machines. */
  async requestsOf(endpointIds: readonly string[]): Promise<EndpointNeeds[]> {
    const { sql } = this.#database;
    return sql<EndpointNeeds[]>`SELECT ${asked(sql)} FROM endpoint e WHERE e.id = ANY(${[...endpointIds]})`;
  }

  /** Ends the workers of machines whose lease has run out. Answers their endpoints. */
  async endLost(): Promise<string[]> {
    const rows = await this.#database.sql<{ endpoint_id: string }[]>`
      UPDATE worker w SET desired = 'GONE', state = 'STOPPED', capacity = 0, ended_at = now(), reason = ${MACHINE_LOST_REASON}
      FROM machine m WHERE m.id = w.machine_id AND m.lease_expires_at < now() AND w.ended_at IS NULL RETURNING w.endpoint_id`;
    return [...new Set(rows.map((row) => row.endpoint_id))];
  }

  /** Deletes ended workers that are old or too many. */
  async pruneEnded(endpointId: string): Promise<void> {
    await this.#database.sql`
      DELETE FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NOT NULL
        AND (ended_at < now() - ${ENDED_WORKERS_KEPT_HOURS}::int * interval '1 h' OR id NOT IN (
          SELECT id FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NOT NULL
          ORDER BY ended_at DESC LIMIT ${ENDED_WORKERS_KEPT}))`;
  }

  /** Takes a turn at an endpoint unless another replica is at it, which is normal. True: the turn was taken. */
  async takeTurn(endpointId: string, turn: (turn: ScaleTurn) => Promise<void>): Promise<boolean> {
    return inTransaction(this.#database.sql, async (sql) => {
      const [endpoint] = await sql<ScaleEndpoint[]>`
        SELECT ${asked(sql)}, e.account_id AS "accountId", e.type, e.workers_min AS "workersMin", e.workers_max AS "workersMax",
          e.idle_timeout_seconds AS "idleTimeoutSeconds", e.scaler_type AS "scalerType", e.scaler_value AS "scalerValue", e.version,
          e.flash_boot_type = 'FLASHBOOT' AND e.type = 'QB' AS "flashBoot"
        FROM endpoint e WHERE e.id = ${endpointId} FOR UPDATE OF e SKIP LOCKED`;
      if (!endpoint) return false;
      const sample = await this.#sample(sql, endpoint);
      await turn({ endpoint, sample, ...this.#actions(sql, endpoint) });
      return true;
    });
  }

  async #sample(sql: Sql, endpoint: ScaleEndpoint): Promise<ScaleSample> {
    const endpointId = endpoint.id;
    const workers = await sql<WorkerRow[]>`
      SELECT w.id, w.machine_id AS "machineId", w.desired, w.state, w.version, w.failures, coalesce(w.retry_at <= now(), false) AS "retryDue",
        greatest(extract(epoch FROM now() - w.busy_at) * 1000, 0)::bigint AS "idleMs",
        greatest(extract(epoch FROM now() - w.desired_at) * 1000, 0)::bigint AS "ageMs",
        cardinality(w.gpu_uuids) AS gpus, m.session_id IS NOT NULL AND m.lease_expires_at > now() AS reachable
      FROM worker w JOIN machine m ON m.id = w.machine_id WHERE w.endpoint_id = ${endpointId} AND w.ended_at IS NULL ORDER BY w.created_at, w.id`;
    const { heldBy, ...demand } = endpoint.type === 'LB' ? await requestDemand(sql, endpointId) : await this.#jobDemand(endpoint);
    const busy = workers.filter((worker) => heldBy.has(worker.id)).map((worker) => worker.id);
    // Idle time counts from the last look that saw it busy; sessions add the attempts that come and go between two looks.
    if (busy.length > 0) await sql`UPDATE worker SET busy_at = now() WHERE id = ANY(${busy})`;
    return { ...demand, workers: workers.map((worker) => ({ ...worker, held: heldBy.get(worker.id) ?? 0 })) };
  }

  async #jobDemand(endpoint: ScaleEndpoint): Promise<HeldDemand> {
    const endpointId = endpoint.id;
    const { hot } = this.#database;
    const [queue] = await hot<{ queued: number; oldest_ms: number | null }[]>`
      SELECT (SELECT count(*)::int FROM (SELECT FROM job WHERE endpoint_id = ${endpointId} AND state = 'IN_QUEUE' AND NOT low_priority
          ORDER BY position LIMIT ${countedMax(endpoint)}) q) AS queued,
        (SELECT (extract(epoch FROM now() - submitted_at) * 1000)::bigint FROM job
          WHERE endpoint_id = ${endpointId} AND state = 'IN_QUEUE' AND NOT low_priority ORDER BY position LIMIT 1) AS oldest_ms`;
    const held = await hot<{ worker_id: string; held: number; normal: number }[]>`
      SELECT worker_id, count(*)::int AS held, (count(*) FILTER (WHERE NOT low_priority))::int AS normal FROM job
      WHERE endpoint_id = ${endpointId} AND state = 'IN_PROGRESS' GROUP BY worker_id ORDER BY worker_id`;
    return {
      queued: queue!.queued,
      oldestWaitMs: Math.max(queue!.oldest_ms ?? 0, 0),
      running: held.reduce((sum, row) => sum + row.normal, 0),
      heldBy: new Map(held.map((row) => [row.worker_id, row.held])),
    };
  }

  #actions(sql: Sql, endpoint: ScaleEndpoint): Omit<ScaleTurn, 'endpoint' | 'sample'> {
    return {
      machines: async () => {
        const { id: endpointId, version, imageName } = endpoint;
        const imageDigest = imageName === '' ? '' : await settledDigest(sql, { endpointId, version, imageName });
        return placementView(sql, { endpointId, imageName, imageDigest });
      },
      wake: (workerIds) => wakeStandbys(sql, workerIds),
      freeze: (workerIds) => freezeWorkers(sql, workerIds),
      add: async (worker) => {
        await evictStandbys(sql, worker.evicted);
        await sql`
          INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids, instance_id, failures)
          VALUES (${worker.id}, ${endpoint.id}, ${worker.machineId}, ${endpoint.version}, ${worker.gpuUuids}, ${worker.instanceId},
            ${worker.failures})`;
      },
      drain: async (workerIds) => {
        if (workerIds.length === 0) return [];
        await lockPlacement(sql);
        const rows = await sql<{ machine_id: string }[]>`
          UPDATE worker SET desired = 'DRAIN', desired_at = now() WHERE id = ANY(${[...workerIds]}) AND desired IN ('RUN', 'FREEZE') RETURNING machine_id`;
        return rows.map((row) => row.machine_id);
      },
      retire: async (workerIds) => {
        if (workerIds.length === 0) return;
        await sql`UPDATE worker SET desired = 'GONE', ended_at = now() WHERE id = ANY(${[...workerIds]}) AND ended_at IS NULL`;
      },
      quota: () => readQuotaState(sql, endpoint.accountId),
      note: async ({ target, throttled, reason, refusal, refusalByMachine }) => {
        await sql`
          INSERT INTO scale_decision AS d (endpoint_id, target, throttled, reason, refusal, refusal_by_machine)
          VALUES (${endpoint.id}, ${target}, ${throttled}, ${reason}, ${refusal}, ${refusalByMachine}) ON CONFLICT (endpoint_id) DO UPDATE
          SET (target, throttled, reason, refusal, refusal_by_machine, decided_at)
            = (excluded.target, excluded.throttled, excluded.reason, excluded.refusal, excluded.refusal_by_machine, now())
          WHERE (d.target, d.throttled, d.reason, d.refusal, d.refusal_by_machine)
            IS DISTINCT FROM (excluded.target, excluded.throttled, excluded.reason, excluded.refusal, excluded.refusal_by_machine)`;
      },
    };
  }

  /** Marks one worker as going before its next job, because it asked for that. Answers its endpoint; undefined: it goes already. */
  async drainOne(workerId: string, machineId: string): Promise<string | undefined> {
    const [row] = await this.#database.sql<{ endpoint_id: string }[]>`
      UPDATE worker SET desired = 'DRAIN' WHERE id = ${workerId} AND machine_id = ${machineId} AND desired = 'RUN' RETURNING endpoint_id`;
    return row?.endpoint_id;
  }
}

/** Requests and connections of a load-balancing endpoint, as facades and proxies told. */
async function requestDemand(sql: Sql, endpointId: string): Promise<HeldDemand> {
  const { waiting, inFlight } = await readDemand(sql, endpointId);
  const running = [...inFlight.values()].reduce((sum, count) => sum + count, 0);
  return { queued: waiting, oldestWaitMs: 0, running, heldBy: inFlight };
}

/** The delay scaler only asks whether jobs wait; the count scaler has seen enough when workersMax is reached. */
function countedMax({ scalerType, workersMax, scalerValue }: ScaleSettings): number {
  return scalerType === 'REQUEST_COUNT' ? Math.min(workersMax * scalerValue + 1, QUEUED_COUNTED_MAX) : 1;
}

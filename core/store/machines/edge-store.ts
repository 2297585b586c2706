/** Reads the backends of load-balancing endpoints for the edge, and stores the demand for them. */
import type { Database, Fragment, Sql } from '../sql/database.ts';
import { DEMAND_VALID_MS } from '../sql/demand-rows.ts';

/** Address of a backend that is reached through the tunnel of its machine (agent_service.proto). */
const TUNNEL_ADDRESS = 'tunnel';
/** Age in seconds after which rows of ended reporters are deleted. */
const DEMAND_KEPT_SECONDS = 300;

/** One worker of a load-balancing endpoint. */
export interface BackendWorker {
  id: string;
  /** Format: host:port. Empty: unknown, or the backend is reached through `tunnelMachineId`. */
  address: string;
  /** Machine through whose tunnel alone it is reached. Empty: it is reached at its address. */
  tunnelMachineId: string;
  /** True if it takes requests. Otherwise it is starting, unhealthy or stopping. */
  ready: boolean;
  /** True if it is stopping: it finishes its requests and gets no new ones. */
  draining: boolean;
  /** True if the present requests need fewer workers, and not this one. */
  surplus: boolean;
}

/** A load-balancing endpoint as the edge sees it. */
export interface EndpointBackends {
  endpointId: string;
  accountId: string;
  /** Most concurrent requests of a worker. */
  workerConcurrency: number;
  workersMax: number;
  /** Requests for which the scaler wants one worker. */
  scalerValue: number;
  /** True if its workers speak HTTP/2 without TLS. */
  h2c: boolean;
  /** True if each connection to its workers is for one request, because such workers were seen. */
  singleUse: boolean;
  /** Workers, sorted by id. */
  workers: BackendWorker[];
}

/** A port of a pod as facades see it. */
export interface PodLocation {
  accountId: string;
  /** All ports that the pod names, of every protocol. */
  ports: string[];
  /** Format: host:port. Empty: it does not run now, or it is reached through `tunnelMachineId`. */
  address: string;
  /** Machine through whose tunnel alone it is reached. Empty: it is reached at its address. */
  tunnelMachineId: string;
}

/** Demand of one facade or proxy for one endpoint. */
export interface Demand {
  endpointId: string;
  /** Source of the demand. There is at most one row for each source and endpoint. */
  reporter: string;
  waiting: number;
  inFlight: ReadonlyMap<string, number>;
}

interface BackendRow {
  endpointId: string;
  accountId: string;
  workerConcurrency: number;
  workersMax: number;
  scalerValue: number;
  h2c: boolean;
  singleUse: boolean;
  id: string | null;
  address: string | null;
  machineId: string | null;
  ready: boolean | null;
  draining: boolean | null;
  surplus: boolean | null;
}

export class EdgeStore {
  readonly #sql: Sql;

  constructor({ sql }: Pick<Database, 'sql'>) {
    this.#sql = sql;
  }

  /**
   * Returns load-balancing endpoints with their workers, by id. Without `endpointIds`: all. Endpoints that do not exist
   * or are of another type are left out.
   */
  async backends(endpointIds?: readonly string[]): Promise<EndpointBackends[]> {
    const all = endpointIds === undefined;
    const rows = await this.#sql<BackendRow[]>`
      SELECT e.id AS "endpointId", e.account_id AS "accountId", e.worker_concurrency AS "workerConcurrency",
        e.workers_max AS "workersMax",
        e.scaler_value AS "scalerValue",
        EXISTS (SELECT FROM unnest(coalesce((SELECT g.ports FROM given_template g WHERE g.endpoint_id = e.id), t.ports))
          port WHERE port LIKE '%/grpc') AS h2c,
        EXISTS (SELECT FROM worker c WHERE c.endpoint_id = e.id AND c.single_use
          AND (c.ended_at IS NULL OR c.version = e.version)) AS "singleUse",
        w.id, w.address, w.machine_id AS "machineId",
        (w.desired = 'RUN' AND w.state = 'READY' AND w.health = 'READY' AND w.address <> '') AS ready,
        (w.desired = 'DRAIN' OR w.state = 'DRAINING') AS draining,
        ${surplus(this.#sql)} AS surplus
      FROM endpoint e JOIN template t ON t.id = e.template_id LEFT JOIN worker w ON w.endpoint_id = e.id
        AND w.ended_at IS NULL AND w.endpoint_id <> ''
        AND w.state IN ('INITIALIZING', 'READY', 'DRAINING') AND w.desired IN ('RUN', 'DRAIN')
      WHERE e.type = 'LB' AND (${all} OR e.id = ANY(${[...(endpointIds ?? [])]}::text[])) ORDER BY e.id, w.id`;
    const found = new Map<string, EndpointBackends>();
    for (const { id, ready, draining, surplus: over, address, machineId, ...row } of rows) {
      const { endpointId } = row;
      const endpoint = found.get(endpointId) ?? { ...row, workers: [] };
      found.set(endpointId, endpoint);
      if (id === null) continue;
      endpoint.workers.push({
        id,
        ready: ready === true,
        draining: draining === true,
        surplus: over === true,
        ...wayTo({ address, machineId }),
      });
    }
    return [...found.values()];
  }

  /** Returns the location of a pod's port. `undefined` if there is no such pod. */
  async pod(podId: string, port: number): Promise<PodLocation | undefined> {
    const [row] = await this.#sql<{ accountId: string; ports: string[]; machineId: string; address: string | null }[]>`
      SELECT account_id AS "accountId", ports, machine_id AS "machineId",
        CASE WHEN desired = 'RUNNING' AND state = 'RUNNING' THEN http_addresses ->> ${String(port)}::text END AS address
      FROM pod WHERE id = ${podId}`;
    return row && { accountId: row.accountId, ports: row.ports, ...wayTo(row) };
  }

  /**
   * Stores demands in one statement. Each replaces the previous demand of its reporter for the endpoint. Endpoints that
   * do not exist are left out.
   */
  async saveDemands(demands: readonly Demand[]): Promise<void> {
    if (demands.length === 0) return;
    const rows = demands.map(({ endpointId, reporter, waiting, inFlight }) => ({
      endpoint_id: endpointId,
      reporter,
      waiting,
      worker_ids: [...inFlight.keys()],
      in_flight: [...inFlight.values()],
    }));
    await this.#sql`
      INSERT INTO endpoint_demand AS d (endpoint_id, reporter, waiting, waiting_since, worker_ids, in_flight)
      SELECT r.endpoint_id, r.reporter, r.waiting, CASE WHEN r.waiting > 0 THEN now() END,
        ARRAY(SELECT jsonb_array_elements_text(r.worker_ids)),
        ARRAY(SELECT jsonb_array_elements_text(r.in_flight)::int)
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r (endpoint_id text, reporter text, waiting int,
        worker_ids jsonb, in_flight jsonb)
        JOIN endpoint e ON e.id = r.endpoint_id AND e.type = 'LB'
      ON CONFLICT (endpoint_id, reporter) DO UPDATE SET (waiting, waiting_since, worker_ids, in_flight, reported_at)
        = (excluded.waiting, CASE WHEN excluded.waiting > 0 THEN coalesce(d.waiting_since, now()) END,
          excluded.worker_ids, excluded.in_flight, now())`;
  }

  /** Deletes the demands of a reporter, except those for these endpoints. */
  async dropDemands(reporter: string, keptIds: readonly string[]): Promise<void> {
    await this
      .#sql`DELETE FROM endpoint_demand WHERE reporter = ${reporter} AND endpoint_id <> ALL(${[...keptIds]}::text[])`;
  }

  /** Deletes demands that are no longer reported. */
  async pruneDemands(): Promise<void> {
    await this
      .#sql`DELETE FROM endpoint_demand WHERE reported_at < now() - ${DEMAND_KEPT_SECONDS}::int * interval '1 s'`;
  }
}

/**
 * Returns the condition that worker `w` of endpoint `e` is surplus: more than the present requests need. The workers
 * that have been ready longest stay. Applies only where the number of requests determines the number of workers.
 */
function surplus(sql: Sql): Fragment {
  return sql`(e.scaler_type = 'REQUEST_COUNT' AND w.desired = 'RUN' AND w.state = 'READY' AND w.health = 'READY' AND (
    SELECT count(*) FROM worker o WHERE o.endpoint_id = e.id AND o.endpoint_id <> '' AND o.ended_at IS NULL
      AND o.desired = 'RUN' AND o.state = 'READY'
      AND o.health = 'READY' AND (o.created_at, o.id) < (w.created_at, w.id)
    ) >= greatest(e.workers_min, 1,
    ceil((SELECT coalesce(sum(d.waiting + (SELECT coalesce(sum(n), 0) FROM unnest(d.in_flight) AS n)), 0)
      FROM endpoint_demand d WHERE d.endpoint_id = e.id
        AND d.reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms')::numeric / e.scaler_value)))`;
}

function wayTo({
  address,
  machineId,
}: Pick<BackendRow, 'address' | 'machineId'>): Pick<BackendWorker, 'address' | 'tunnelMachineId'> {
  return address === TUNNEL_ADDRESS
    ? { address: '', tunnelMachineId: machineId ?? '' }
    : { address: address ?? '', tunnelMachineId: '' };
}

/** What scaling sees of endpoints: settings, workers, what there is to do, and what was decided last. A few statements, however many endpoints. */
import type { DecisionSample, DecisionSettings, DecisionSummary } from '../domain/scale-decision.ts';
import type { PlacementRequest } from '../domain/placement-filters.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from '../domain/scaler.ts';
import type { Sql } from './database.ts';
import { readDemands } from './edge-store.ts';
import { asked } from './placement-view.ts';
import { readTraffic } from './traffic-store.ts';

/** Queued jobs are counted no further than this. */
const QUEUED_COUNTED_MAX = 100_000;
/** Counted each second; so long a queue wants all the workers that there may be. */
const SLO_COUNTED_MAX = 10_000;

/** An endpoint as scaling needs it. */
export interface ScaleEndpoint extends ScaleSettings, PlacementRequest {
  id: string;
  accountId: string;
  type: 'QB' | 'LB';
}

/** What was seen of one endpoint. */
export interface EndpointSample {
  endpoint: ScaleEndpoint;
  sample: DecisionSample;
  /** What was decided last; undefined: nothing yet. */
  before: DecisionSummary | undefined;
}

type EndpointRow = ScaleEndpoint & { [Name in keyof DecisionSummary]: DecisionSummary[Name] | null };
type WorkerRow = Omit<WorkerSample, 'held'> & { endpointId: string };

/** What there is to do, and what each worker has of it. */
type HeldDemand = Omit<ScaleSample, 'workers'> & { heldBy: ReadonlyMap<string, number> };

const NOTHING: HeldDemand = { queued: 0, oldestWaitMs: 0, running: 0, heldBy: new Map() };

/** Samples endpoints. Those that are gone are left out. */
export async function sampleEndpoints(sql: Sql, hot: Sql, endpointIds: readonly string[]): Promise<EndpointSample[]> {
  if (endpointIds.length === 0) return [];
  const rows = await sql<EndpointRow[]>`
    SELECT ${asked(sql)}, e.account_id AS "accountId", e.type, e.workers_min AS "workersMin", e.workers_max AS "workersMax",
      e.idle_timeout_seconds AS "idleTimeoutSeconds", e.scaler_type AS "scalerType", e.scaler_value AS "scalerValue", e.version,
      e.flash_boot_type = 'FLASHBOOT' AND e.type = 'QB' AS "flashBoot",
      d.target, d.throttled, d.reason, d.refusal, d.refusal_by_machine AS "refusalByMachine"
    FROM endpoint e LEFT JOIN scale_decision d ON d.endpoint_id = e.id WHERE e.id = ANY(${[...endpointIds]})`;
  const workers = Map.groupBy(await readWorkers(sql, endpointIds), ({ endpointId }) => endpointId);
  const traffic = await readTraffic(sql, rows.filter(({ scalerType }) => scalerType === 'SLO').map(({ id }) => id));
  const demands = new Map([...await jobDemands(hot, rows.filter(({ type }) => type === 'QB')), ...await requestDemands(sql, rows)]);
  return rows.map((row) => {
    const { heldBy, ...demand } = demands.get(row.id) ?? NOTHING;
    const own = (workers.get(row.id) ?? []).map(({ endpointId: _, ...worker }) => ({ ...worker, held: heldBy.get(worker.id) ?? 0 }));
    const lately = traffic.get(row.id);
    const { target, throttled, reason, refusal, refusalByMachine, ...endpoint } = row;
    const before = target === null ? undefined : { target, throttled: throttled!, reason: reason!, refusal: refusal!, refusalByMachine: refusalByMachine! };
    return { endpoint, before, sample: { demand: { ...demand, ...(lately && { traffic: lately }), workers: own }, settings: settingsOf(endpoint) } };
  });
}

/** Workers of endpoints that have not ended, oldest first. */
export async function readWorkers(sql: Sql, endpointIds: readonly string[]): Promise<WorkerRow[]> {
  return sql<WorkerRow[]>`
    SELECT w.endpoint_id AS "endpointId", w.id, w.machine_id AS "machineId", w.desired, w.state, w.version, w.failures,
      coalesce(w.retry_at <= now(), false) AS "retryDue",
      greatest(extract(epoch FROM now() - w.busy_at) * 1000, 0)::bigint AS "idleMs",
      greatest(extract(epoch FROM now() - w.desired_at) * 1000, 0)::bigint AS "ageMs",
      cardinality(w.gpu_uuids) AS gpus, m.session_id IS NOT NULL AND m.lease_expires_at > now() AND NOT m.cordoned AS reachable
    FROM worker w JOIN machine m ON m.id = w.machine_id WHERE w.endpoint_id = ANY(${[...endpointIds]}) AND w.ended_at IS NULL ORDER BY w.created_at, w.id`;
}

/** Jobs of queue-based endpoints. On the hot pool, whose plans are the indexes whatever the table was when they were made. */
async function jobDemands(hot: Sql, endpoints: readonly ScaleEndpoint[]): Promise<Map<string, HeldDemand>> {
  if (endpoints.length === 0) return new Map();
  const ids = endpoints.map(({ id }) => id);
  const queues = await hot<{ id: string; queued: number; oldest_ms: number | null }[]>`
    SELECT e.id, (SELECT count(*)::int FROM (SELECT FROM job WHERE endpoint_id = e.id AND state = 'IN_QUEUE' AND NOT low_priority
        ORDER BY position LIMIT e.counted_max) q) AS queued,
      (SELECT (extract(epoch FROM now() - submitted_at) * 1000)::bigint FROM job
        WHERE endpoint_id = e.id AND state = 'IN_QUEUE' AND NOT low_priority ORDER BY position LIMIT 1) AS oldest_ms
    FROM unnest(${ids}::text[], ${endpoints.map(countedMax)}::int[]) AS e (id, counted_max)`;
  const held = await hot<{ id: string; worker_id: string; held: number; normal: number }[]>`
    SELECT e.id, h.* FROM unnest(${ids}::text[]) AS e (id) CROSS JOIN LATERAL (
      SELECT worker_id, count(*)::int AS held, (count(*) FILTER (WHERE NOT low_priority))::int AS normal FROM job
      WHERE endpoint_id = e.id AND state = 'IN_PROGRESS' GROUP BY worker_id ORDER BY worker_id) h`;
  const heldOf = Map.groupBy(held, ({ id }) => id);
  return new Map(queues.map(({ id, queued, oldest_ms }) => {
    const own = heldOf.get(id) ?? [];
    const running = own.reduce((sum, { normal }) => sum + normal, 0);
    return [id, { queued, oldestWaitMs: Math.max(oldest_ms ?? 0, 0), running, heldBy: new Map(own.map((row) => [row.worker_id, row.held])) }];
  }));
}

/** Requests and connections of load-balancing endpoints, as facades and proxies told. */
async function requestDemands(sql: Sql, endpoints: readonly ScaleEndpoint[]): Promise<Map<string, HeldDemand>> {
  const ids = endpoints.filter(({ type }) => type === 'LB').map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const totals = await readDemands(sql, ids);
  return new Map([...totals].map(([id, { waiting, inFlight }]) => {
    const running = [...inFlight.values()].reduce((sum, count) => sum + count, 0);
    return [id, { queued: waiting, oldestWaitMs: 0, running, heldBy: inFlight }];
  }));
}

/** The delay scaler only asks whether jobs wait; the count scaler has seen enough when workersMax is reached; how many work off a queue depends on it all. */
function countedMax({ scalerType, workersMax, scalerValue }: ScaleSettings): number {
  if (scalerType === 'SLO') return SLO_COUNTED_MAX;
  return scalerType === 'REQUEST_COUNT' ? Math.min(workersMax * scalerValue + 1, QUEUED_COUNTED_MAX) : 1;
}

/** What a decision depends on, and nothing else of the endpoint: its sample is kept. */
function settingsOf({ id: _id, accountId: _account, type: _type, ...settings }: ScaleEndpoint): DecisionSettings {
  return settings;
}

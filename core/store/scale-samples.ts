/** What scaling sees of endpoints: settings, workers, what there is to do, and what was decided last. A few statements, however many endpoints. */
import { scaledSettings } from '../domain/rollout.ts';
import type { Rollout } from '../domain/rollout-settings.ts';
import { requestOf } from '../domain/scale-decision.ts';
import type { DecisionSample, DecisionSettings, DecisionSummary } from '../domain/scale-decision.ts';
import type { PlacementRequest } from '../domain/placement-filters.ts';
import { CRASHES_REMEMBERED_HOURS } from '../domain/machine-crashes.ts';
import type { MachineCrashes } from '../domain/machine-crashes.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from '../domain/scaler.ts';
import type { Database, Fragment, Sql } from './database.ts';
import { readDemands } from './demand-rows.ts';
import { asked } from './placement-view.ts';
import { rolloutColumns, rolloutJoins } from './rollout-rows.ts';
import type { RunningJobs } from './running-jobs.ts';
import { readTraffic } from './traffic-rows.ts';

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
  /** The version that the endpoint has, whichever is scaled. */
  released: number;
  /** Undefined: it is complete, or nothing is kept of it. */
  rollout: Rollout | undefined;
}

type EndpointRow = ScaleEndpoint & { [Name in keyof DecisionSummary]: DecisionSummary[Name] | null }
  & { keptRollout: Rollout | null; good: (PlacementRequest & { version: number }) | null };
/** A worker of an endpoint. */
export type WorkerRow = Omit<WorkerSample, 'held'> & { endpointId: string };

/** What there is to do, and what each worker has of it. */
type HeldDemand = Omit<ScaleSample, 'workers'> & { heldBy: ReadonlyMap<string, number>; lowOnly?: ReadonlySet<string> };

const NOTHING: HeldDemand = { queued: 0, oldestWaitMs: 0, running: 0, heldBy: new Map() };

/** What samples are read from. */
export interface SampleSources extends Pick<Database, 'hot'> {
  /** The general pool, or a transaction. */
  sql: Sql;
  running: RunningJobs;
}

/**
 * Samples endpoints. Those that are gone are left out. All is looked up by index on the hot pool: plans that were made while a fleet was small read whole
 * tables for each endpoint once it has grown. A transaction samples before it writes, so that it misses nothing of its own.
 */
export async function sampleEndpoints({ sql, hot, running }: SampleSources, endpointIds: readonly string[]): Promise<EndpointSample[]> {
  if (endpointIds.length === 0) return [];
  const rows = await hot<EndpointRow[]>`
    SELECT ${asked(hot)}, e.account_id AS "accountId", e.type, e.workers_min AS "workersMin", e.workers_max AS "workersMax",
      e.idle_timeout_seconds AS "idleTimeoutSeconds", e.scaler_type AS "scalerType",
      CASE WHEN e.queue_delay_ms > 0 THEN e.queue_delay_ms::float8 / 1000 ELSE e.scaler_value END AS "scalerValue", e.version,
      e.flash_boot_type = 'FLASHBOOT' AND e.type = 'QB' AS "flashBoot",
      d.target, d.throttled, d.reason, d.refusal, d.refusal_by_machine AS "refusalByMachine", ${rolloutColumns(hot)}
    FROM endpoint e LEFT JOIN scale_decision d ON d.endpoint_id = e.id ${rolloutJoins(hot)} WHERE e.id = ANY(${[...endpointIds]})`;
  // Beside each other: a job waits for what this comes to.
  const [workerRows, traffic, ofJobs, ofRequests] = await Promise.all([
    readWorkers(hot, endpointIds), readTraffic(hot, rows.filter(({ scalerType }) => scalerType === 'SLO')),
    jobDemands({ hot, running }, rows.filter(({ type }) => type === 'QB')), requestDemands(sql, rows),
  ]);
  const workers = Map.groupBy(workerRows, ({ endpointId }) => endpointId);
  const demands = new Map([...ofJobs, ...ofRequests]);
  return rows.map((row) => {
    const { heldBy, lowOnly, ...demand } = demands.get(row.id) ?? NOTHING;
    const own = (workers.get(row.id) ?? []).map(({ endpointId: _, ...worker }) => (
      { ...worker, held: heldBy.get(worker.id) ?? 0, ...(lowOnly?.has(worker.id) && { lowOnly: true as const }) }));
    const lately = traffic.get(row.id);
    const { target, throttled, reason, refusal, refusalByMachine, keptRollout, good, ...released } = row;
    const endpoint = scaledSettings<ScaleEndpoint>(released, good ? { ...released, ...good } : undefined, keptRollout ?? undefined, own, target ?? undefined);
    const isChecked = endpoint.rollout?.state === 'CHECKING' && good;
    const settings = { ...settingsOf(endpoint), ...(isChecked && { checked: requestOf(released) }) };
    const seen = { ...demand, ...(lately && { traffic: lately }), workers: sampledWorkers(own, endpoint) };
    const before = target === null ? undefined : { target, throttled: throttled!, reason: reason!, refusal: refusal!, refusalByMachine: refusalByMachine! };
    return { endpoint, before, sample: { demand: seen, settings }, released: released.version, rollout: keptRollout ?? undefined };
  });
}

/**
 * Returns the workers of a sample. What only a rollout asks of them is left out where there is none. A blocked worker takes
 * no slot of workersMax: it counts as one that drains, so that another is started where jobs wait. At most workersMax of
 * them count so: no endpoint ever has more than twice as many workers.
 */
export function sampledWorkers(workers: readonly WorkerSample[], { rollout, workersMax }: ScaleSettings): WorkerSample[] {
  let surge = workersMax;
  return workers.map(({ served, readyMs, ...worker }) => {
    const ofRollout = rollout && { ...(served && { served }), ...(readyMs !== undefined && { readyMs }) };
    const isReplaced = worker.blocked === true && surge > 0;
    if (isReplaced) surge -= 1;
    return { ...worker, ...ofRollout, ...(isReplaced && { desired: 'DRAIN' as const }) };
  });
}

/** Workers of endpoints that have not ended, oldest first. */
export async function readWorkers(sql: Sql, endpointIds: readonly string[]): Promise<WorkerRow[]> {
  type Row = Omit<WorkerRow, 'retryMs' | 'readyMs' | 'served' | 'takesRequests' | 'blocked'>;
  type Flags = Record<'served' | 'takesRequests' | 'blocked', boolean>;
  const rows = await sql<(Row & Flags & { retryMs: number | null; readyMs: number | null })[]>`
    SELECT w.endpoint_id AS "endpointId", w.id, w.machine_id AS "machineId", w.desired, w.state, w.version, w.failures,
      w.state = 'READY' AND w.health = 'READY' AS "takesRequests",
      w.blocked AND w.state = 'READY' AND w.desired = 'RUN' AS blocked,
      coalesce(w.retry_at <= now(), false) AS "retryDue",
      CASE WHEN w.retry_at > now() THEN ceil(extract(epoch FROM w.retry_at - now()) * 1000)::bigint END AS "retryMs",
      greatest(extract(epoch FROM now() - w.busy_at) * 1000, 0)::bigint AS "idleMs",
      greatest(extract(epoch FROM now() - w.desired_at) * 1000, 0)::bigint AS "ageMs",
      greatest(extract(epoch FROM now() - w.ready_at) * 1000, 0)::bigint AS "readyMs", cardinality(w.busy_times) > 1 AS served,
      cardinality(w.gpu_uuids) AS gpus, m.session_id IS NOT NULL AND m.lease_expires_at > now() AND NOT m.cordoned AS reachable
    FROM worker w JOIN machine m ON m.id = w.machine_id
    WHERE w.endpoint_id = ANY(${[...endpointIds]}) AND w.ended_at IS NULL AND w.endpoint_id <> '' ORDER BY w.created_at, w.id`;
  return rows.map(({ retryMs, readyMs, served, takesRequests, blocked, ...row }) => ({
    ...row, ...(retryMs !== null && { retryMs }), ...(readyMs !== null && { readyMs }), ...(served && { served: true as const }),
    ...(takesRequests && { takesRequests: true as const }), ...(blocked && { blocked: true as const }),
  }));
}

/** A version of an endpoint. */
export interface EndpointVersion {
  id: string;
  version: number;
}

/**
 * Crashes of these versions, one of each endpoint, by machine: those that are followed by a pause (crashPauseSeconds), of workers that were to run. A worker
 * that came after one carries its series until it has done a job; one that carries nothing any more ends it. Of one that came before that tells nothing.
 */
export async function readCrashes(sql: Sql, versions: readonly EndpointVersion[]): Promise<Map<string, MachineCrashes[]>> {
  if (versions.length === 0) return new Map();
  const rows = await sql<(MachineCrashes & { endpointId: string })[]>`
    SELECT DISTINCT ON (c.endpoint_id, c.machine_id) c.endpoint_id AS "endpointId", c.machine_id AS "machineId", c.failures, c.id AS "workerId",
      c.exit_code AS "exitCode", c.gpu_uuids AS "gpuUuids", ceil(greatest(extract(epoch FROM c.retry_at - now()) * 1000, 0))::bigint AS "retryMs"
    FROM unnest(${versions.map(({ id }) => id)}::text[], ${versions.map(({ version }) => version)}::int[]) AS e (id, version)
      JOIN worker c ON c.endpoint_id = e.id AND c.version = e.version
    WHERE c.endpoint_id = ANY(${versions.map(({ id }) => id)}) AND ${crashed(sql)} AND c.retry_at > now() - ${CRASHES_REMEMBERED_HOURS}::int * interval '1 h'
      AND NOT EXISTS (SELECT FROM worker w WHERE w.endpoint_id = c.endpoint_id AND w.machine_id = c.machine_id AND w.version = c.version
        AND w.failures = 0 AND w.created_at > c.retry_at - interval '1 s')
    ORDER BY c.endpoint_id, c.machine_id, c.retry_at DESC`;
  const byEndpoint = new Map<string, MachineCrashes[]>();
  for (const { endpointId, ...crashes } of rows) byEndpoint.set(endpointId, [...byEndpoint.get(endpointId) ?? [], crashes]);
  return byEndpoint;
}

/** A worker `c` crashed and was to run, and a pause follows. */
export function crashed(sql: Sql): Fragment {
  return sql`c.state = 'UNHEALTHY' AND c.desired IN ('RUN', 'GONE') AND (c.failures > 1 OR c.ready_at IS NULL)`;
}

/** Jobs of queue-based endpoints. On the hot pool, whose plans are the indexes whatever the table was when they were made. */
async function jobDemands(
  { hot, running }: Pick<SampleSources, 'hot' | 'running'>, endpoints: readonly ScaleEndpoint[],
): Promise<Map<string, HeldDemand>> {
  if (endpoints.length === 0) return new Map();
  const ids = endpoints.map(({ id }) => id);
  const queues = await hot<{ id: string; queued: number; oldest_ms: number | null }[]>`
    SELECT e.id, least(greatest(t.queued, 0), e.counted_max)::int AS queued,
      CASE WHEN t.queued > 0 THEN (extract(epoch FROM now() - coalesce(${first(hot, hot`t.claimed_to`)}, ${first(hot, hot`0`)})) * 1000)::bigint END
        AS oldest_ms
    FROM unnest(${ids}::text[], ${endpoints.map(countedMax)}::int[]) AS e (id, counted_max)
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(queued - queued_low), 0) AS queued, coalesce(max(claimed_to), 0) AS claimed_to FROM endpoint_tally WHERE endpoint_id = e.id) AS t`;
  const held = await running.heldBy(ids);
  return new Map(queues.map(({ id, queued, oldest_ms }) => {
    const own = held.get(id) ?? [];
    const demand = { queued, oldestWaitMs: Math.max(oldest_ms ?? 0, 0), running: own.reduce((sum, { normal }) => sum + normal, 0) };
    const lowOnly = new Set(own.flatMap(({ workerId, normal }) => (normal === 0 ? [workerId] : [])));
    return [id, { ...demand, heldBy: new Map(own.map((worker) => [worker.workerId, worker.held])), lowOnly }];
  }));
}

/**
 * When the first job of normal priority after a position was submitted. Those that ran are still at the head of the queue's index until vacuum may remove
 * them, so the look begins where claims have come to; an attempt that was lost and waits again before that place is claimed next anyway.
 */
function first(hot: Sql, after: Fragment) {
  return hot`(SELECT submitted_at FROM job WHERE endpoint_id = e.id AND state = 'IN_QUEUE' AND low_priority = false AND position > ${after}
    ORDER BY position LIMIT 1)`;
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
function settingsOf({ id: _id, accountId: _account, type, ...settings }: ScaleEndpoint): DecisionSettings {
  return type === 'LB' ? { ...settings, requests: true } : settings;
}

/**
 * Reads samples of endpoints: settings, workers, demand and the previous decision. A few statements, however many
 * endpoints.
 */

import { requestOf } from '../../domain/scaling/fleet-sample.ts';
import type { MachineCrashes } from '../../domain/scaling/machine-crashes.ts';
import { CRASHES_REMEMBERED_HOURS } from '../../domain/scaling/machine-crashes.ts';
import type { PlacementRequest } from '../../domain/scaling/placement-machine.ts';
import { scaledSettings } from '../../domain/scaling/rollout.ts';
import type { Rollout } from '../../domain/scaling/rollout-settings.ts';
import type { DecisionSample, DecisionSettings, DecisionSummary } from '../../domain/scaling/scale-decision.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from '../../domain/scaling/scaler.ts';
import type { RunningJobs } from '../jobs/running-jobs.ts';
import { rolloutColumns, rolloutJoins } from '../resources/rollout-rows.ts';
import type { Database, Fragment, Sql } from '../sql/database.ts';
import { readDemands } from '../sql/demand-rows.ts';
import { asked } from './placement-view.ts';
import { readTraffic } from './traffic-rows.ts';
import { readWorkers } from './worker-samples.ts';

/** Maximum number of queued jobs that is counted. */
const QUEUED_COUNTED_MAX = 100_000;
/** The same for the SLO scaler, every second. A queue of this length needs all workers that are allowed. */
const SLO_COUNTED_MAX = 10_000;

/** An endpoint with the settings that scaling needs. */
export interface ScaleEndpoint extends ScaleSettings, PlacementRequest {
  id: string;
  accountId: string;
  type: 'QB' | 'LB';
}

/** Sample of one endpoint. */
export interface EndpointSample {
  endpoint: ScaleEndpoint;
  sample: DecisionSample;
  /** The previous decision, `undefined` if there is none. */
  previous: DecisionSummary | undefined;
  /** The released version, which may differ from the scaled one. */
  released: number;
  /** The current rollout, `undefined` if it is complete or nothing is stored of it. */
  rollout: Rollout | undefined;
}

type EndpointRow = ScaleEndpoint & { [Name in keyof DecisionSummary]: DecisionSummary[Name] | null } & {
  keptRollout: Rollout | null;
  good: (PlacementRequest & { version: number }) | null;
};
/** Demand, with the number of jobs or requests that each worker holds. */
type HeldDemand = Omit<ScaleSample, 'workers'> & { heldBy: ReadonlyMap<string, number>; lowOnly?: ReadonlySet<string> };

const NOTHING: HeldDemand = { queued: 0, oldestWaitMs: 0, running: 0, heldBy: new Map() };

/** Sources of samples. */
interface SampleSources extends Pick<Database, 'hot'> {
  /** The general pool, or a transaction. */
  sql: Sql;
  running: RunningJobs;
  /** Time that workers on standby keep their memory on GPUs, in seconds. Default STANDBY_SECONDS. */
  standbySeconds?: number | undefined;
}

/**
 * Samples endpoints. Deleted endpoints are left out. All rows are read by index on the hot pool: plans made for a small
 * fleet would scan whole tables for each endpoint once it has grown. A transaction must sample before it writes, as its
 * own changes are not visible here.
 */
export async function sampleEndpoints(
  { sql, hot, running, standbySeconds }: SampleSources,
  endpointIds: readonly string[],
): Promise<EndpointSample[]> {
  if (endpointIds.length === 0) return [];
  const rows = await hot<EndpointRow[]>`
    SELECT ${asked(hot)}, e.account_id AS "accountId", e.type, e.workers_min AS "workersMin",
      e.workers_max AS "workersMax",
      e.idle_timeout_seconds AS "idleTimeoutSeconds", e.scaler_type AS "scalerType",
      CASE WHEN e.queue_delay_ms > 0 THEN e.queue_delay_ms::float8 / 1000 ELSE e.scaler_value END AS "scalerValue",
      e.version,
      e.flash_boot_type = 'FLASHBOOT' AND e.type = 'QB' AS "flashBoot",
      nullif(e.flash_boot_standby, 'AUTO') AS standby,
      d.target, d.throttled, d.reason, d.refusal, d.refusal_by_machine AS "refusalByMachine", ${rolloutColumns(hot)}
    FROM endpoint e LEFT JOIN scale_decision d ON d.endpoint_id = e.id ${rolloutJoins(hot)}
      WHERE e.id = ANY(${[...endpointIds]})`;
  // In parallel, as a job waits for the result.
  const [workerRows, traffic, ofJobs, ofRequests] = await Promise.all([
    readWorkers(hot, endpointIds),
    readTraffic(
      hot,
      rows.filter(({ scalerType }) => scalerType === 'SLO'),
    ),
    jobDemands(
      { hot, running },
      rows.filter(({ type }) => type === 'QB'),
    ),
    requestDemands(sql, rows),
  ]);
  const workers = Map.groupBy(workerRows, ({ endpointId }) => endpointId);
  const demands = new Map([...ofJobs, ...ofRequests]);
  return rows.map((row) => {
    const { heldBy, lowOnly, ...demand } = demands.get(row.id) ?? NOTHING;
    const own = (workers.get(row.id) ?? []).map(({ endpointId: _, ...worker }) => ({
      ...worker,
      held: heldBy.get(worker.id) ?? 0,
      ...(lowOnly?.has(worker.id) && { lowOnly: true as const }),
    }));
    const lately = traffic.get(row.id);
    const { target, throttled, reason, refusal, refusalByMachine, keptRollout, good, ...released } = row;
    const endpoint = scaledSettings<ScaleEndpoint>(
      released,
      good ? { ...released, ...good } : undefined,
      keptRollout ?? undefined,
      own,
      target ?? undefined,
    );
    const isChecked = endpoint.rollout?.state === 'CHECKING' && good;
    const settings = {
      ...settingsOf(endpoint),
      ...(isChecked && { checked: requestOf(released) }),
      ...(standbySeconds !== undefined && endpoint.flashBoot && { standbySeconds }),
    };
    const seen = { ...demand, ...(lately && { traffic: lately }), workers: sampledWorkers(own, endpoint) };
    const previous =
      target === null
        ? undefined
        : { target, throttled: throttled!, reason: reason!, refusal: refusal!, refusalByMachine: refusalByMachine! };
    return {
      endpoint,
      previous,
      sample: { demand: seen, settings },
      released: released.version,
      rollout: keptRollout ?? undefined,
    };
  });
}

/**
 * Returns the workers of a sample, without members that only a rollout needs if there is none. A blocked worker does
 * not count for workersMax: it counts as draining, so that another is started if jobs wait. At most workersMax workers
 * do, so that an endpoint never has more than twice as many.
 */
export function sampledWorkers(
  workers: readonly WorkerSample[],
  { rollout, workersMax }: ScaleSettings,
): WorkerSample[] {
  let surge = workersMax;
  return workers.map(({ served, readyMs, ...worker }) => {
    const ofRollout = rollout && { ...(served && { served }), ...(readyMs !== undefined && { readyMs }) };
    const isReplaced = worker.blocked === true && surge > 0;
    if (isReplaced) surge -= 1;
    return { ...worker, ...ofRollout, ...(isReplaced && { desired: 'DRAIN' as const }) };
  });
}

/** A version of an endpoint. */
export interface EndpointVersion {
  id: string;
  version: number;
}

/**
 * Returns crashes by machine of these versions, at most one version per endpoint. Only crashes with a restart back-off
 * count (crashPauseSeconds), of workers that were to run. A worker that follows a crash continues its series until it
 * finishes a job; a later worker without crashes ends the series. A worker that was created before the crash does not.
 */
export async function readCrashes(
  sql: Sql,
  versions: readonly EndpointVersion[],
): Promise<Map<string, MachineCrashes[]>> {
  if (versions.length === 0) return new Map();
  const rows = await sql<(MachineCrashes & { endpointId: string })[]>`
    SELECT DISTINCT ON (c.endpoint_id, c.machine_id) c.endpoint_id AS "endpointId", c.machine_id AS "machineId",
      c.failures, c.id AS "workerId",
      c.exit_code AS "exitCode", c.gpu_uuids AS "gpuUuids",
      ceil(greatest(extract(epoch FROM c.retry_at - now()) * 1000, 0))::bigint AS "retryMs"
    FROM unnest(${versions.map(({ id }) => id)}::text[], ${versions.map(({ version }) => version)}::int[]) AS e (id,
      version)
      JOIN worker c ON c.endpoint_id = e.id AND c.version = e.version
    WHERE c.endpoint_id = ANY(${versions.map(({ id }) => id)}) AND ${crashed(sql)}
      AND c.retry_at > now() - ${CRASHES_REMEMBERED_HOURS}::int * interval '1 h'
      AND NOT EXISTS (SELECT FROM worker w WHERE w.endpoint_id = c.endpoint_id AND w.machine_id = c.machine_id
        AND w.version = c.version
        AND w.failures = 0 AND w.created_at > c.retry_at - interval '1 s')
    ORDER BY c.endpoint_id, c.machine_id, c.retry_at DESC`;
  const byEndpoint = new Map<string, MachineCrashes[]>();
  for (const { endpointId, ...crashes } of rows)
    byEndpoint.set(endpointId, [...(byEndpoint.get(endpointId) ?? []), crashes]);
  return byEndpoint;
}

/** Returns the condition that worker `c` crashed, should be running, and has a restart back-off. */
export function crashed(sql: Sql): Fragment {
  return sql`c.state = 'UNHEALTHY' AND c.desired IN ('RUN', 'GONE') AND (c.failures > 1 OR c.ready_at IS NULL)`;
}

/** Returns the demand of queue endpoints. Runs on the hot pool, whose plans always use the indexes. */
async function jobDemands(
  { hot, running }: Pick<SampleSources, 'hot' | 'running'>,
  endpoints: readonly ScaleEndpoint[],
): Promise<Map<string, HeldDemand>> {
  if (endpoints.length === 0) return new Map();
  const ids = endpoints.map(({ id }) => id);
  const queues = await hot<{ id: string; queued: number; oldest_ms: number | null }[]>`
    SELECT e.id, least(greatest(t.queued, 0), e.counted_max)::int AS queued,
      CASE WHEN t.queued > 0
        THEN (extract(epoch FROM now() - coalesce(${first(hot, hot`t.claimed_to`)}, ${first(hot, hot`0`)})) *
          1000)::bigint END
        AS oldest_ms
    FROM unnest(${ids}::text[], ${endpoints.map(countedMax)}::int[]) AS e (id, counted_max)
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(queued - queued_low), 0) AS queued, coalesce(max(claimed_to), 0) AS claimed_to
        FROM endpoint_tally WHERE endpoint_id = e.id) AS t`;
  const held = await running.heldBy(ids);
  return new Map(
    queues.map(({ id, queued, oldest_ms }) => {
      const own = held.get(id) ?? [];
      const demand = {
        queued,
        oldestWaitMs: Math.max(oldest_ms ?? 0, 0),
        running: own.reduce((sum, { normal }) => sum + normal, 0),
      };
      const lowOnly = new Set(own.flatMap(({ workerId, normal }) => (normal === 0 ? [workerId] : [])));
      return [id, { ...demand, heldBy: new Map(own.map((worker) => [worker.workerId, worker.held])), lowOnly }];
    }),
  );
}

/**
 * Returns when the first job of normal priority after a position was submitted. Finished jobs stay at the head of the
 * queue's index until vacuum removes them, so the scan begins at the last claimed position. An attempt that was lost
 * and requeued before that position is claimed next anyway.
 */
function first(hot: Sql, after: Fragment) {
  return hot`(SELECT submitted_at FROM job WHERE endpoint_id = e.id AND state = 'IN_QUEUE' AND low_priority = false
    AND position > ${after}
    ORDER BY position LIMIT 1)`;
}

/** Returns requests and connections of load-balancing endpoints, as reported by facades and proxies. */
async function requestDemands(sql: Sql, endpoints: readonly ScaleEndpoint[]): Promise<Map<string, HeldDemand>> {
  const ids = endpoints.filter(({ type }) => type === 'LB').map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const totals = await readDemands(sql, ids);
  return new Map(
    [...totals].map(([id, { waiting, inFlight }]) => {
      const running = [...inFlight.values()].reduce((sum, count) => sum + count, 0);
      return [id, { queued: waiting, oldestWaitMs: 0, running, heldBy: inFlight }];
    }),
  );
}

/**
 * Returns how far queued jobs must be counted. QUEUE_DELAY only needs to know whether jobs wait. REQUEST_COUNT needs no
 * more than workersMax can use. SLO needs the length of the queue.
 */
function countedMax({ scalerType, workersMax, scalerValue }: ScaleSettings): number {
  if (scalerType === 'SLO') return SLO_COUNTED_MAX;
  return scalerType === 'REQUEST_COUNT' ? Math.min(workersMax * scalerValue + 1, QUEUED_COUNTED_MAX) : 1;
}

/** Returns the part of an endpoint that a decision depends on. It is logged with the sample. */
function settingsOf({ id: _id, accountId: _account, type, ...settings }: ScaleEndpoint): DecisionSettings {
  return type === 'LB' ? { ...settings, requests: true } : settings;
}

/** Invariants of a fleet, during the run and at its end. Each check returns faults as sentences. */
import { isDeepStrictEqual } from 'node:util';
import type { Decision, DecisionSample } from '@slipway/core/domain/scaling/scale-decision';
import { decide } from '@slipway/core/domain/scaling/scale-decision';
import type { EndpointExplanation } from '@slipway/proto/gen/slipway/v1/explanation';
import type postgres from 'postgres';

/** Decisions that are read at once. */
const PAGE = 500;

/** Checks what holds at any time. `lowered`: endpoints that may exceed workersMax, because it was lowered just now. */
export async function checkMoment(sql: postgres.Sql, lowered: ReadonlySet<string> = new Set()): Promise<string[]> {
  const twice = await sql<{ machine_id: string; uuid: string; n: number }[]>`
    SELECT machine_id, uuid, count(*)::int AS n FROM worker, unnest(gpu_uuids) AS uuid WHERE ended_at IS NULL
      AND desired = 'RUN' AND state <> 'UNHEALTHY'
    GROUP BY 1, 2 HAVING count(*) > 1`;
  const many = await sql<{ id: string; n: number; workers_max: number }[]>`
    SELECT e.id, e.workers_max, count(*)::int AS n FROM worker w JOIN endpoint e ON e.id = w.endpoint_id
    WHERE w.ended_at IS NULL AND w.desired = 'RUN' AND w.version = e.version GROUP BY e.id, e.workers_max
      HAVING count(*) > e.workers_max`;
  // Draining workers count, standby workers do not; crashed workers have no GPU.
  const over = await sql<
    { name: string; workers: number; worker_quota: number | null; gpus: number; gpu_quota: number | null }[]
  >`
    SELECT a.name, a.worker_quota, a.gpu_quota, count(*)::int AS workers,
      coalesce(sum(cardinality(w.gpu_uuids)) FILTER (WHERE w.state <> 'UNHEALTHY'), 0)::int AS gpus
    FROM worker w JOIN endpoint e ON e.id = w.endpoint_id JOIN account a ON a.id = e.account_id
    WHERE w.ended_at IS NULL AND w.desired <> 'FREEZE' AND num_nonnulls(a.worker_quota, a.gpu_quota) > 0
    GROUP BY a.id HAVING count(*) > a.worker_quota OR sum(cardinality(w.gpu_uuids))
      FILTER (WHERE w.state <> 'UNHEALTHY') > a.gpu_quota`;
  return [
    ...over.map(
      ({ name, workers, gpus, worker_quota, gpu_quota }) =>
        `${name} has ${workers} workers of ${worker_quota ?? 'any number'} and ${gpus} GPUs of ` +
        `${gpu_quota ?? 'any number'}`,
    ),
    ...twice.map(({ machine_id, uuid, n }) => `GPU ${uuid} of ${machine_id} is given to ${n} workers`),
    ...many
      .filter(({ id }) => !lowered.has(id))
      .map(({ id, n, workers_max }) => `${id} has ${n} workers, and workersMax is ${workers_max}`),
  ];
}

/** Checks what holds at the end, when nothing changes any more. */
export async function checkEnd(sql: postgres.Sql): Promise<string[]> {
  const [left] = await sql<
    { jobs: number; failed: number; workers: number; holds: number; spans: number; throttled: number }[]
  >`
    SELECT (SELECT count(*) FROM job WHERE state IN ('IN_QUEUE', 'IN_PROGRESS'))::int AS jobs,
      (SELECT count(*) FROM job WHERE state NOT IN ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED'))::int AS failed,
      (SELECT count(*) FROM worker WHERE ended_at IS NULL)::int AS workers,
      (SELECT count(*) FROM gpu_hold)::int AS holds,
      (SELECT count(*) FROM usage_span WHERE kind = 'WORKER' AND ended_at IS NULL)::int AS spans,
      (SELECT count(*) FROM scale_decision WHERE throttled > 0 OR target > 0)::int AS throttled`;
  const words = {
    jobs: 'jobs have not ended',
    failed: 'jobs ended otherwise than they should',
    workers: 'workers are left',
    holds: 'GPUs are still held',
    spans: 'workers are still metered',
    throttled: 'endpoints still want workers',
  };
  return Object.entries(words).flatMap(([name, text]) =>
    left![name as keyof typeof words] > 0 ? [`${left![name as keyof typeof words]} ${text}`] : [],
  );
}

type LoggedRow = Omit<Decision, 'refusalByMachine'> & { id: number; sample: DecisionSample };

/** Decides each logged sample again. */
export async function checkReplays(sql: postgres.Sql): Promise<{ decisions: number; faults: string[] }> {
  const faults: string[] = [];
  let decisions = 0;
  for (let after = 0; ; ) {
    const rows = await sql<LoggedRow[]>`
      SELECT id::int, sample, target, wished, throttled, reason, limits, numbers, actions, refusal FROM scale_log
      WHERE id > ${after} AND sample IS NOT NULL ORDER BY id LIMIT ${PAGE}`;
    if (rows.length === 0) return { decisions, faults };
    for (const { id, sample, ...logged } of rows) {
      const { refusalByMachine: _, rollout: __, ...again } = decide(sample);
      if (!isDeepStrictEqual(JSON.parse(JSON.stringify(again)), { ...logged })) {
        faults.push(`decision ${id} is another one when it is made again: ${again.reason} instead of ${logged.reason}`);
      }
      after = id;
    }
    decisions += rows.length;
  }
}

/** Checks that an explanation names a cause and agrees with the fields beside it. Returns what is wrong. */
export function checkExplanation({ summary, queued, workers, limits }: EndpointExplanation): string[] {
  const count = (state: string): number => workers.filter((worker) => worker.state === state).length;
  const wrong = (what: string): string[] => [`an explanation ${what}: ${summary}`];
  if (queued === 0) return [];
  if (/\d+ of \d+ workers? starts?/.test(summary) && count('STARTING') === 0)
    return wrong('speaks of starting workers where none is');
  // The reason of a machine is also shown after its workers were replaced.
  if (/crashed(?! there)/.test(summary) && count('CRASHED') === 0 && !/starts? /.test(summary))
    return wrong('speaks of crashed workers where none is');
  if (/are busy or stopping|is busy or stopping/.test(summary) && workers.some(({ state }) => state === 'IDLE'))
    return wrong('forgets an idle worker');
  if (/workersMax is/.test(summary) && limits.every(({ limit }) => limit !== 'WORKERS_MAX'))
    return wrong('names a limit that does not bind');
  const named =
    /No worker can ever start|cannot be placed|start|crash|busy|not connected|the scaler says|workersMax|workers_max/.test(
      summary,
    );
  return named ? [] : wrong('names no cause');
}

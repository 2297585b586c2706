/** Reads the current facts for explanations. */

import type { JobKey } from '../../domain/jobs/job.ts';
import type { JobState } from '../../domain/jobs/job-state.ts';
import type { WorkerHealth } from '../../domain/machines/worker.ts';
import type { EndpointBatch } from '../../domain/reports/batch-explanation.ts';
import type { ExplainedJob, LoggedDecision, LostAttempt, QueueLength } from '../../domain/reports/explanation.ts';
import { JOBS_AHEAD_MAX } from '../../domain/reports/explanation.ts';
import { NO_OFFLOAD_REPORT } from '../../domain/reports/standby-reason.ts';
import type { Preemption } from '../../domain/scaling/preemption.ts';
import { PREEMPTION_SHOWN_MINUTES } from '../../domain/scaling/preemption.ts';
import { readLostAttempts } from '../jobs/lost-attempt-rows.ts';
import { isLive } from '../jobs/rows.ts';
import type { RunningJobs } from '../jobs/running-jobs.ts';
import type { EndpointSample } from '../scaling/scale-samples.ts';
import { sampleEndpoints } from '../scaling/scale-samples.ts';
import type { Database } from '../sql/database.ts';
import { starvedEndpoints } from '../sql/demand-rows.ts';

/** Filter of an endpoint's decisions. Few are kept, so no index is needed. */
interface DecisionFilter {
  /** Text in the reason or in a limit. Default: all. */
  search?: string;
  /** A limit. Default: all. */
  cutBy?: string | undefined;
  /** Only decisions with actions (true) or without (false). Default: all. */
  acts?: boolean | undefined;
}

/** How a worker ended, or its current state. */
interface WorkerEnd {
  id: string;
  alive: boolean;
  exitCode: number | null;
  reason: string;
  /** For workers of load-balancing endpoints. */
  health: WorkerHealth;
  /** Its machine is not connected. */
  away: boolean;
  /** Its latest restore from host memory. Null: none yet. */
  restoreBytes: number | null;
  restoreMs: number | null;
  /** Why its machine cannot offload it although its endpoint allows it. Empty otherwise. */
  offloadFault: string;
}

/** Worker and machine of an attempt. Empty if no longer known. */
export interface JobAttempt {
  attempt: number;
  workerId: string;
  machineId: string;
}

interface JobPlaceRow {
  id: string;
  state: JobState;
  low_priority: boolean;
  attempt: number;
  retries: number;
  worker_id: string | null;
  error: string | null;
  waited_ms: number;
  started_ms: number | null;
  finished_ms: number | null;
  ahead: number;
}

/** Most batches of an explanation. */
const BATCHES_MAX = 20;

export class ExplainStore {
  readonly #database: Database;
  readonly #running: RunningJobs;

  constructor(database: Database, running: RunningJobs) {
    this.#database = database;
    this.#running = running;
  }

  /** Requests of a load-balancing endpoint that wait although a ready worker has none. */
  async starved(endpointId: string): Promise<number> {
    const { sql } = this.#database;
    const [row] = await sql<{ waiting: number }[]>`${starvedEndpoints(sql, sql`e.id = ${endpointId}`)}`;
    return row?.waiting ?? 0;
  }

  /** Returns batches that have not ended and have requests at an endpoint, oldest first. */
  async batches(endpointId: string): Promise<EndpointBatch[]> {
    return this.#database.sql<EndpointBatch[]>`
      SELECT b.id, b.total, b.completed + b.failed AS ended, b.stalled,
        count(*) FILTER (WHERE j.state = 'IN_QUEUE')::int AS waiting,
        count(*) FILTER (WHERE j.state = 'IN_PROGRESS')::int AS running
      FROM batch b JOIN endpoint e ON e.account_id = b.account_id
      JOIN batch_item i ON i.batch_id = b.id AND i.state = 'SUBMITTED' AND i.endpoint_id = e.id
      LEFT JOIN job j ON j.endpoint_id = i.endpoint_id AND j.id = i.job_id
      WHERE e.id = ${endpointId} AND b.ended_at IS NULL
      GROUP BY b.id ORDER BY b.created_at, b.id LIMIT ${BATCHES_MAX}`;
  }

  /** Returns an endpoint as scaling sees it, `undefined` if it is deleted. */
  async endpoint(endpointId: string): Promise<EndpointSample | undefined> {
    return (await sampleEndpoints({ ...this.#database, running: this.#running }, [endpointId]))[0];
  }

  /** Returns an endpoint's name, empty if it is deleted. */
  async name(endpointId: string): Promise<string> {
    const [row] = await this.#database.sql<{ name: string }[]>`SELECT name FROM endpoint WHERE id = ${endpointId}`;
    return row?.name ?? '';
  }

  /** Returns the number of waiting jobs of an endpoint and of its account, each with its limit. */
  async queueLength(endpointId: string): Promise<QueueLength> {
    const [row] = await this.#database.sql<QueueLength[]>`
      SELECT e.workers_max AS "workersMax", a.queued_job_quota AS quota, own.queued, own.low, (
          SELECT coalesce(sum(t.queued), 0)::bigint FROM endpoint o JOIN endpoint_tally t ON t.endpoint_id = o.id
          WHERE o.account_id = a.id AND a.queued_job_quota IS NOT NULL) AS "ofAccount"
      FROM endpoint e JOIN account a ON a.id = e.account_id CROSS JOIN LATERAL (
        SELECT greatest(coalesce(sum(queued), 0), 0)::bigint AS queued,
          greatest(coalesce(sum(queued_low), 0), 0)::bigint AS low
        FROM endpoint_tally WHERE endpoint_id = e.id) AS own
      WHERE e.id = ${endpointId}`;
    return row ?? { workersMax: 0, quota: null, queued: 0, low: 0, ofAccount: 0 };
  }

  /** Returns logged decisions, latest first: those before `beforeId`, or all if it is 0. */
  async decisions(
    endpointId: string,
    beforeId: number,
    limit: number,
    only: DecisionFilter = {},
  ): Promise<LoggedDecision[]> {
    const { sql } = this.#database;
    const { search = '', cutBy, acts } = only;
    const texts = sql`concat_ws(' ', reason, (SELECT string_agg(l ->> 'text', ' ')
      FROM jsonb_array_elements(limits) AS l))`;
    const rows = await sql<(Omit<LoggedDecision, 'decidedAt'> & { decidedAtMs: number })[]>`
      SELECT id, (extract(epoch FROM decided_at) * 1000)::bigint AS "decidedAtMs", target, wished, throttled, reason,
        limits, numbers, actions
      FROM scale_log WHERE endpoint_id = ${endpointId} AND (${beforeId}::bigint = 0 OR id < ${beforeId}::bigint)
        ${search === '' ? sql`` : sql`AND strpos(lower(${texts}), lower(${search})) > 0`}
        ${
          cutBy === undefined
            ? sql``
            : sql`AND limits
          @> jsonb_build_array(jsonb_build_object('limit', ${cutBy}::text))`
        }
        ${acts === undefined ? sql`` : sql`AND (jsonb_array_length(actions) > 0) = ${acts}::boolean`}
      ORDER BY id DESC LIMIT ${limit}`;
    return rows.map(({ decidedAtMs, ...row }) => ({ ...row, decidedAt: new Date(decidedAtMs) }));
  }

  /** Returns the reports of machines about workers. Pruned ones are left out. */
  async workers(endpointId: string, workerIds: readonly string[]): Promise<WorkerEnd[]> {
    return this.#database.sql<WorkerEnd[]>`
      SELECT w.id, w.ended_at IS NULL AS alive, w.exit_code AS "exitCode", w.reason, w.health,
        m.session_id IS NULL OR m.lease_expires_at <= now() AS away,
        w.restore_bytes AS "restoreBytes", w.restore_ms AS "restoreMs",
        CASE WHEN w.gpu_uuids = '{}' OR e.flash_boot_standby = 'GPU' OR (m.gpu_offload ->> 'supported')::boolean THEN ''
          ELSE coalesce(m.gpu_offload ->> 'unsupportedReason', ${NO_OFFLOAD_REPORT}) END AS "offloadFault"
      FROM worker w JOIN endpoint e ON e.id = w.endpoint_id LEFT JOIN machine m ON m.id = w.machine_id
      WHERE w.endpoint_id = ${endpointId}
        AND w.id = ANY(${[...workerIds]})`;
  }

  /** Returns workers that were preempted recently or are draining for it. */
  async preemptedWorkers(endpointId: string): Promise<Preemption[]> {
    return this.#database.sql<Preemption[]>`
      SELECT w.id AS "workerId", CASE WHEN o.account_id = e.account_id THEN o.id ELSE '' END AS "toOwn"
      FROM worker w JOIN endpoint e ON e.id = w.endpoint_id LEFT JOIN endpoint o ON o.id = w.gave_way_to
      WHERE w.endpoint_id = ${endpointId} AND w.gave_way_to <> ''
        AND (w.ended_at IS NULL OR w.ended_at > now() - ${PREEMPTION_SHOWN_MINUTES}::int * interval '1 min')
      ORDER BY w.created_at, w.id`;
  }

  /** Returns the recorded lost attempts of a job, latest first. */
  async lostAttempts(key: JobKey): Promise<LostAttempt[]> {
    return readLostAttempts(this.#database.sql, key);
  }

  /** Returns who ran the attempts of a job, as far as known, first one first. `undefined` if there is no such job. */
  async attempts({ endpointId, jobId }: JobKey): Promise<{ state: JobState; attempts: JobAttempt[] } | undefined> {
    const { hot } = this.#database;
    const [row] = await hot<{ state: JobState; attempts: JobAttempt[] }[]>`
      SELECT j.state, coalesce((
        SELECT jsonb_agg(jsonb_build_object('attempt', l.attempt, 'workerId', l.worker_id, 'machineId', l.machine_id))
          FROM lost_attempt l
        WHERE l.endpoint_id = j.endpoint_id AND l.job_id = j.id AND (l.attempt <> j.attempt OR j.worker_id IS NULL)),
          '[]')
        || CASE WHEN j.worker_id IS NULL THEN '[]'
          ELSE jsonb_build_array(jsonb_build_object('attempt', j.attempt, 'workerId', j.worker_id,
          'machineId', coalesce(j.machine_id, (SELECT w.machine_id FROM worker w WHERE w.id = j.worker_id),
            ''))) END AS attempts
      FROM job j WHERE j.endpoint_id = ${endpointId} AND j.id = ${jobId} AND ${isLive(hot)}`;
    return row && { state: row.state, attempts: row.attempts.sort((a, b) => a.attempt - b.attempt) };
  }

  /** Returns a job with its queue position, `undefined` if there is none. */
  async job({ endpointId, jobId }: JobKey): Promise<ExplainedJob | undefined> {
    const { hot } = this.#database;
    const [row] = await hot<JobPlaceRow[]>`
      SELECT j.id, j.state, j.low_priority, j.attempt, j.retries, j.worker_id,
        (SELECT left(o.error, 1000) FROM job_output o WHERE o.endpoint_id = j.endpoint_id AND o.job_id = j.id) AS error,
        (extract(epoch FROM coalesce(j.started_at, j.finished_at, now()) - j.submitted_at) * 1000)::bigint AS waited_ms,
        (extract(epoch FROM j.started_at) * 1000)::bigint AS started_ms,
        (extract(epoch FROM j.finished_at) * 1000)::bigint AS finished_ms,
        (SELECT count(*) FROM (SELECT FROM job a WHERE a.endpoint_id = j.endpoint_id AND a.state = 'IN_QUEUE'
          AND (a.low_priority, a.position) < (j.low_priority, j.position) ORDER BY a.low_priority, a.position
            LIMIT ${JOBS_AHEAD_MAX}) q) AS ahead
      FROM job j WHERE j.endpoint_id = ${endpointId} AND j.id = ${jobId} AND ${isLive(hot)}`;
    return (
      row && {
        id: row.id,
        state: row.state,
        lowPriority: row.low_priority,
        queuePosition: row.state === 'IN_QUEUE' ? row.ahead + 1 : 0,
        waitedMs: Math.max(row.waited_ms, 0),
        attempt: row.attempt,
        retries: row.retries,
        workerId: row.worker_id ?? '',
        error: row.error ?? '',
        startedAt: dateOf(row.started_ms),
        finishedAt: dateOf(row.finished_ms),
      }
    );
  }
}

function dateOf(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms);
}

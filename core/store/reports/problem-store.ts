/**
 * Reads signs of problems of all endpoints, pods and machines: one statement for each kind, which finds its rows by
 * indexes.
 */

import type {
  DrainedPod,
  FailedModel,
  FailedPod,
  GivenUpWebhooks,
  HeldRelease,
  NamedEndpoint,
  WaitingQueue,
} from '../../domain/reports/find-problems.ts';
import type { MachineState } from '../../domain/reports/machine-problem.ts';
import type { PlacementRefusal } from '../../domain/scaling/placement-refusal.ts';
import type { Database, Fragment, Sql } from '../sql/database.ts';
import { DEMAND_VALID_MS, starvedEndpoints } from '../sql/demand-rows.ts';
import { endpointModels, modelColumns } from '../sql/model-rows.ts';
import { oldestWaitMs } from './queue-age.ts';

/** Most counted webhook calls of an endpoint, and most pods that are read. */
const GIVEN_UP_MAX = 1_000;
const PODS_MAX = 1_000;

/** Reads signs of problems of an account. Empty account: of all. */
export class ProblemStore {
  readonly #sql: Sql;
  readonly #hot: Sql;

  constructor({ sql, hot }: Pick<Database, 'sql' | 'hot'>) {
    this.#sql = sql;
    this.#hot = hot;
  }

  /** Returns whether the database accepts no writes. */
  async isReadOnly(): Promise<boolean> {
    const [row] = await this.#sql<{ readOnly: boolean }[]>`
      SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS "readOnly"`;
    return row!.readOnly;
  }

  /** Returns all endpoints. */
  async endpoints(accountId: string): Promise<NamedEndpoint[]> {
    return this.#sql<
      NamedEndpoint[]
    >`SELECT e.id, e.name, e.account_id AS "accountId" FROM endpoint e WHERE ${owned(this.#sql, accountId)}`;
  }

  /** Returns endpoints whose workers found no slot at the last decision. */
  async throttled(accountId: string): Promise<(PlacementRefusal & { id: string })[]> {
    return this.#sql<(PlacementRefusal & { id: string })[]>`
      SELECT e.id, d.refusal, d.refusal_by_machine AS "refusalByMachine" FROM endpoint e JOIN scale_decision d
        ON d.endpoint_id = e.id
      WHERE ${owned(this.#sql, accountId)} AND d.throttled > 0`;
  }

  /** Returns the number of workers that crashed or could not start and were not replaced yet, by endpoint. */
  async crashed(accountId: string): Promise<{ id: string; count: number }[]> {
    return this.#sql<{ id: string; count: number }[]>`
      SELECT e.id, count(*) AS count FROM endpoint e
      JOIN worker w ON w.endpoint_id = e.id AND w.ended_at IS NULL AND w.endpoint_id <> '' AND w.state = 'UNHEALTHY'
      WHERE ${owned(this.#sql, accountId)} GROUP BY e.id`;
  }

  /** Returns endpoints whose released version does not start. */
  async held(accountId: string): Promise<HeldRelease[]> {
    return this.#sql<HeldRelease[]>`
      SELECT e.id, r.version, r.good_version AS "goodVersion", r.reason FROM endpoint e JOIN endpoint_rollout r
        ON r.endpoint_id = e.id
      WHERE ${owned(this.#sql, accountId)} AND r.state = 'HELD' AND r.version = e.version
        AND r.good_version IS NOT NULL`;
  }

  /** Returns models of endpoints that machines could not download and that no machine has, one machine of each. */
  async failedModels(accountId: string): Promise<FailedModel[]> {
    const sql = this.#sql;
    const own = endpointModels(sql);
    return sql<FailedModel[]>`
      SELECT DISTINCT ON (e.id, m.repository, m.revision) e.id, ${modelColumns(sql)} ${own}
      WHERE ${owned(sql, accountId)} AND e.workers_max > 0 AND m.state = 'FAILED'
        AND NOT EXISTS (SELECT FROM machine_model h JOIN machine o ON o.id = h.machine_id
          WHERE h.repository = m.repository AND h.revision = m.revision AND h.state = 'READY'
            AND h.account_number IN (0, a.number) AND o.session_id IS NOT NULL AND o.lease_expires_at > now())
      ORDER BY e.id, m.repository, m.revision, m.fault = '', n.name`;
  }

  /**
   * Returns queues in which a job waits, and load-balancing endpoints with waiting requests, with the limits of their
   * last decision.
   */
  async queues(accountId: string): Promise<WaitingQueue[]> {
    return this.#hot<WaitingQueue[]>`
      SELECT e.id, e.account_id AS "accountId", e.workers_max AS "workersMax", greatest(t.queued, 0) AS queued,
        a.queued_job_quota AS quota,
        ${oldestWaitMs(this.#hot)} AS "oldestWaitMs",
        coalesce((SELECT l.limits FROM scale_log l WHERE l.endpoint_id = e.id ORDER BY l.id DESC LIMIT 1),
          '[]') AS limits
      FROM endpoint e JOIN account a ON a.id = e.account_id CROSS JOIN LATERAL (
        SELECT coalesce(sum(queued), 0)::bigint AS queued, coalesce(max(claimed_to), 0) AS claimed_to
          FROM endpoint_tally WHERE endpoint_id = e.id) AS t
      WHERE ${owned(this.#hot, accountId)}
        AND (t.queued > 0 OR EXISTS (SELECT FROM endpoint_demand d WHERE d.endpoint_id = e.id AND d.waiting > 0
        AND d.reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms'))`;
  }

  /** Returns load-balancing endpoints whose requests wait although a ready worker has none. */
  async starved(accountId: string): Promise<{ id: string; waiting: number }[]> {
    return this.#sql<{ id: string; waiting: number }[]>`${starvedEndpoints(this.#sql, owned(this.#sql, accountId))}`;
  }

  /**
   * Returns webhook calls that were given up within the last hour and not redriven, with the latest of each endpoint.
   */
  async givenUp(accountId: string): Promise<GivenUpWebhooks[]> {
    return this.#hot<GivenUpWebhooks[]>`
      SELECT e.id, r.count, r.jobs[1] AS "jobId", r.errors[1] AS "lastError" FROM endpoint e CROSS JOIN LATERAL (
        SELECT count(*) AS count, array_agg(job_id) AS jobs, array_agg(last_error) AS errors FROM (
          SELECT job_id, last_error FROM webhook_result WHERE endpoint_id = e.id AND NOT delivered
            AND ended_at > now() - interval '1 hour'
          ORDER BY ended_at DESC LIMIT ${GIVEN_UP_MAX}) AS latest) AS r
      WHERE ${owned(this.#hot, accountId)} AND r.count > 0`;
  }

  /** Returns pods that should run and have failed, latest first. */
  async failedPods(accountId: string): Promise<FailedPod[]> {
    return this.#sql<FailedPod[]>`
      SELECT e.id, e.name, e.account_id AS "accountId", e.status_text AS "statusText", e.exit_code AS "exitCode"
        FROM pod e
      WHERE ${owned(this.#sql, accountId)} AND e.state = 'FAILED' AND e.desired = 'RUNNING'
        ORDER BY e.state_changed_at DESC LIMIT ${PODS_MAX}`;
  }

  /** Returns pods on machines that are drained. */
  async drainedPods(accountId: string): Promise<DrainedPod[]> {
    return this.#sql<DrainedPod[]>`
      SELECT e.id, e.name, e.account_id AS "accountId", m.drain_reason AS reason,
        (extract(epoch FROM m.drain_deadline_at) * 1000)::float8 AS "deadlineMs"
      FROM pod e JOIN machine m ON m.id = e.machine_id
      WHERE ${owned(this.#sql, accountId)} AND m.draining_since IS NOT NULL ORDER BY e.id LIMIT ${PODS_MAX}`;
  }

  /** Returns machines that are away or cordoned, or have an unwell GPU or an agent of another version than core's. */
  async machines(coreVersion: string): Promise<Omit<MachineState, 'agentSupport'>[]> {
    return this.#sql<Omit<MachineState, 'agentSupport'>[]>`
      SELECT * FROM (
        SELECT id, name, cordoned, agent_version AS "agentVersion",
          CASE WHEN draining_since IS NOT NULL THEN drain_reason END AS "drainReason",
          session_id IS NOT NULL AND lease_expires_at > now() AS connected, coalesce((
          SELECT jsonb_agg(jsonb_build_object('name', g ->> 'name', 'unhealthy', fault, 'warning', warning))
            FROM jsonb_array_elements(gpus) AS g, LATERAL (SELECT
              CASE WHEN g ? 'cordoned' AND g ->> 'unhealthy' IS DISTINCT FROM g -> 'reported' ->> 'fault' THEN ''
                ELSE coalesce(g ->> 'unhealthy', '') END AS fault,
              coalesce(g ->> 'warning', '') AS warning) AS h
          WHERE fault <> '' OR warning <> ''), '[]') AS ill FROM machine) AS m
      WHERE NOT connected OR cordoned OR ill <> '[]' OR "agentVersion" <> ${coreVersion} ORDER BY name, id`;
  }
}

/** Returns the condition that row `e` belongs to an account. */
function owned(sql: Sql, accountId: string): Fragment {
  return accountId === '' ? sql`true` : sql`e.account_id = ${accountId}`;
}

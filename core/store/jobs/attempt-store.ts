/** Reads running attempts: for agents that fetch inputs, and for lost attempts. */

import type { AttemptKey, MachineAttempt } from '../../domain/jobs/job.ts';
import { byJob } from '../../domain/jobs/job.ts';
import { WAITING_MS } from '../../domain/jobs/prefetch.ts';
import type { Database, Sql } from '../sql/database.ts';
import { numberArray, textArray } from '../sql/pack.ts';
import type { AttemptRow } from './rows.ts';
import { isLive, isRunning } from './rows.ts';

/** An attempt whose lease has expired. */
export interface ExpiredLease {
  attempt: MachineAttempt;
  machineName: string;
}

type ExpiredRow = AttemptRow & { machine_id: string; name: string };

export class AttemptStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /** Returns the input of an attempt, `undefined` if it is not current or not of that machine. */
  async readInput(key: MachineAttempt): Promise<Buffer | undefined> {
    const [row] = await this.#hot<{ input: Buffer }[]>`
      SELECT i.input FROM job j JOIN job_input i ON i.endpoint_id = j.endpoint_id AND i.job_id = j.id
      WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND j.attempt = ${key.attempt}
        AND j.machine_id = ${key.machineId} AND ${isRunning(this.#hot)} AND ${isLive(this.#hot)}`;
    return row?.input;
  }

  /** Returns whether an attempt is current and of that machine. */
  async isCurrent(key: MachineAttempt): Promise<boolean> {
    const rows = await this.#hot`
      SELECT FROM job j WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND j.attempt = ${key.attempt}
        AND j.machine_id = ${key.machineId} AND ${isRunning(this.#hot)} AND ${isLive(this.#hot)}`;
    return rows.length > 0;
  }

  /**
   * Sets the start of these attempts to now, if they are current, so that their execution timeout counts from
   * now. Locks jobs in the same order as outcomes.
   */
  async postpone(given: readonly MachineAttempt[]): Promise<void> {
    const attempts = given.toSorted(byJob);
    await this.#hot`
      UPDATE job j SET started_at = now(),
        execution_deadline_at = now() + (j.execution_timeout_ms + ${WAITING_MS}::int) * interval '1 ms'
      FROM unnest(
        ${textArray(attempts.map(({ endpointId }) => endpointId))}::text[],
        ${textArray(attempts.map(({ jobId }) => jobId))}::text[],
        ${numberArray(attempts.map(({ attempt }) => attempt))}::int[],
        ${textArray(attempts.map(({ machineId }) => machineId))}::text[]
      ) AS g(endpoint_id, id, attempt, machine_id)
      WHERE j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.attempt = g.attempt
        AND j.machine_id = g.machine_id
        AND ${isRunning(this.#hot)} AND ${isLive(this.#hot)}`;
  }

  /**
   * Returns the workers whose jobs another worker of the endpoint could begin: one is idle, or one more may be
   * started, as far as is known. Returns none if the endpoint can have only one worker.
   */
  async replaceable(workers: readonly { endpointId: string; workerId: string }[]): Promise<string[]> {
    const rows = await this.#hot<{ workerId: string }[]>`
      SELECT g.worker_id AS "workerId"
      FROM unnest(${textArray(workers.map(({ endpointId }) => endpointId))}::text[],
        ${textArray(workers.map(({ workerId }) => workerId))}::text[])
        AS g(endpoint_id, worker_id)
      JOIN endpoint e ON e.id = g.endpoint_id
      WHERE EXISTS (
        SELECT FROM worker w JOIN machine m ON m.id = w.machine_id AND m.session_id IS NOT NULL
          AND m.lease_expires_at > now()
        WHERE w.endpoint_id = e.id AND w.id <> g.worker_id AND w.ended_at IS NULL AND w.endpoint_id <> ''
          AND w.desired = 'RUN' AND w.state = 'READY'
          AND NOT EXISTS (SELECT FROM job j WHERE j.state = 'IN_PROGRESS' AND j.machine_id = w.machine_id
            AND j.worker_id = w.id)
      ) OR (e.workers_max > 1
        AND (SELECT count(*) FROM worker w WHERE w.endpoint_id = e.id AND w.ended_at IS NULL AND w.endpoint_id <> ''
          AND w.desired = 'RUN') < e.workers_max
        AND NOT EXISTS (SELECT FROM scale_decision d WHERE d.endpoint_id = e.id AND d.throttled > 0))`;
    return rows.map(({ workerId }) => workerId);
  }

  /** Returns all attempts of a machine, or of one of its workers. */
  async listOf(machineId: string, workerId: string | undefined): Promise<AttemptKey[]> {
    const rows = await this.#hot<AttemptRow[]>`
      SELECT endpoint_id, id, attempt FROM job
      WHERE state = 'IN_PROGRESS' AND machine_id = ${machineId}
        AND (${workerId ?? null}::text IS NULL OR worker_id = ${workerId ?? null})`;
    return rows.map(attemptKey);
  }

  /**
   * Returns up to `limit` attempts whose machine stopped extending its lease, with the machine's name. Attempts of
   * machines with a valid lease are not read.
   */
  async expiredLeases(limit: number): Promise<ExpiredLease[]> {
    const rows = await this.#hot<ExpiredRow[]>`
      SELECT j.*, m.name FROM machine m CROSS JOIN LATERAL (
        SELECT endpoint_id, id, attempt, machine_id FROM job WHERE state = 'IN_PROGRESS' AND machine_id = m.id
          LIMIT ${limit}::int) AS j
      WHERE m.lease_expires_at < now() LIMIT ${limit}::int`;
    return rows.map(expiredLease);
  }

  /** Returns up to `limit` attempts of deleted machines. Reads all running attempts. */
  async ofGoneMachines(limit: number): Promise<ExpiredLease[]> {
    const rows = await this.#hot<ExpiredRow[]>`
      SELECT j.endpoint_id, j.id, j.attempt, j.machine_id, j.machine_id AS name FROM job j
      WHERE j.state = 'IN_PROGRESS' AND NOT EXISTS (SELECT FROM machine m WHERE m.id = j.machine_id)
        LIMIT ${limit}::int`;
    return rows.map(expiredLease);
  }
}

function expiredLease(row: ExpiredRow): ExpiredLease {
  return { attempt: { ...attemptKey(row), machineId: row.machine_id }, machineName: row.name };
}

function attemptKey(row: AttemptRow): AttemptKey {
  return { endpointId: row.endpoint_id, jobId: row.id, attempt: row.attempt };
}

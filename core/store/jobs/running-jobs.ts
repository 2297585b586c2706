/**
 * Reads attempts that workers and machines hold. Each scan starts at the oldest attempt that ran at the previous one
 * (scan-start.ts), as no attempt begins in the past. The order requires the index by start: with statistics from a
 * moment without running jobs, all indexes of running jobs look equally empty.
 */

import type { MachineAttempt } from '../../domain/jobs/job.ts';
import { byJob } from '../../domain/jobs/job.ts';
import type { Database, Sql } from '../sql/database.ts';
import { numberArray, textArray } from '../sql/pack.ts';
import { isLive, isRunning } from './rows.ts';
import { ScanStart } from './scan-start.ts';

/** Attempts that a worker holds, and how many of them have normal priority. */
interface HeldCount {
  workerId: string;
  held: number;
  normal: number;
}

/** An attempt that the job table assigns to a machine. */
export interface CurrentAttempt extends MachineAttempt {
  workerId: string;
}

/** A scan of one id; all its rows have the same scan time. */
interface ScanRow {
  id: string;
  since_ms: number | null;
  now_ms: number;
  took_ms: number;
}

type HeldRow = ScanRow & { worker_id: string | null; held: number; normal: number };
type AttemptRow = ScanRow & { endpoint_id: string | null; job_id: string; attempt: number; worker_id: string };

export class RunningJobs {
  readonly #hot: Sql;
  readonly #byEndpoint: ScanStart;
  readonly #byMachine: ScanStart;

  /** `marginMs`: see ScanStart. */
  constructor({ hot }: Pick<Database, 'hot'>, marginMs?: number) {
    this.#hot = hot;
    this.#byEndpoint = new ScanStart(marginMs);
    this.#byMachine = new ScanStart(marginMs);
  }

  /** Returns the attempts that workers of these endpoints hold; idle workers are left out. */
  async heldBy(endpointIds: readonly string[]): Promise<Map<string, HeldCount[]>> {
    const sql = this.#hot;
    const rows = await sql<HeldRow[]>`
      SELECT e.id, h.worker_id, coalesce(h.held, 0) AS held, coalesce(h.normal, 0) AS normal,
        ${examinedAt(sql, sql`h.since`)}
      FROM unnest(${textArray(endpointIds)}::text[], ${this.#byEndpoint.columns(sql, endpointIds)}) AS e (id, since_ms,
        full_due_ms)
      LEFT JOIN LATERAL (
        SELECT worker_id, count(*)::int AS held, (count(*) FILTER (WHERE NOT low_priority))::int AS normal,
          min(started_at) AS since FROM (
          SELECT worker_id, low_priority, started_at FROM job
          WHERE endpoint_id = e.id AND state = 'IN_PROGRESS' AND started_at >= ${this.#byEndpoint.from(sql, sql`e`)}
          ORDER BY started_at) AS r
        GROUP BY worker_id) AS h ON true`;
    const found = recordScan(this.#byEndpoint, rows);
    const heldOf = ({ worker_id: workerId, held, normal }: HeldRow): HeldCount[] =>
      workerId === null ? [] : [{ workerId, held, normal }];
    return new Map([...found].map(([id, own]) => [id, own.flatMap(heldOf)]));
  }

  /**
   * Returns all attempts of a machine with their age in milliseconds, by a full scan, on the hot pool, whose plan uses
   * the index of machines.
   */
  async ofMachine(machineId: string): Promise<(CurrentAttempt & { ageMs: number })[]> {
    return this.#hot<(CurrentAttempt & { ageMs: number })[]>`
      SELECT endpoint_id AS "endpointId", id AS "jobId", attempt, worker_id AS "workerId", machine_id AS "machineId",
        (extract(epoch FROM now() - started_at) * 1000)::float8 AS "ageMs"
        FROM job
      WHERE machine_id = ${machineId} AND state = 'IN_PROGRESS'`;
  }

  /** Returns the attempts that are current. */
  async current<Key extends MachineAttempt>(given: readonly Key[]): Promise<Key[]> {
    if (given.length === 0) return [];
    const attempts = given.toSorted(byJob);
    const rows = await this.#hot<{ index: number }[]>`
      SELECT g.index FROM unnest(
        ${numberArray(attempts.map((_, index) => index))}::int[],
        ${textArray(attempts.map(({ endpointId }) => endpointId))}::text[],
        ${textArray(attempts.map(({ jobId }) => jobId))}::text[],
        ${numberArray(attempts.map(({ attempt }) => attempt))}::int[],
        ${textArray(attempts.map(({ machineId }) => machineId))}::text[]
      ) AS g(index, endpoint_id, id, attempt, machine_id)
      JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.attempt = g.attempt
        AND j.machine_id = g.machine_id
      WHERE ${isRunning(this.#hot)} AND ${isLive(this.#hot)}`;
    return rows.map(({ index }) => attempts[index]!);
  }

  /**
   * Returns attempts of these machines. An attempt whose claim took very long to commit may be missing for a while;
   * use `current` where that matters.
   */
  async onMachines(machineIds: readonly string[]): Promise<CurrentAttempt[]> {
    const sql = this.#hot;
    const rows = await sql<AttemptRow[]>`
      SELECT m.id, j.endpoint_id, j.id AS job_id, j.attempt, j.worker_id, ${examinedAt(sql, sql`j.started_at`)}
      FROM unnest(${textArray(machineIds)}::text[], ${this.#byMachine.columns(sql, machineIds)}) AS m (id, since_ms,
        full_due_ms)
      LEFT JOIN LATERAL (
        SELECT endpoint_id, id, attempt, worker_id, started_at FROM job
        WHERE machine_id = m.id AND state = 'IN_PROGRESS' AND started_at >= ${this.#byMachine.from(sql, sql`m`)}
        ORDER BY started_at) AS j ON true`;
    recordScan(this.#byMachine, rows);
    return rows.flatMap(({ id: machineId, endpoint_id: endpointId, job_id: jobId, attempt, worker_id: workerId }) =>
      endpointId === null ? [] : [{ endpointId, jobId, attempt, workerId, machineId }],
    );
  }
}

/** Returns the columns of LookRow. */
function examinedAt(sql: Sql, since: ReturnType<Sql>) {
  return sql`(extract(epoch FROM ${since}) * 1000)::float8 AS since_ms,
    (extract(epoch FROM now()) * 1000)::float8 AS now_ms,
        (extract(epoch FROM clock_timestamp() - now()) * 1000)::float8 AS took_ms`;
}

/** Returns the rows of each id and records where the next scan starts. */
function recordScan<Row extends ScanRow>(start: ScanStart, rows: readonly Row[]): Map<string, Row[]> {
  const found = Map.groupBy(rows, ({ id }) => id);
  for (const [id, own] of found) {
    const [first] = own as [Row];
    const oldest = own.reduce((least, { since_ms: since }) => Math.min(least, since ?? Infinity), Infinity);
    const tookMs = own.reduce((most, { took_ms: took }) => Math.max(most, took), 0);
    start.learn(id, { nowMs: first.now_ms, tookMs, oldestMs: oldest === Infinity ? undefined : oldest });
  }
  return found;
}

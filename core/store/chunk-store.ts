/**
 * Streamed output and progress. Both take a share lock on the job's row, so that nothing of an attempt is written after its outcome. A
 * statement that waited for that lock does not see what was written meanwhile: its deletions miss it.
 */
import type { JobState } from '../domain/job-state.ts';
import type { Database, Sql } from './database.ts';
import { numberArray, packBytes, textArray } from './pack.ts';
import { isLive, isRunning } from './rows.ts';

/** A chunk to store. */
export interface ChunkEntry {
  endpointId: string;
  jobId: string;
  attempt: number;
  /** The machine whose agent sent it. */
  machineId: string;
  number: number;
  output: Buffer;
  metrics: Buffer | undefined;
}

/** A progress value to show. */
export interface ProgressEntry {
  endpointId: string;
  jobId: string;
  attempt: number;
  /** The machine whose agent sent it. */
  machineId: string;
  output: Buffer;
}

/** A place in a job's chunks. */
export interface ChunkPlace {
  attempt: number;
  number: number;
}

/** What a reader gets. */
export interface ChunkRead {
  state: JobState;
  error: string | undefined;
  /** The place that the readers without a place of their own have reached. */
  shared: ChunkPlace;
  chunks: { attempt: number; number: number; output: Buffer; metrics: Buffer | undefined }[];
  more: boolean;
}

interface ReadRow {
  state: JobState;
  error: string | null;
  shared_attempt: number;
  shared_number: number;
  attempt: number | null;
  number: number | null;
  output: Buffer | null;
  metrics: Buffer | null;
  total: number;
}

export class ChunkStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /**
   * Stores chunks of attempts that are current and of that machine, and drops the others. Entries must be in order of (endpointId, jobId).
   * Storing one twice changes nothing.
   */
  async append(entries: readonly ChunkEntry[]): Promise<void> {
    const output = packBytes(entries.map((entry) => entry.output));
    const metrics = packBytes(entries.map((entry) => entry.metrics));
    await this.#hot`
      WITH current AS (
        SELECT g.* FROM unnest(
          ${textArray(entries.map((entry) => entry.endpointId))}::text[], ${textArray(entries.map((entry) => entry.jobId))}::text[],
          ${numberArray(entries.map((entry) => entry.attempt))}::int[], ${numberArray(entries.map((entry) => entry.number))}::int[],
          ${output.starts}::int[], ${output.lengths}::int[], ${metrics.starts}::int[], ${metrics.lengths}::int[],
          ${textArray(entries.map((entry) => entry.machineId))}::text[]
        ) AS g(endpoint_id, id, attempt, number, output_start, output_length, metrics_start, metrics_length, machine_id)
        JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.attempt = g.attempt AND j.machine_id = g.machine_id
          AND ${isRunning(this.#hot)} AND ${isLive(this.#hot)}
        FOR SHARE OF j
      )
      INSERT INTO job_chunk (endpoint_id, job_id, attempt, number, output, metrics)
      SELECT endpoint_id, id, attempt, number, substring(${output.blob}::bytea FROM output_start FOR output_length),
        substring(${metrics.blob}::bytea FROM metrics_start FOR metrics_length)
      FROM current ON CONFLICT DO NOTHING`;
  }

  /** Shows progress of attempts that are current and of that machine. Entries must be in order of (endpointId, jobId), one for an attempt and machine. */
  async showProgress(entries: readonly ProgressEntry[]): Promise<void> {
    const output = packBytes(entries.map((entry) => entry.output));
    await this.#hot`
      WITH current AS (
        SELECT g.* FROM unnest(
          ${textArray(entries.map((entry) => entry.endpointId))}::text[], ${textArray(entries.map((entry) => entry.jobId))}::text[],
          ${numberArray(entries.map((entry) => entry.attempt))}::int[], ${output.starts}::int[], ${output.lengths}::int[],
          ${textArray(entries.map((entry) => entry.machineId))}::text[]
        ) AS g(endpoint_id, id, attempt, output_start, output_length, machine_id)
        JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.attempt = g.attempt AND j.machine_id = g.machine_id
          AND ${isRunning(this.#hot)} AND ${isLive(this.#hot)}
        FOR SHARE OF j
      )
      INSERT INTO job_output (endpoint_id, job_id, output)
      SELECT endpoint_id, id, substring(${output.blob}::bytea FROM output_start FOR output_length) FROM current
      ON CONFLICT (endpoint_id, job_id) DO UPDATE SET output = excluded.output, error = NULL`;
  }

  /**
   * Reads chunks after a place, or after the shared place when none is given: at most `limit`, and no more after `bytesMax` bytes, but at least
   * one. Only those of the current attempt: what a lost one wrote is void, also where it is still stored. State and chunks are of one instant.
   * Undefined: no such job.
   */
  async read(
    key: { endpointId: string; jobId: string }, after: ChunkPlace | undefined, limit: number, bytesMax: number,
  ): Promise<ChunkRead | undefined> {
    const rows = await this.#hot<ReadRow[]>`
      WITH found AS (
        SELECT j.endpoint_id, j.id, j.state, j.attempt, o.error, coalesce(s.attempt, 0) AS shared_attempt, coalesce(s.number, 0) AS shared_number
        FROM job j LEFT JOIN job_output o ON o.endpoint_id = j.endpoint_id AND o.job_id = j.id
        LEFT JOIN stream_cursor s ON s.endpoint_id = j.endpoint_id AND s.job_id = j.id
        WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND ${isLive(this.#hot)}
      ), listed AS (
        SELECT c.* FROM found f CROSS JOIN LATERAL (
          SELECT attempt, number, output, metrics FROM job_chunk WHERE endpoint_id = f.endpoint_id AND job_id = f.id
            AND attempt = f.attempt AND f.state <> 'IN_QUEUE'
            AND (attempt, number) > (coalesce(${after?.attempt ?? null}::int, f.shared_attempt), coalesce(${after?.number ?? null}::int, f.shared_number))
          ORDER BY attempt, number LIMIT ${limit}::int + 1
        ) AS c
      ), sized AS (
        SELECT *, count(*) OVER () AS total, row_number() OVER places AS place,
          sum(octet_length(output) + coalesce(octet_length(metrics), 0)) OVER places AS running
        FROM listed WINDOW places AS (ORDER BY attempt, number)
      )
      SELECT f.state, f.error, f.shared_attempt, f.shared_number, z.attempt, z.number, z.output, z.metrics, coalesce(z.total, 0) AS total
      FROM found f LEFT JOIN (SELECT * FROM sized WHERE place <= ${limit}::int AND (place = 1 OR running <= ${bytesMax}::bigint)) AS z ON true
      ORDER BY z.attempt, z.number`;
    return readFromRows(rows);
  }

  /** Moves the shared place from one place to another; false when another reader moved it first. */
  async moveSharedPlace(key: { endpointId: string; jobId: string }, from: ChunkPlace, to: ChunkPlace): Promise<boolean> {
    const result = await this.#hot`
      INSERT INTO stream_cursor AS s (endpoint_id, job_id, attempt, number)
      SELECT endpoint_id, id, ${to.attempt}::int, ${to.number}::int FROM job WHERE endpoint_id = ${key.endpointId} AND id = ${key.jobId}
      ON CONFLICT (endpoint_id, job_id) DO UPDATE SET attempt = excluded.attempt, number = excluded.number
        WHERE s.attempt = ${from.attempt} AND s.number = ${from.number}`;
    return result.count > 0;
  }
}

function readFromRows(rows: readonly ReadRow[]): ChunkRead | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const chunks = rows.flatMap((row) => (row.attempt === null || row.number === null || row.output === null
    ? []
    : [{ attempt: row.attempt, number: row.number, output: row.output, metrics: row.metrics ?? undefined }]));
  return {
    state: first.state,
    error: first.error ?? undefined,
    shared: { attempt: first.shared_attempt, number: first.shared_number },
    chunks,
    more: first.total > chunks.length,
  };
}

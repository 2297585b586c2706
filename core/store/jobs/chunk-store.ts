/**
 * Stores streamed output and progress. Both take a share lock on the job's row, so that nothing of an attempt is
 * written after its outcome. A statement that waited for that lock does not see rows written meanwhile: its deletions
 * miss them.
 */

import type { Database, Sql } from '../sql/database.ts';
import { numberArray, packBytes, textArray } from '../sql/pack.ts';
import type { ChunkPageBounds, ChunkPageRequest, ChunkRead } from './chunk-pages.ts';
import { readChunkPages } from './chunk-pages.ts';
import { isLive, isRunning } from './rows.ts';

/** A chunk to store. */
interface ChunkEntry {
  endpointId: string;
  jobId: string;
  attempt: number;
  /** Machine whose agent sent it. */
  machineId: string;
  number: number;
  output: Buffer;
  metrics: Buffer | undefined;
}

/** A progress value to store. */
export interface ProgressEntry {
  endpointId: string;
  jobId: string;
  attempt: number;
  /** Machine whose agent sent it. */
  machineId: string;
  output: Buffer;
}

export class ChunkStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /**
   * Stores chunks of current attempts of that machine, and drops the others. Entries must be ordered by (endpointId,
   * jobId). Idempotent.
   */
  async append(entries: readonly ChunkEntry[]): Promise<void> {
    const output = packBytes(entries.map((entry) => entry.output));
    const metrics = packBytes(entries.map((entry) => entry.metrics));
    await this.#hot`
      WITH current AS (
        SELECT g.* FROM unnest(
          ${textArray(entries.map((entry) => entry.endpointId))}::text[],
          ${textArray(entries.map((entry) => entry.jobId))}::text[],
          ${numberArray(entries.map((entry) => entry.attempt))}::int[],
          ${numberArray(entries.map((entry) => entry.number))}::int[],
          ${output.starts}::int[], ${output.lengths}::int[], ${metrics.starts}::int[], ${metrics.lengths}::int[],
          ${textArray(entries.map((entry) => entry.machineId))}::text[]
        ) AS g(endpoint_id, id, attempt, number, output_start, output_length, metrics_start, metrics_length, machine_id)
        JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.attempt = g.attempt
          AND j.machine_id = g.machine_id
          AND ${isRunning(this.#hot)} AND ${isLive(this.#hot)}
        FOR SHARE OF j
      )
      INSERT INTO job_chunk (endpoint_id, job_id, attempt, number, output, metrics)
      SELECT endpoint_id, id, attempt, number, substring(${output.blob}::bytea FROM output_start FOR output_length),
        substring(${metrics.blob}::bytea FROM metrics_start FOR metrics_length)
      FROM current ON CONFLICT DO NOTHING`;
  }

  /**
   * Stores progress of current attempts of that machine. Entries must be ordered by (endpointId, jobId), one per
   * attempt and machine.
   */
  async showProgress(entries: readonly ProgressEntry[]): Promise<void> {
    const output = packBytes(entries.map((entry) => entry.output));
    await this.#hot`
      WITH current AS (
        SELECT g.* FROM unnest(
          ${textArray(entries.map((entry) => entry.endpointId))}::text[],
          ${textArray(entries.map((entry) => entry.jobId))}::text[],
          ${numberArray(entries.map((entry) => entry.attempt))}::int[], ${output.starts}::int[],
          ${output.lengths}::int[],
          ${textArray(entries.map((entry) => entry.machineId))}::text[]
        ) AS g(endpoint_id, id, attempt, output_start, output_length, machine_id)
        JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.attempt = g.attempt
          AND j.machine_id = g.machine_id
          AND ${isRunning(this.#hot)} AND ${isLive(this.#hot)}
        FOR SHARE OF j
      )
      INSERT INTO job_output (endpoint_id, job_id, output)
      SELECT endpoint_id, id, substring(${output.blob}::bytea FROM output_start FOR output_length) FROM current
      ON CONFLICT (endpoint_id, job_id) DO UPDATE SET output = excluded.output, error = NULL`;
  }

  /** Reads pages of chunks (chunk-pages.ts). */
  read(requests: readonly ChunkPageRequest[], bounds: ChunkPageBounds): Promise<(ChunkRead | undefined)[]> {
    return readChunkPages(this.#hot, requests, bounds);
  }
}

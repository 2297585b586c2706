/** Reads results of webhook calls of a job, and redrives them. */

import type { JobKey } from '../../domain/jobs/job.ts';
import { ANNOUNCED_STATES } from '../../domain/jobs/job-state.ts';
import { announcement } from '../jobs/outcome-side-effects.ts';
import { isLive, jobColumns } from '../jobs/rows.ts';
import type { Database, Sql } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';

/** A webhook call of a job. */
export interface WebhookCallRecord {
  id: number;
  state: 'WAITING' | 'DELIVERED' | 'GIVEN_UP';
  /** Number of ended tries. */
  tries: number;
  /** Why the last try failed. Empty: none failed. */
  lastError: string;
  redrives: number;
  /**
   * Time of the next try in milliseconds since 1970 or, during a try, the time at which others may retry. `undefined`
   * if it has ended.
   */
  dueAtMs: number | undefined;
  /** End of the call in milliseconds since 1970. */
  endedAtMs: number | undefined;
}

interface CallRow {
  id: number;
  state: WebhookCallRecord['state'];
  tries: number;
  last_error: string;
  redrives: number;
  due_ms: number | null;
  ended_ms: number | null;
}

export class WebhookResultStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /** Returns the newest `limit` calls of a job, newest first. `state`: only calls in this state; default: all. */
  async list(
    { endpointId, jobId }: JobKey,
    limit: number,
    state: WebhookCallRecord['state'] | '' = '',
  ): Promise<WebhookCallRecord[]> {
    const rows = await this.#hot<CallRow[]>`
      SELECT * FROM (
        SELECT id, 'WAITING' AS state, tries, last_error, redrives,
          (extract(epoch FROM due_at) * 1000)::float8 AS due_ms, NULL::float8 AS ended_ms
        FROM webhook_delivery WHERE endpoint_id = ${endpointId} AND job_id = ${jobId}
        UNION ALL
        SELECT id, CASE WHEN delivered THEN 'DELIVERED' ELSE 'GIVEN_UP' END, tries, last_error, redrives, NULL,
          (extract(epoch FROM ended_at) * 1000)::float8
        FROM webhook_result WHERE endpoint_id = ${endpointId} AND job_id = ${jobId}
      ) AS c WHERE ${state}::text IN ('', state) ORDER BY id DESC LIMIT ${limit}::int`;
    return rows.map(({ id, state, tries, last_error: lastError, redrives, due_ms: dueMs, ended_ms: endedMs }) => ({
      id,
      state,
      tries,
      lastError,
      redrives,
      dueAtMs: dueMs ?? undefined,
      endedAtMs: endedMs ?? undefined,
    }));
  }

  /**
   * Schedules the newest ended call of a final job again. The call keeps its id, so that a receiver can detect
   * repeats, and gets the present record of the job. One statement: after a crash the call is either due or ended,
   * and of two concurrent requests one succeeds. Returns false if no call has ended, or it was redriven `redrivesMax`
   * times.
   */
  async redrive({ endpointId, jobId }: JobKey, redrivesMax: number): Promise<boolean> {
    const rows = await this.#hot`
      WITH ended AS (
        DELETE FROM webhook_result r USING job j
        WHERE r.endpoint_id = ${endpointId} AND r.job_id = ${jobId} AND r.redrives < ${redrivesMax}::int
          AND r.id = (SELECT max(n.id) FROM webhook_result n WHERE n.endpoint_id = ${endpointId}
            AND n.job_id = ${jobId})
          AND NOT EXISTS (SELECT FROM webhook_delivery w WHERE w.endpoint_id = ${endpointId} AND w.job_id = ${jobId})
          AND j.endpoint_id = ${endpointId} AND j.id = ${jobId} AND ${isLive(this.#hot)}
          AND j.state || '' = ANY(${textArray(ANNOUNCED_STATES)}::text[]) AND EXISTS (SELECT FROM endpoint e
            WHERE e.id = ${endpointId})
        RETURNING r.id AS call_id, r.redrives + 1 AS redriven, ${jobColumns(this.#hot)}
      ), m AS MATERIALIZED (
        SELECT d.*, o.output, o.error FROM ended d
        LEFT JOIN job_output o ON o.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND o.job_id = d.id
      )
      INSERT INTO webhook_delivery (endpoint_id, job_id, id, redrives, url, url_sealed, body)
      SELECT m.endpoint_id, m.id, m.call_id, m.redriven, ${announcement(this.#hot)}
      FROM m JOIN job_input i ON i.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND i.job_id = m.id RETURNING id`;
    return rows.length > 0;
  }
}

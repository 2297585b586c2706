/**
 * Stores webhook calls to make. A replica takes a call by moving its due time, so a replica that dies loses nothing.
 */
import type { Database, Sql } from '../sql/database.ts';
import { numberArray, textArray } from '../sql/pack.ts';

/** A webhook call to make. */
export interface Delivery {
  endpointId: string;
  /** Account of the endpoint; empty if the endpoint is deleted. */
  accountId: string;
  accountName: string;
  id: number;
  jobId: string;
  /** Empty if it is encrypted. */
  url: string;
  /** Encrypted URL, which the body then does not contain. Null: `url` has it. */
  urlSealed: Buffer | null;
  /** `undefined` for a large body: read it with `readBody` once there is budget. */
  body: Buffer | undefined;
  bodyBytes: number;
  /** Tries that ended without success so far. */
  tries: number;
  /** Number of redrives. */
  redrives: number;
  /** The endpoint's encrypted secret. Null: not signed. */
  secretSealed: Buffer | null;
  /** Trace context of its job, if sampled. */
  traceparent?: string | undefined;
}

/** Endpoints and accounts that are at their limit of calls. */
export interface AtLimit {
  endpointIds: readonly string[];
  accountIds: readonly string[];
}

interface DeliveryRow {
  endpoint_id: string;
  account_id: string | null;
  account_name: string | null;
  id: number;
  job_id: string;
  url: string;
  url_sealed: Buffer | null;
  body: Buffer | null;
  body_bytes: number;
  tries: number;
  redrives: number;
  secret: Buffer | null;
  traceparent: string | null;
}

/** Bodies up to this many bytes come with their call. */
const INLINE_BYTES_MAX = 64 * 1024;

export class WebhookStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /**
   * Leases up to `limit` due calls for `holdMs`, except calls at their limit. No other replica takes them in that time.
   */
  async takeDue(limit: number, holdMs: number, atLimit: AtLimit): Promise<Delivery[]> {
    const rows = await this.#hot<DeliveryRow[]>`
      WITH due AS MATERIALIZED (
        SELECT w.endpoint_id, w.id FROM webhook_delivery w WHERE w.due_at <= now() AND ${isWanted(this.#hot, atLimit)}
        ORDER BY w.due_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED
      )
      UPDATE webhook_delivery w SET due_at = now() + ${holdMs}::int * interval '1 ms' FROM due d
      WHERE w.endpoint_id = d.endpoint_id AND w.id = d.id
      RETURNING w.endpoint_id, w.id, w.job_id, w.url, w.url_sealed, w.tries, w.redrives,
        octet_length(w.body) AS body_bytes,
        (SELECT i.traceparent FROM job_input i WHERE i.endpoint_id = w.endpoint_id
          AND i.job_id = w.job_id) AS traceparent,
        CASE WHEN octet_length(w.body) <= ${INLINE_BYTES_MAX}::int THEN w.body END AS body,
        (SELECT e.webhook_secret_sealed FROM endpoint e WHERE e.id = w.endpoint_id) AS secret,
        (SELECT e.account_id FROM endpoint e WHERE e.id = w.endpoint_id) AS account_id,
        (SELECT a.name FROM endpoint e JOIN account a ON a.id = e.account_id
          WHERE e.id = w.endpoint_id) AS account_name`;
    return rows.map((row) => ({
      endpointId: row.endpoint_id,
      accountId: row.account_id ?? '',
      accountName: row.account_name ?? '',
      id: row.id,
      jobId: row.job_id,
      url: row.url,
      urlSealed: row.url_sealed,
      body: row.body ?? undefined,
      bodyBytes: row.body_bytes,
      tries: row.tries,
      redrives: row.redrives,
      secretSealed: row.secret,
      traceparent: row.traceparent ?? undefined,
    }));
  }

  /** Returns the body of a call that was taken. `undefined` if the call was deleted. */
  async readBody(delivery: Delivery): Promise<Buffer | undefined> {
    const [row] = await this.#hot<{ body: Buffer }[]>`
      SELECT body FROM webhook_delivery WHERE endpoint_id = ${delivery.endpointId} AND id = ${delivery.id}`;
    return row?.body;
  }

  /**
   * Ends a call that was delivered, or abandoned because of `error`. The result is stored as long as the job. The
   * share lock on the job's row prevents a result from being written after the job is deleted; nothing would ever
   * delete it. A call that was redriven in the meantime is another call, and stays.
   */
  async end({ endpointId, id, tries, redrives }: Delivery, error: string | undefined): Promise<void> {
    await this.#hot`
      WITH gone AS (
        DELETE FROM webhook_delivery WHERE endpoint_id = ${endpointId} AND id = ${id} AND redrives = ${redrives}::int
        RETURNING endpoint_id, job_id, id, redrives
      ), kept AS MATERIALIZED (
        SELECT g.* FROM gone g JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.job_id FOR KEY SHARE
          OF j
      )
      INSERT INTO webhook_result (endpoint_id, job_id, id, delivered, tries, last_error, redrives)
      SELECT endpoint_id, job_id, id, ${error === undefined}::boolean, ${tries + 1}::int, ${error ?? ''}::text, redrives
        FROM kept`;
  }

  /** Schedules the next try of a call in `delayMs`. `error`: why this try failed; without it the try does not count. */
  async postpone(delivery: Delivery, delayMs: number, error: string | undefined): Promise<void> {
    await this.#hot`
      UPDATE webhook_delivery SET tries = tries + ${error === undefined ? 0 : 1}::int,
        last_error = coalesce(${error ?? null}::text, last_error),
        due_at = now() + ${delayMs}::int * interval '1 ms'
      WHERE endpoint_id = ${delivery.endpointId} AND id = ${delivery.id}`;
  }

  /** Schedules the next try of calls that exceeded the budget. */
  async defer(deliveries: readonly Delivery[], delayMs: number): Promise<void> {
    await this.#hot`
      UPDATE webhook_delivery w SET due_at = now() + ${delayMs}::int * interval '1 ms'
      FROM unnest(${textArray(deliveries.map((delivery) => delivery.endpointId))}::text[],
        ${numberArray(deliveries.map(({ id }) => id))}::bigint[])
        AS g(endpoint_id, id)
      WHERE w.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND w.id = g.id`;
  }

  /**
   * Returns the milliseconds until the next call is due, without calls at their limit. `undefined` if there is none.
   */
  async nextDueMs(atLimit: AtLimit): Promise<number | undefined> {
    const [row] = await this.#hot<{ ms: number | null }[]>`
      SELECT (extract(epoch FROM w.due_at - clock_timestamp()) * 1000)::float8 AS ms FROM webhook_delivery w
      WHERE ${isWanted(this.#hot, atLimit)} ORDER BY w.due_at LIMIT 1`;
    return row?.ms ?? undefined;
  }
}

function isWanted(sql: Sql, { endpointIds, accountIds }: AtLimit) {
  return sql`w.endpoint_id <> ALL(${textArray(endpointIds)}::text[]) AND NOT EXISTS (
    SELECT FROM endpoint e WHERE e.id = w.endpoint_id AND e.account_id = ANY(${textArray(accountIds)}::text[]))`;
}

/** Requests to workers of load-balancing endpoints: written by each replica, read for their owner. */
import type { RequestCounts } from '@slipway/kit/observe/request-counts';
import { DURATION_BINS_MAX, REQUEST_OUTCOMES } from '@slipway/kit/observe/request-counts';
import { TRAFFIC_KEPT_HOURS } from '../../domain/scaling/traffic.ts';
import type { Database, Fragment } from '../sql/database.ts';
import { inKnownTransaction } from '../sql/known-commit.ts';
import { textArray } from '../sql/pack.ts';

/** Failed requests that are kept of each endpoint. Between two passes of the reaper there may be more. */
const FAILED_KEPT_MAX = 100;
/** Most workers in an answer. */
const WORKERS_MAX = 200;
/** Largest sum: JavaScript and the contract have no larger whole numbers. A sum that would be larger stays there. */
const SUM_MAX = Number.MAX_SAFE_INTEGER;

/** A request that failed, for its owner. It holds neither headers nor bodies, and no query. */
export interface FailedRequest {
  atMs: number;
  method: string;
  path: string;
  hasQuery: boolean;
  /** 0: there was no complete response. */
  status: number;
  durationMs: number;
  workerId: string;
  /** Code of our error, or how the connection ended. Empty: the worker's own response. */
  cause: string;
}

/** Requests of a worker, or of none. */
export interface MeteredRequests extends RequestCounts {
  endpointId: string;
  workerId: string;
}

/** Requests to an endpoint in a span. */
interface RecordedRequests {
  /** By steps that begin at multiples of the length of a step. Steps without requests are left out. */
  steps: (RequestCounts & { startMs: number })[];
  workers: (RequestCounts & { workerId: string })[];
  /** Latest first. */
  failed: FailedRequest[];
  /** All requests since the first that was counted. */
  ever: RequestCounts | undefined;
}

export class RequestStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the ids that are workers of their endpoints, ended ones included while they are listed. */
  async workersOf(counts: readonly Pick<MeteredRequests, 'endpointId' | 'workerId'>[]): Promise<Set<string>> {
    const named = counts.filter(({ workerId }) => workerId !== '');
    if (named.length === 0) return new Set();
    const rows = await this.#database.sql<{ id: string }[]>`
      SELECT w.id FROM unnest(${textArray(named.map(({ endpointId }) => endpointId))}::text[],
        ${textArray(named.map(({ workerId }) => workerId))}::text[]) AS g (endpoint_id, worker_id)
      JOIN worker w ON w.id = g.worker_id AND w.endpoint_id = g.endpoint_id`;
    return new Set(rows.map(({ id }) => id));
  }

  /** Appends the requests of the last `spanMs` milliseconds. Throws LostAnswerError if that may have been done. */
  async append(
    {
      counts,
      failed,
    }: { counts: readonly MeteredRequests[]; failed: readonly (FailedRequest & { endpointId: string })[] },
    spanMs: number,
  ): Promise<void> {
    // In the same order at each replica, so that none waits for another in a circle.
    const ordered = counts.toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1));
    const summed = (own: string, more: string) =>
      `ARRAY(SELECT least(coalesce(o, 0) + coalesce(g, 0), ${SUM_MAX}) FROM unnest(${own}, ${more}) ` +
      'WITH ORDINALITY AS u (o, g, n) ORDER BY n)';
    const { sql } = this.#database;
    await inKnownTransaction(
      sql,
      (tx) => tx`
      WITH given AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(${JSON.stringify(ordered)}::text::jsonb) AS s ("endpointId" text,
          "workerId" text, outcomes int[], "bytesIn" bigint, "bytesOut" bigint, "durationMs" bigint, durations int[])
      ), spans AS (
        INSERT INTO endpoint_requests (endpoint_id, worker_id, span_ms, outcomes, bytes_in, bytes_out, duration_ms,
          durations)
        SELECT "endpointId", "workerId", ${spanMs}, outcomes, "bytesIn", "bytesOut", "durationMs", durations FROM given
      ), failures AS (
        INSERT INTO failed_request (endpoint_id, failed_at, method, path, has_query, status, duration_ms, worker_id,
          cause)
        SELECT "endpointId", to_timestamp("atMs" / 1000), method, path, "hasQuery", status, "durationMs", "workerId",
          cause
        FROM jsonb_to_recordset(${JSON.stringify(failed)}::text::jsonb) AS f ("endpointId" text, "atMs" float8,
          method text, path text, "hasQuery" boolean, status int, "durationMs" int, "workerId" text, cause text)
      )
      INSERT INTO endpoint_request_total AS t (endpoint_id, outcomes, bytes_in, bytes_out, duration_ms, durations)
      SELECT "endpointId", ${sql.unsafe(arraySums('outcomes', REQUEST_OUTCOMES.length))},
        ${sql.unsafe(['"bytesIn"', '"bytesOut"', '"durationMs"'].map(boundedSum).join())},
        ${sql.unsafe(arraySums('durations', DURATION_BINS_MAX))}
      FROM given GROUP BY "endpointId" ORDER BY "endpointId"
      ON CONFLICT (endpoint_id) DO UPDATE SET
        outcomes = ${sql.unsafe(summed('t.outcomes', 'excluded.outcomes'))},
        bytes_in = least(t.bytes_in + excluded.bytes_in, ${SUM_MAX}::bigint),
        bytes_out = least(t.bytes_out + excluded.bytes_out, ${SUM_MAX}::bigint),
        duration_ms = least(t.duration_ms + excluded.duration_ms, ${SUM_MAX}::bigint),
        durations = ${sql.unsafe(summed('t.durations', 'excluded.durations'))}`,
    );
  }

  /** Returns the requests to an endpoint in the last `spanMs` milliseconds. */
  async recorded(endpointId: string, spanMs: number, stepMs: number): Promise<RecordedRequests> {
    const { sql } = this.#database;
    const since = sql`now() - ${spanMs}::float8 * interval '1 ms'`;
    const sums = sql`${sql.unsafe(arraySums('outcomes', REQUEST_OUTCOMES.length))} AS outcomes,
      ${sql.unsafe(boundedSum('bytes_in'))} AS "bytesIn", ${sql.unsafe(boundedSum('bytes_out'))} AS "bytesOut",
      ${sql.unsafe(boundedSum('duration_ms'))} AS "durationMs",
      ${sql.unsafe(arraySums('durations', DURATION_BINS_MAX))} AS durations`;
    const of = (group: Fragment, tail: Fragment) => sql`
      SELECT ${group}, ${sums} FROM endpoint_requests
      WHERE endpoint_id = ${endpointId} AND ended_at > ${since} GROUP BY 1 ${tail}`;
    const begin = sql`floor(date_part('epoch', ended_at) * 1000 / ${stepMs}::float8) * ${stepMs}::float8 AS "startMs"`;
    const [steps, workers, failed, [ever]] = await Promise.all([
      of(begin, sql`ORDER BY 1`) as unknown as Promise<RecordedRequests['steps']>,
      of(
        sql`worker_id AS "workerId"`,
        sql`ORDER BY sum((SELECT sum(n) FROM unnest(outcomes) AS n)) DESC, 1 LIMIT ${WORKERS_MAX}`,
      ) as unknown as Promise<RecordedRequests['workers']>,
      sql<FailedRequest[]>`
        SELECT floor(extract(epoch FROM failed_at) * 1000)::float8 AS "atMs", method, path, has_query AS "hasQuery",
          status, duration_ms AS "durationMs", worker_id AS "workerId", cause
        FROM failed_request WHERE endpoint_id = ${endpointId} ORDER BY id DESC LIMIT ${FAILED_KEPT_MAX}`,
      sql<RequestCounts[]>`
        SELECT outcomes, bytes_in AS "bytesIn", bytes_out AS "bytesOut", duration_ms AS "durationMs", durations
        FROM endpoint_request_total WHERE endpoint_id = ${endpointId}`,
    ]);
    return { steps: [...steps], workers: [...workers], failed: [...failed], ever };
  }

  /**
   * Deletes up to `limit` old spans, old failed requests, and the sums of deleted endpoints. Returns the number of
   * spans.
   */
  async reap(limit: number): Promise<number> {
    const { sql } = this.#database;
    const old = sql`now() - ${TRAFFIC_KEPT_HOURS}::int * interval '1 h'`;
    const rows = await sql`
      DELETE FROM endpoint_requests WHERE ctid IN (
        SELECT ctid FROM endpoint_requests WHERE ended_at < ${old} ORDER BY ended_at LIMIT ${limit})`;
    await sql`
      DELETE FROM failed_request f USING (
        SELECT id, row_number() OVER (PARTITION BY endpoint_id ORDER BY id DESC) AS place FROM failed_request) r
      WHERE f.id = r.id AND (r.place > ${FAILED_KEPT_MAX} OR f.failed_at < ${old})`;
    await sql`
      DELETE FROM endpoint_request_total t WHERE NOT EXISTS (SELECT FROM endpoint e WHERE e.id = t.endpoint_id)`;
    return rows.count;
  }
}

function boundedSum(column: string): string {
  return `least(sum(${column}), ${SUM_MAX})::bigint`;
}

/** Returns the sum of arrays over many rows, place by place. */
function arraySums(column: string, length: number): string {
  const places = Array.from({ length }, (_, place) => `coalesce(sum(${column}[${place + 1}]), 0)::bigint`);
  return `ARRAY[${places.join(', ')}]`;
}

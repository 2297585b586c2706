/**
 * Pages of the jobs of many endpoints, newest first. Each endpoint has one stream of jobs for each kind of state, or
 * one for a pair of metadata, in the order of an index. A page first reads the newest job of every stream; its jobs can
 * only come from the streams whose newest jobs are the newest. So it costs an index lookup for each stream and the
 * square of its size, however many jobs there are.
 */

import type { Job } from '../../domain/jobs/job.ts';
import type { JobState } from '../../domain/jobs/job-state.ts';
import { PARTS } from '../jobs/job-list.ts';
import { submittedWithin } from '../jobs/job-range.ts';
import type { JobRow } from '../jobs/rows.ts';
import { isLive, jobColumns, jobFromRow } from '../jobs/rows.ts';
import type { Database, Fragment, Sql } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';

/** Endpoints to search. */
interface SearchedEndpoints {
  /** Owner. Empty: any account. */
  accountId: string;
  /** Only these. Empty: all. */
  endpointIds: readonly string[];
  /** Text in the name, or an id. Empty: all. */
  endpoint: string;
}

/** A request for a page. */
export interface JobSearchRequest extends SearchedEndpoints {
  /** Only the job with this id. Empty: all. */
  jobId: string;
  /** Only jobs in this state, `undefined` for all. */
  state: JobState | undefined;
  /** Only jobs with all of these pairs. Empty: all. */
  metadata: readonly (readonly [key: string, value: string])[];
  /** Only jobs submitted from then on, in milliseconds since 1970. */
  fromMs: number | undefined;
  /** Cursor: `next` of the previous page, `undefined` for the first page. */
  after: number | undefined;
  limit: number;
}

/** Number of jobs in a state. `capped`: there are more. */
interface StateCount {
  state: JobState;
  count: number;
  capped: boolean;
}

/** A page of jobs. */
export interface FoundJobs {
  jobs: Job[];
  /** Cursor of the next page, `undefined` if there is none. */
  next: number | undefined;
  counts: StateCount[];
  /** Names of the endpoints of these jobs, by id. */
  endpointNames: Record<string, string>;
}

/** A stream: the kind of rows, and the order of its index. */
interface Stream {
  from: Fragment;
  where: Fragment;
  id: Fragment;
}

type NamedRow = JobRow & { endpoint_name: string };
type FoundRow = NamedRow & { position: number; wanted: boolean };

/** Most jobs that are examined for a page that is filtered by metadata. */
const EXAMINED_MAX = 200;
/** Jobs of a state that are counted. */
const COUNTED_MAX = 1_000;
/** As in job-range.ts: a transaction that began earlier may take its position later. */
const DISORDER_MS = 1_000;

/** Searches the jobs of many endpoints; on the hot pool, whose plans are the indexes. */
export class JobSearchStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /** Returns a page, without counts. */
  async search(request: JobSearchRequest): Promise<Omit<FoundJobs, 'counts'>> {
    const { limit, metadata, fromMs } = request;
    const examined = metadata.length > 0 ? Math.max(EXAMINED_MAX, limit + 1) : limit + 1;
    const rows = await this.#read(request, examined);
    const wanted = rows.filter((row) => row.wanted).slice(0, limit);
    const last = wanted.length === limit ? wanted.at(-1) : rows.at(-1);
    const isLast = rows.length < examined && last === rows.at(-1);
    // Only jobs that were not queued again are in the order of their submission.
    const first = rows.findLast(
      ({ attempt, delay_ms: delayMs }) => attempt === 0 || (attempt === 1 && delayMs !== null),
    );
    const isPast = fromMs !== undefined && first !== undefined && first.submitted_ms < fromMs - DISORDER_MS;
    const isOver = isLast || (isPast && wanted.length < limit);
    return { ...named(wanted), next: isOver ? undefined : last?.position };
  }

  /** Returns the job of an id, if one of these endpoints has it. */
  async find(jobId: string, endpoints: SearchedEndpoints): Promise<Pick<FoundJobs, 'jobs' | 'endpointNames'>> {
    const sql = this.#hot;
    const rows = await sql<NamedRow[]>`
      WITH owned AS MATERIALIZED (${owned(sql, endpoints)}), found AS MATERIALIZED (
        SELECT j.*, e.name FROM owned e CROSS JOIN LATERAL (
          SELECT * FROM job WHERE endpoint_id = e.id AND id = ${jobId}) AS j
          LIMIT 1)
      SELECT ${jobColumns(sql)}, j.name AS endpoint_name, o.error, i.metadata FROM found j ${payloads(sql)}
      WHERE ${isLive(sql)}`;
    return named(rows);
  }

  /** Counts the jobs of each state, up to a limit. States without jobs are left out. */
  async count(endpoints: SearchedEndpoints): Promise<StateCount[]> {
    const sql = this.#hot;
    const most = COUNTED_MAX + 1;
    const counted = states(undefined)
      .map((state) => {
        const each = PARTS[state](sql)
          .map(
            (part) => sql`(SELECT FROM owned e CROSS JOIN LATERAL (
              SELECT FROM job WHERE endpoint_id = e.id AND ${part} LIMIT ${most}::int) AS j LIMIT ${most}::int)`,
          )
          .reduce((all, part) => sql`${all} UNION ALL ${part}`);
        return sql`SELECT ${state}::text AS state, (SELECT count(*) FROM (${each}) AS n) AS count`;
      })
      .reduce((all, part) => sql`${all} UNION ALL ${part}`);
    const rows = await sql<{ state: JobState; count: number }[]>`
      WITH owned AS MATERIALIZED (${owned(sql, endpoints)}) ${counted}`;
    return rows
      .filter(({ count }) => count > 0)
      .map(({ state, count }) => ({ state, count: Math.min(count, COUNTED_MAX), capped: count > COUNTED_MAX }));
  }

  async #read(request: JobSearchRequest, many: number): Promise<FoundRow[]> {
    const sql = this.#hot;
    const { state, metadata, fromMs, after } = request;
    const streams = streamsOf(sql, request);
    const behind = sql`position < ${after ?? Number.MAX_SAFE_INTEGER}`;
    const heads = joined(
      sql,
      streams.map(
        ({ from, where }, index) => sql`
        SELECT e.id, ${index}::int AS stream, h.position FROM owned e CROSS JOIN LATERAL (
          SELECT position FROM ${from} WHERE endpoint_id = e.id AND ${where} AND ${behind}
          ORDER BY position DESC LIMIT 1) AS h`,
      ),
    );
    const jobs = joined(
      sql,
      streams.map(
        ({ from, where, id }, index) => sql`
        SELECT t.id AS endpoint_id, n.id, n.position FROM top t CROSS JOIN LATERAL (
          SELECT ${id} AS id, position FROM ${from} WHERE endpoint_id = t.id AND ${where} AND ${behind}
          ORDER BY position DESC LIMIT ${many}::int) AS n WHERE t.stream = ${index}::int`,
      ),
    );
    return await sql<FoundRow[]>`
      WITH owned AS MATERIALIZED (${owned(sql, request)}), heads AS MATERIALIZED (${heads}),
      top AS MATERIALIZED (SELECT id, stream FROM heads ORDER BY position DESC LIMIT ${many}::int),
      page AS MATERIALIZED (SELECT * FROM (${jobs}) AS n ORDER BY position DESC LIMIT ${many}::int)
      SELECT ${jobColumns(sql)}, p.position, e.name AS endpoint_name, o.error, i.metadata,
        (${isLive(sql)} AND ${state === undefined ? sql`true` : sql`j.state = ${state}`}
          ${submittedWithin(sql, { fromMs })}
          AND ${hasPairs(sql, metadata)}) AS wanted
      FROM page p JOIN job j ON j.endpoint_id = ANY(ARRAY[p.endpoint_id]) AND j.id = p.id
        JOIN owned e ON e.id = p.endpoint_id ${payloads(sql)}
      ORDER BY p.position DESC`;
  }
}

/** Returns the endpoints that are searched. */
function owned(sql: Sql, { accountId, endpointIds, endpoint }: SearchedEndpoints): Fragment {
  const account = accountId === '' ? sql`true` : sql`account_id = ${accountId}`;
  const listed = endpointIds.length === 0 ? sql`true` : sql`id = ANY(${textArray(endpointIds)}::text[])`;
  const like =
    endpoint === '' ? sql`true` : sql`(id = ${endpoint} OR strpos(lower(name), lower(${endpoint}::text)) > 0)`;
  return sql`SELECT id, name FROM endpoint WHERE ${account} AND ${listed} AND ${like}`;
}

function named(rows: readonly NamedRow[]): Pick<FoundJobs, 'jobs' | 'endpointNames'> {
  const endpointNames = Object.fromEntries(rows.map((row) => [row.endpoint_id, row.endpoint_name]));
  return { jobs: rows.map(jobFromRow), endpointNames };
}

function payloads(sql: Sql): Fragment {
  return sql`LEFT JOIN job_output o ON o.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND o.job_id = j.id
    LEFT JOIN job_input i ON i.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND i.job_id = j.id`;
}

function streamsOf(sql: Sql, { state, metadata: [first] }: JobSearchRequest): Stream[] {
  if (first) {
    const where = sql`key = ${first[0]} AND value = ${first[1]}`;
    return [{ from: sql`job_metadata`, where, id: sql`job_id` }];
  }
  const parts = states(state).flatMap((name) => PARTS[name](sql));
  return parts.map((where) => ({ from: sql`job`, where, id: sql`id` }));
}

/** Returns the condition that the metadata of row `i` has these pairs. */
function hasPairs(sql: Sql, pairs: JobSearchRequest['metadata']): Fragment {
  return pairs.length === 0
    ? sql`true`
    : sql`i.metadata::jsonb @> ${JSON.stringify(Object.fromEntries(pairs))}::text::jsonb`;
}

function joined(sql: Sql, parts: readonly Fragment[]): Fragment {
  return parts.reduce((all, part) => sql`${all} UNION ALL ${part}`);
}

function states(only: JobState | undefined): JobState[] {
  return only ? [only] : (Object.keys(PARTS) as JobState[]);
}

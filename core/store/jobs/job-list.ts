/**
 * Pages of the jobs of an endpoint, newest or oldest first. No index has all jobs in order: one would be written to by
 * every change of every job. Each kind of state has its own, so a page is merged of the first of each, and costs the
 * same however many jobs there are. By how long they took only the first thousand are ordered.
 */

import type { Job } from '../../domain/jobs/job.ts';
import type { JobState } from '../../domain/jobs/job-state.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import type { SubmittedRange } from './job-range.ts';
import { positionsOf, submittedWithin } from './job-range.ts';
import type { JobRow } from './rows.ts';
import { jobColumns, jobFromRow } from './rows.ts';

/** A request for a page of the list. */
export interface JobListRequest {
  /** Only jobs in this state, `undefined` for all. */
  state: JobState | undefined;
  oldestFirst: boolean;
  /** Orders the first 1,000 jobs by the longest of these times. */
  longest?: 'delay' | 'execution' | undefined;
  /** Only jobs submitted in this period. */
  submitted?: SubmittedRange | undefined;
  /** Cursor: `next` of the previous page, `undefined` for the first page. */
  after?: number | undefined;
  /** Jobs to skip. Costs as much as reading them. */
  offset: number;
  limit: number;
}

/** A page of jobs. */
export interface JobListPage {
  jobs: Job[];
  /** Number of matching jobs, counted up to 10,000 or to the end of this page. */
  total: number;
  /** True if more than `total` match. */
  totalCapped: boolean;
  /** Cursor of the next page, `undefined` if there is none. */
  next: number | undefined;
}

const COUNTED_MAX = 10_000;
/** Most jobs that are sorted by a value without an index. */
const ORDERED_MAX = 1_000;

/** Conditions of each state's index, exactly as the index declares them. */
export const PARTS: Record<JobState, (sql: Sql) => Fragment[]> = {
  IN_QUEUE: (sql) => [
    sql`state = 'IN_QUEUE' AND low_priority = false`,
    sql`state = 'IN_QUEUE' AND low_priority = true`,
  ],
  IN_PROGRESS: (sql) => [sql`state = 'IN_PROGRESS'`],
  COMPLETED: (sql) => [sql`state = 'COMPLETED' AND finished_at IS NOT NULL`],
  FAILED: (sql) => [sql`state = 'FAILED' AND finished_at IS NOT NULL`],
  CANCELLED: (sql) => [sql`state = 'CANCELLED' AND finished_at IS NOT NULL`],
  TIMED_OUT: (sql) => [sql`state = 'TIMED_OUT' AND finished_at IS NOT NULL`],
};

/** Reads a page; on the hot pool, whose plans are the indexes. */
export async function listJobs(sql: Sql, endpointId: string, request: JobListRequest): Promise<JobListPage> {
  const { state, oldestFirst, longest, submitted, after, offset, limit } = request;
  const states = state ? [state] : (Object.keys(PARTS) as JobState[]);
  // The index of running jobs has another order, and they are few.
  const ordered = states.filter((name) => name !== 'IN_PROGRESS').flatMap((name) => PARTS[name](sql));
  const positions = submitted && (await positionsOf(sql, endpointId, ordered, submitted));
  const within = positions
    ? sql`AND position >= ${positions.low} AND position < ${positions.high} ${submittedWithin(sql, submitted)}`
    : sql``;
  const parts = states.flatMap((name) => PARTS[name](sql));
  const order = oldestFirst ? sql`position` : sql`position DESC`;
  const behind = (start: number | undefined): Fragment =>
    oldestFirst
      ? sql`position > ${start ?? Number.MIN_SAFE_INTEGER}`
      : sql`position < ${start ?? Number.MAX_SAFE_INTEGER}`;
  const first = (many: number, start: number | undefined): Fragment =>
    parts
      .map(
        (part) => sql`
    (SELECT * FROM job WHERE endpoint_id = ${endpointId} AND ${part} AND ${behind(start)} ${within}
      AND expires_at > now()
      ORDER BY ${order} LIMIT ${many}::int)`,
      )
      .reduce((all, part) => sql`${all} UNION ALL ${part}`);
  // Offset of a page that is ordered by a time: the number of jobs before it.
  const skipped = longest ? Math.min(ORDERED_MAX, offset + (after ?? 0)) : offset;
  const from = longest
    ? sql`(SELECT * FROM (${first(ORDERED_MAX, undefined)}) AS f ORDER BY ${order} LIMIT ${ORDERED_MAX}::int)`
    : sql`(${first(offset + limit + 1, after)})`;
  const shownOrder = longest ? sql`${spanOf(sql, longest)} DESC NULLS LAST, ${order}` : order;
  const rows = await sql<(JobRow & { position: number })[]>`
    WITH page AS MATERIALIZED (SELECT * FROM ${from} AS n ORDER BY ${shownOrder} OFFSET ${skipped}::int
      LIMIT ${limit + 1}::int)
    SELECT ${jobColumns(sql)}, j.position, o.error, i.metadata FROM page j
    LEFT JOIN job_output o ON o.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND o.job_id = j.id
    LEFT JOIN job_input i ON i.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND i.job_id = j.id ORDER BY ${shownOrder}`;
  const counted = Math.max(COUNTED_MAX, offset + limit) + 1;
  const [count] = await sql<{ total: number }[]>`
    SELECT count(*) AS total FROM (SELECT FROM (${first(counted, undefined)}) AS n LIMIT ${counted}::int) AS c`;
  const shown = rows.slice(0, limit);
  const next = longest ? skipped + limit : shown.at(-1)?.position;
  return {
    jobs: shown.map(jobFromRow),
    total: Math.min(count!.total, counted - 1),
    totalCapped: count!.total === counted,
    next: rows.length <= limit ? undefined : next,
  };
}

/** Returns the length of a job's wait or execution. One that has not ended counts until now. */
function spanOf(sql: Sql, span: NonNullable<JobListRequest['longest']>): Fragment {
  return span === 'delay'
    ? sql`coalesce(started_at, finished_at, now()) - submitted_at`
    : sql`coalesce(finished_at, now()) - started_at`;
}

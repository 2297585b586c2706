/**
 * Reads failed and timed-out jobs of an endpoint, newest first, with the parts of their errors that identify the
 * cause. Reads in slices by the index of finished jobs. Each slice is bounded in entries and bytes, however many jobs
 * exist and however long their errors are.
 */

import type { ErrorParts, FailedJob } from '../../domain/jobs/error-groups.ts';
import { ERROR_HEAD, ERROR_TAIL, ERROR_WHOLE_MAX } from '../../domain/jobs/error-groups.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';
import { PAGE_BYTES_MAX } from '../sql/page.ts';

/** A request for a slice. */
export interface FailedSliceRequest {
  /** Only jobs that ended within this many milliseconds. */
  spanMs: number;
  /** Cursor: `next` of the previous slice, `undefined` for the newest job. */
  after: number | undefined;
  /** Most jobs to read, including jobs that ended too early. */
  limit: number;
}

/** A slice of jobs. */
export interface FailedSlice {
  /** Jobs with their positions. */
  jobs: (FailedJob & { position: number })[];
  /** Number of jobs read, and the bytes of their errors. */
  scanned: number;
  bytes: number;
  /** Cursor of the next slice, `undefined` if there is none. */
  next: number | undefined;
}

interface PartsRow {
  head: string | null;
  tail: string | null;
}

interface FailedRow extends PartsRow {
  id: string;
  state: string;
  position: number;
  finished_ms: number;
  counts: boolean;
  bytes: number;
  found: number;
}

/** Reads a slice; on the hot pool, whose plans are the indexes. */
export async function readFailedJobs(
  sql: Sql,
  endpointId: string,
  { spanMs, after, limit }: FailedSliceRequest,
): Promise<FailedSlice> {
  const newest = (state: Fragment): Fragment => sql`
    (SELECT endpoint_id, id, state, position, finished_at, expires_at FROM job
      WHERE endpoint_id = ${endpointId} AND ${state} AND finished_at IS NOT NULL
        AND position < ${after ?? Number.MAX_SAFE_INTEGER}
      ORDER BY position DESC LIMIT ${limit}::int)`;
  // Sizes decide which texts are read: texts stored out of line are fetched only for the result.
  const rows = await sql<FailedRow[]>`
    WITH slice AS MATERIALIZED (
      SELECT *, expires_at > now() AND finished_at >= now() - ${spanMs}::float8 * interval '1 ms' AS counts
      FROM (${newest(sql`state = 'FAILED'`)} UNION ALL ${newest(sql`state = 'TIMED_OUT'`)}) AS n ORDER BY position DESC
        LIMIT ${limit}::int
    ), sized AS (
      SELECT s.*, o.error, coalesce(octet_length(o.error), 0) AS bytes FROM slice s
      LEFT JOIN job_output o ON s.counts AND o.endpoint_id = ANY(ARRAY[s.endpoint_id]) AND o.job_id = s.id
    ), page AS (
      SELECT *, sum(bytes) OVER (ORDER BY position DESC) - bytes AS before FROM sized
    )
    SELECT id, state, position, counts, bytes, date_part('epoch', finished_at) * 1000 AS finished_ms,
      (SELECT count(*)::int FROM slice) AS found,
      ${parts(sql)}
    FROM page WHERE before < ${PAGE_BYTES_MAX}::int ORDER BY position DESC`;
  const last = rows.at(-1);
  const isEnd = !last || (rows.length === last.found && last.found < limit);
  return {
    jobs: rows
      .filter(({ counts }) => counts)
      .map(({ id, state, position, finished_ms: finishedAtMs, ...row }) => ({
        id,
        state,
        position,
        finishedAtMs,
        error: partsOf(row),
      })),
    scanned: rows.length,
    bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    next: isEnd ? undefined : last.position,
  };
}

/**
 * Returns parts of the errors of these jobs, in this order, of as many as fit a page and at least one, and the bytes
 * of those errors.
 */
export async function readErrorParts(
  sql: Sql,
  endpointId: string,
  jobIds: readonly string[],
): Promise<{ errors: (ErrorParts | undefined)[]; bytes: number }> {
  const rows = await sql<(PartsRow & { bytes: number })[]>`
    WITH sized AS (
      SELECT g.index, o.error, coalesce(octet_length(o.error), 0) AS bytes
      FROM unnest(${textArray(jobIds.map(() => endpointId))}::text[], ${textArray(jobIds)}::text[]) WITH
        ORDINALITY AS g(endpoint_id, job_id, index)
      LEFT JOIN job_output o ON o.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND o.job_id = g.job_id
    ), page AS (
      SELECT *, sum(bytes) OVER (ORDER BY index) - bytes AS before FROM sized
    )
    SELECT bytes, ${parts(sql)} FROM page WHERE before < ${PAGE_BYTES_MAX}::int ORDER BY index`;
  return { errors: rows.map(partsOf), bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Returns the columns of the parts of an error: all of it, or its beginning and end. */
function parts(sql: Sql): Fragment {
  return sql`
    CASE WHEN bytes <= ${ERROR_WHOLE_MAX}::int THEN error ELSE left(error, ${ERROR_HEAD}::int) END AS head,
    CASE WHEN bytes > ${ERROR_WHOLE_MAX}::int THEN right(error, ${ERROR_TAIL}::int) ELSE '' END AS tail`;
}

function partsOf({ head, tail }: PartsRow): ErrorParts | undefined {
  return head === null ? undefined : { head, tail: tail ?? '' };
}

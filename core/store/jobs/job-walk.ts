/**
 * Walks all jobs of an endpoint that match a filter, to cancel or requeue each: a few per call, on any replica, as long
 * as the caller continues. The walk stores nothing but its position. The set of jobs is fixed when it begins: jobs with
 * positions assigned by then and, for a requeue, jobs that had ended by then. Jobs change while it runs, and a job that
 * was put back into the queue would be behind it. So it walks in rounds until a whole round changed nothing. With a
 * filter by error group there is one round only.
 */

import { byJob } from '../../domain/jobs/job.ts';
import type { JobState } from '../../domain/jobs/job-state.ts';
import { JOB_STATES } from '../../domain/jobs/job-state.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import { numberArray, textArray } from '../sql/pack.ts';
import { PARTS } from './job-list.ts';
import type { JobRange, SubmittedRange } from './job-range.ts';
import { positionsOf, submittedWithin } from './job-range.ts';

/** Selection of jobs, and the transition to apply. */
export interface WalkedJobs {
  endpointId: string;
  move: 'cancel' | 'retry';
  /** At least one. The transition must be allowed from each. */
  states: readonly JobState[];
  submitted: SubmittedRange | undefined;
  /** Only jobs that ended like this. Absent: no restriction. */
  ended?: EndedJobs | undefined;
}

/** Filter of jobs by how they ended. */
interface EndedJobs {
  /** Only jobs that ended at this time or later, `undefined` for no limit. */
  fromMs: number | undefined;
  /** Only jobs of this error group, `undefined` for all. */
  errorGroup: string | undefined;
}

/** Position of a walk. */
export interface JobWalk extends WalkedJobs {
  /** Positions of all jobs of the walk. */
  range: JobRange;
  /** Begin of the walk, in microseconds since 1970 by the database's clock. */
  begunUs: number;
  /** Index of the current part (see `partsOf`). */
  part: number;
  /** Positions that remain in the current part. */
  left: JobRange;
  /** True if this round has changed a job. */
  hasMoved: boolean;
}

/** A job that matched when it was read. */
export interface Match {
  jobId: string;
  position: number;
  /** Queue position after a requeue; 0 for other transitions. */
  nextPosition: number;
}

/** A scanned job. */
export interface ScannedJob extends Match {
  state: JobState;
  /** True if it ended late enough to match. */
  counts: boolean;
}

/** Returns the parts of a walk, each with its own index. A queue has two; the second is for low priority. */
export function partsOf(states: readonly JobState[]): { state: JobState; index: number }[] {
  return JOB_STATES.filter((state) => states.includes(state)).flatMap((state) =>
    (state === 'IN_QUEUE' ? [0, 1] : [0]).map((index) => ({ state, index })),
  );
}

/** Begins a walk: fixes its set of jobs. */
export async function beginWalk(sql: Sql, wanted: WalkedJobs): Promise<JobWalk> {
  const { endpointId, states, submitted } = wanted;
  const [now] = await sql<[{ high: number; begunUs: number }]>`
    SELECT last_value + 1 AS high, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS "begunUs"
      FROM job_position_seq`;
  // The index of running jobs has another order, and they are few.
  const ordered = states.filter((state) => state !== 'IN_PROGRESS').flatMap((state) => PARTS[state](sql));
  const { low, high } = submitted ? await positionsOf(sql, endpointId, ordered, submitted) : { low: 0, high: now.high };
  const range = { low, high: Math.min(high, now.high) };
  return { ...wanted, range, begunUs: now.begunUs, part: 0, left: range, hasMoved: false };
}

/**
 * Returns the next jobs, at most `limit`, that match except for how they ended. Cancelling begins at the end of a
 * queue: claims begin at its head and so do not meet jobs that are being cancelled. Requeueing begins with the oldest
 * job, so that the order is kept.
 */
export async function nextMatches(sql: Sql, walk: JobWalk, limit: number): Promise<ScannedJob[]> {
  const { endpointId, move, states, submitted, ended: { fromMs } = {}, left, begunUs, part } = walk;
  const { state, index } = partsOf(states)[part]!;
  const isRetry = move === 'retry';
  const byThen = isRetry
    ? sql`AND finished_at <= timestamptz 'epoch' + ${begunUs}::bigint * interval '1 microsecond'`
    : sql``;
  const byPosition = isRetry ? sql`position` : sql`position DESC`;
  const order = state === 'IN_PROGRESS' ? sql`started_at` : byPosition;
  // Returned rather than filtered out: to find a few matches, a filter would make a statement read any number of rows.
  const counts =
    fromMs === undefined ? sql`true` : sql`finished_at >= timestamptz 'epoch' + ${fromMs}::float8 * interval '1 ms'`;
  return await sql<ScannedJob[]>`
    SELECT id AS "jobId", position, state, ${counts} AS counts,
      ${isRetry ? sql`nextval('job_position_seq')` : sql`0::bigint`} AS "nextPosition" FROM (
      SELECT id, position, state, finished_at FROM job
      WHERE endpoint_id = ${endpointId} AND ${PARTS[state](sql)[index]!} AND position >= ${left.low}
        AND position < ${left.high}
        ${submitted ? submittedWithin(sql, submitted) : sql``} ${byThen} AND expires_at > now()
      ORDER BY ${order} LIMIT ${limit}::int
    ) AS found`;
}

/**
 * Returns FROM and WHERE of a statement that moves these rows of job j, if they still match. Rows are locked in the
 * same order as for outcomes. Their end state is the one that was read: a job that was requeued since has a later
 * position than all selected jobs.
 */
export function matching(sql: Sql, { endpointId, states, range }: JobWalk, matches: readonly Match[]): Fragment {
  const sorted = matches.toSorted((a, b) => byJob({ ...a, endpointId }, { ...b, endpointId }));
  return sql`
    FROM unnest(${textArray(sorted.map(() => endpointId))}::text[],
      ${textArray(sorted.map(({ jobId }) => jobId))}::text[],
      ${numberArray(sorted.map(({ nextPosition }) => nextPosition))}::bigint[]) AS g(endpoint_id, id, next_position)
    WHERE j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id
      AND j.state || '' = ANY(${textArray(states)}::text[]) AND j.position < ${range.high}`;
}

/**
 * Returns the walk after these matches, of which `limit` were requested and `moved` were moved, `undefined` if it is
 * finished.
 */
export function advanceWalk(
  walk: JobWalk,
  matches: readonly Match[],
  limit: number,
  moved: number,
): JobWalk | undefined {
  const { states, range, part, move } = walk;
  const parts = partsOf(states);
  const hasMoved = walk.hasMoved || moved > 0;
  const last = matches.at(-1);
  if (last && matches.length === limit) {
    // Running jobs are not ordered by position; moved jobs no longer match.
    if (parts[part]!.state === 'IN_PROGRESS') return { ...walk, hasMoved };
    const left = move === 'retry' ? { ...walk.left, low: last.position + 1 } : { ...walk.left, high: last.position };
    return { ...walk, left, hasMoved };
  }
  if (part + 1 < parts.length) return { ...walk, part: part + 1, left: range, hasMoved };
  // Another round would read all jobs of other groups again, to find one that had not committed at the first call.
  const isOver = !hasMoved || walk.ended?.errorGroup !== undefined;
  return isOver ? undefined : { ...walk, part: 0, left: range, hasMoved: false };
}

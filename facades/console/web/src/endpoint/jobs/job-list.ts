/** Reads lists of an endpoint's jobs from the queue API. */
import type { JobRow } from '../../../../views-of-jobs.ts';
import { ask } from '../../lib/api.ts';

/** A page of jobs. */
export interface JobPage {
  requests: readonly JobRow[];
  total: number;
  totalCapped?: boolean;
  hasMore: boolean;
  nextCursor?: string;
}

/** Orders of the list. */
export type JobOrder = 'newest' | 'oldest' | 'longest-delay' | 'longest-execution';

/** All states of a job. */
export const STATES = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'CANCELLED'];

/** Time of submission as the service takes it: ISO 8601, or relative as `now-1h`. Either end may be empty. */
export interface SubmittedPeriod {
  from: string;
  until: string;
}

/** Returns the query of the live feed of a page. */
export function jobsFeed(
  id: string,
  { status, order, submitted: { from, until } }: { status: string; order: JobOrder; submitted: SubmittedPeriod },
  cursor: string,
): string {
  const times = { submittedFrom: from, submittedUntil: until };
  return `?${new URLSearchParams({ endpoint: id, part: 'jobs', status, order, ...times, cursor })}`;
}

/** Reads a page of jobs. */
export function listJobs(
  id: string,
  {
    status = '',
    order = 'newest',
    submitted: { from, until } = { from: '', until: '' },
    cursor = '',
    limit = 50,
  }: {
    status?: string;
    order?: JobOrder;
    submitted?: SubmittedPeriod;
    cursor?: string;
    limit?: number;
  } = {},
): Promise<JobPage> {
  const asked = { status, order, submittedFrom: from, submittedUntil: until, cursor, limit: String(limit) };
  return ask('GET', `/api/v2/${id}/requests?${new URLSearchParams(asked)}`);
}

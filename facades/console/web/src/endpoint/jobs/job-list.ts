/** Jobs of an endpoint as the queue surface lists them. */
import type { JobRow } from '../../../../views-of-jobs.ts';
import { ask } from '../../lib/api.ts';

/** A page of them. */
export interface JobPage {
  requests: readonly JobRow[];
  total: number;
  totalCapped?: boolean;
  hasMore: boolean;
  nextCursor?: string;
}

/** What comes first. */
export type JobOrder = 'newest' | 'oldest' | 'longest-delay' | 'longest-execution';

/** All states a job can be in. */
export const STATES = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'CANCELLED'];

/** When they were submitted, as the service takes it: ISO 8601 or before now, as `now-1h`; either may be empty. */
export interface Submitted {
  from: string;
  until: string;
}

/** The query of the feed of a page of them. */
export function jobsFeed(
  id: string,
  { status, order, submitted: { from, until } }: { status: string; order: JobOrder; submitted: Submitted },
  cursor: string,
): string {
  return `?${new URLSearchParams({ endpoint: id, part: 'jobs', status, order, submittedFrom: from, submittedUntil: until, cursor })}`;
}

/** Reads a page. */
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
    submitted?: Submitted;
    cursor?: string;
    limit?: number;
  } = {},
): Promise<JobPage> {
  const asked = { status, order, submittedFrom: from, submittedUntil: until, cursor, limit: String(limit) };
  return ask('GET', `/api/v2/${id}/requests?${new URLSearchParams(asked)}`);
}

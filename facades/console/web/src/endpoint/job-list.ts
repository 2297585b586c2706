/** Jobs of an endpoint as the queue surface lists them. */
import { ask } from '../api.ts';

/** One of them. */
export interface ListedJob {
  id: string;
  status: string;
  /** ISO 8601. */
  submittedAt: string;
  delayTime?: number;
  executionTime?: number;
  workerId?: string;
  retries?: number;
  error?: string;
}

/** A page of them. */
export interface JobPage {
  requests: ListedJob[];
  total: number;
  totalCapped?: boolean;
  hasMore: boolean;
  nextCursor?: string;
}

/** What comes first. */
export type JobOrder = 'newest' | 'oldest' | 'longest-delay' | 'longest-execution';

/** All states a job can be in. */
export const STATES = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'CANCELLED'];

/** Reads a page. */
export function listJobs(id: string, { status = '', order = 'newest', cursor = '', limit = 50 }: {
  status?: string; order?: JobOrder; cursor?: string; limit?: number;
} = {}): Promise<JobPage> {
  return ask('GET', `/api/v2/${id}/requests?${new URLSearchParams({ status, order, cursor, limit: String(limit) })}`);
}

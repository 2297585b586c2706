/** Lists the jobs of an endpoint, newest, oldest or longest first, without output. */
import { DomainError } from '../../domain/settings/errors.ts';
import { checkTime } from '../../domain/settings/fields.ts';
import type { JobListPage, JobListRequest } from '../../store/jobs/job-list.ts';
import type { Stores } from '../../store/storage.ts';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_000;
/** Offset plus page size still fits PostgreSQL's integer. */
const OFFSET_MAX = 2_000_000_000;

export class ListJobs {
  readonly #jobs: Stores['jobs'];

  constructor({ jobs }: Pick<Stores, 'jobs'>) {
    this.#jobs = jobs;
  }

  /**
   * Returns a page of jobs; a limit of 0 means 100. Throws INVALID_REQUEST for an offset, limit or time out of range,
   * or times out of order.
   */
  async list(endpointId: string, page: JobListRequest): Promise<JobListPage> {
    const { state, oldestFirst, longest, submitted, after, offset } = page;
    const limit = page.limit === 0 ? LIMIT_DEFAULT : page.limit;
    if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
      throw new DomainError('INVALID_REQUEST', `limit must be from 1 to ${LIMIT_MAX}`);
    if (!Number.isInteger(offset) || offset < 0 || offset > OFFSET_MAX)
      throw new DomainError('INVALID_REQUEST', `offset must be from 0 to ${OFFSET_MAX}`);
    if (submitted) checkTimes(submitted);
    return await this.#jobs.list(endpointId, { state, oldestFirst, longest, submitted, after, offset, limit });
  }
}

/** Throws INVALID_REQUEST for a time out of range or times out of order. */
export function checkTimes({ fromMs, untilMs }: NonNullable<JobListRequest['submitted']>): void {
  checkTime('submitted_from', fromMs);
  checkTime('submitted_until', untilMs);
  if (fromMs !== undefined && untilMs !== undefined && untilMs <= fromMs) {
    throw new DomainError('INVALID_REQUEST', 'submitted_until must be after submitted_from');
  }
}

/** Finds jobs of all endpoints of an account by id, endpoint, state, metadata and time, without output. */
import { isJobId } from '../../domain/jobs/job-id.ts';
import { checkMetadata } from '../../domain/jobs/job-metadata.ts';
import { checkText, checkTime, invalid } from '../../domain/settings/fields.ts';
import type { FoundJobs, JobSearchRequest } from '../../store/reports/job-search-store.ts';
import type { Stores } from '../../store/storage.ts';

/** A search. */
export interface SearchRequest extends Omit<JobSearchRequest, 'metadata'> {
  metadata: Readonly<Record<string, string>>;
  /** Count the jobs of the endpoints by state. */
  withCounts: boolean;
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
/** Most endpoints of a filter. */
const ENDPOINTS_MAX = 100;
/** Most characters of a part of an endpoint's name. */
const ENDPOINT_LENGTH_MAX = 200;

/** Throws INVALID_REQUEST if a filter names too many endpoints. */
export function checkEndpointIds(endpointIds: readonly string[]): void {
  if (endpointIds.length > ENDPOINTS_MAX)
    throw invalid(`endpoint_ids has ${endpointIds.length} entries, but may have ${ENDPOINTS_MAX}`);
}

export class SearchJobs {
  readonly #stores: Pick<Stores, 'jobSearch'>;

  constructor(stores: Pick<Stores, 'jobSearch'>) {
    this.#stores = stores;
  }

  /** Returns a page; a limit of 0 means 50. Throws INVALID_REQUEST for a filter out of range. */
  async search({ metadata, withCounts, ...request }: SearchRequest): Promise<FoundJobs> {
    const { jobSearch } = this.#stores;
    const limit = request.limit === 0 ? LIMIT_DEFAULT : request.limit;
    if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
      throw invalid(`limit must be from 1 to ${LIMIT_MAX}`);
    checkEndpointIds(request.endpointIds);
    if (request.endpoint.length > ENDPOINT_LENGTH_MAX)
      throw invalid(`endpoint has ${request.endpoint.length} characters, but may have ${ENDPOINT_LENGTH_MAX}`);
    checkText('endpoint', request.endpoint);
    checkTime('submitted_from', request.fromMs);
    checkMetadata(metadata);
    const counts = withCounts ? await jobSearch.count(request) : [];
    if (request.jobId !== '') return { ...(await this.#find(request, metadata)), counts };
    return { ...(await jobSearch.search({ ...request, limit, metadata: Object.entries(metadata) })), counts };
  }

  async #find(request: Omit<JobSearchRequest, 'metadata'>, metadata: SearchRequest['metadata']) {
    const { jobId, state, fromMs = 0 } = request;
    if (!isJobId(jobId)) return { jobs: [], endpointNames: {}, next: undefined };
    const { jobs, endpointNames } = await this.#stores.jobSearch.find(jobId, request);
    const wanted = jobs.filter(
      (job) =>
        (state === undefined || job.state === state) &&
        job.submittedAtMs >= fromMs &&
        Object.entries(metadata).every(([key, value]) => job.metadata?.[key] === value),
    );
    return { jobs: wanted, endpointNames, next: undefined };
  }
}

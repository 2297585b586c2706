/** Finds jobs without naming their endpoint, and jobs by metadata. */
import { printable } from '@slipway/kit/log/printable';
import type { Job, JobState } from '@slipway/proto/gen/slipway/v1/job';
import { SearchJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import type { Cli } from '../cli.ts';
import { RejectedError } from '../failures.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { jobColumns, jobRecord } from './present-job.ts';
import type { JobCursor } from './watch-job.ts';

/** Filters of a search. */
interface FindOptions {
  /** Only jobs of this endpoint, by id or name. */
  endpoint: string | undefined;
  state: JobState;
  metadata: Record<string, string> | undefined;
  submittedFrom: Date | undefined;
  limit: number;
}

/** Most jobs of a page. */
const PAGE_MAX = 200;

/** Returns the endpoint and id of a job. Without an endpoint, the endpoints of the account are searched. */
export async function jobRefOf(cli: Cli, jobId: string, endpoint: string | undefined): Promise<JobCursor> {
  if (endpoint !== undefined) return { endpointId: await endpointIdOf(cli, endpoint), jobId };
  const { jobs } = await cli.core.jobs.call(
    (client) => client.searchJobs,
    SearchJobsRequest.fromPartial({ jobId, limit: 1 }),
  );
  const [job] = jobs;
  if (job) return { endpointId: job.endpointId, jobId };
  throw new RejectedError(
    `There is no job ${JSON.stringify(jobId)} on any endpoint: it was never submitted, was purged or has expired.`,
  );
}

/** Lists the newest jobs that match, of one endpoint or of all. */
export async function findJobs(cli: Cli, { endpoint, metadata, limit, ...options }: FindOptions): Promise<void> {
  const { output } = cli;
  const endpointIds = endpoint === undefined ? [] : [await endpointIdOf(cli, endpoint)];
  const jobs: Job[] = [];
  const names = new Map<string, string>();
  let pageToken = '';
  do {
    const request = SearchJobsRequest.fromPartial({
      ...options,
      ...{ endpointIds, pageToken, limit: Math.min(limit - jobs.length, PAGE_MAX) },
      metadata: metadata && { pairs: metadata },
    });
    const page = await cli.core.jobs.call((client) => client.searchJobs, request);
    jobs.push(...page.jobs);
    for (const [id, name] of Object.entries(page.endpointNames)) names.set(id, name);
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && jobs.length < limit);
  const hasMore = pageToken !== '';
  output.result(
    { requests: jobs.map((job) => ({ ...jobRecord(job), endpointId: job.endpointId })), limit, hasMore },
    () => {
      const columns = jobColumns(output.nowMs());
      const named = {
        title: 'ENDPOINT',
        text: ({ endpointId }: Job) => printable(names.get(endpointId) ?? endpointId),
      };
      output.table<Job>(
        endpoint === undefined ? [columns[0]!, named, ...columns.slice(1)] : columns,
        jobs,
        'There are no such jobs.',
      );
      if (hasMore) output.note('There are more; --limit shows them.');
    },
  );
}

/**
 * GET /requests: lists jobs, newest, oldest or longest first, without output. The shape is ours, because none is
 * published (docs/reference/api.md#list-of-jobs).
 */
import type { JobMetadata } from '@slipway/proto/gen/slipway/v1/job';
import type { ListJobsRequest, ListJobsResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { JobSpan } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';
import { jobBytes } from '../jobs/job-bytes.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import { jobSelection } from '../jobs/job-selection.ts';
import { metadataFilter } from '../jobs/query-metadata.ts';
import { presentListedJob } from './present-job.ts';
import { boundedNumber } from './query-numbers.ts';

/** About the bytes of a record without output and error. */
const RECORD_BYTES = 256;

/**
 * Returns the handler of the route. Query: `offset` (0 …), `limit` (1 to 1,000, default 100), the filters of
 * facades/jobs/job-selection.ts, and `metadata` (key:value).
 */
export function requests({ jobs, answers, clock }: JobParts): JobHandler {
  return async (request, reply) => {
    const offset = boundedNumber(request.query, 'offset', 0, { min: 0, max: 2 ** 31 - 1 });
    const limit = boundedNumber(request.query, 'limit', 100, { min: 1, max: 1_000 });
    const selection = {
      endpointId: endpointIdOf(request),
      offset,
      limit,
      ...jobSelection(request.query, clock.nowMs()),
    };
    const metadata = metadataFilter(request.query);
    const { apiKey } = request.caller;
    const { answer: page } = await answers.hold(request, reply, {
      read: () => (metadata ? searched(jobs, apiKey, selection, metadata) : jobs.list(apiKey, selection)),
      bytesOf: (found) => found.jobs.reduce((bytes, job) => bytes + RECORD_BYTES + jobBytes(job), 0),
    });
    const hasMore = page.nextPageToken !== '';
    const next = hasMore ? `,"nextCursor":${JSON.stringify(page.nextPageToken)}` : '';
    const more = `${page.totalCapped ? ',"totalCapped":true' : ''}${next}`;
    const items = page.jobs.map(presentListedJob).join(',');
    return sendJson(
      reply,
      `{"requests":[${items}],"total":${page.total},"offset":${offset},"limit":${limit},"hasMore":${hasMore}${more}}`,
    );
  };
}

/** Most jobs of a page that is filtered by metadata. */
const SEARCHED_MAX = 200;

/** Lists the jobs with these pairs, newest first. Throws INVALID_REQUEST for what such a list cannot have. */
async function searched(
  jobs: JobParts['jobs'],
  apiKey: string,
  { endpointId, offset, limit, state, pageToken, oldestFirst, longest, submittedFrom, submittedUntil }: ListJobsRequest,
  metadata: JobMetadata,
): Promise<ListJobsResponse> {
  if (offset > 0 || oldestFirst || longest !== JobSpan.UNSPECIFIED || submittedUntil)
    throw new CoreError(
      'INVALID_REQUEST',
      'A list by "metadata" is newest first and pages by "cursor": leave "offset", "order" and "submittedUntil" out.',
    );
  const found = await jobs.search(apiKey, {
    ...{ jobId: '', endpointIds: [endpointId], state, metadata, submittedFrom, pageToken, withCounts: false },
    limit: Math.min(limit, SEARCHED_MAX),
  });
  const { length } = found.jobs;
  return {
    jobs: found.jobs,
    nextPageToken: found.nextPageToken,
    total: length,
    totalCapped: found.nextPageToken !== '',
  };
}

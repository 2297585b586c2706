/**
 * GET /requests: lists jobs, newest, oldest or longest first, without output. The shape is ours, because none is
 * published (docs/reference/api.md#list-of-jobs).
 */
import { jobBytes } from '../jobs/job-bytes.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import { jobSelection } from '../jobs/job-selection.ts';
import { presentListedJob } from './present-job.ts';
import { boundedNumber } from './query-numbers.ts';

/** About the bytes of a record without output and error. */
const RECORD_BYTES = 256;

/**
 * Returns the handler of the route. Query: `offset` (0 …), `limit` (1 to 1,000, default 100), and the filters of
 * facades/jobs/job-selection.ts.
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
    const { answer: page } = await answers.hold(request, reply, {
      read: () => jobs.list(request.caller.apiKey, selection),
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

/** GET /requests: lists jobs, newest, oldest or longest first, without output. The shape is ours, because none is published (docs/api.md#list-of-jobs). */
import { JobSpan } from '../../proto/gen/slipway/v1/job_service.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { jobBytes } from '../jobs/job-bytes.ts';
import { presentListedJob } from './present-job.ts';
import { cursorOf, stateOf, submittedOf } from './job-filter.ts';
import { boundedNumber } from './query-numbers.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';

/** About the bytes of a record without output and error. */
const RECORD_BYTES = 256;

interface Order {
  oldestFirst: boolean;
  longest: JobSpan;
}

const ORDERS = new Map<string, Order>([
  ['newest', { oldestFirst: false, longest: JobSpan.UNSPECIFIED }],
  ['oldest', { oldestFirst: true, longest: JobSpan.UNSPECIFIED }],
  ['longest-delay', { oldestFirst: false, longest: JobSpan.DELAY }],
  ['longest-execution', { oldestFirst: false, longest: JobSpan.EXECUTION }],
]);

/**
 * The route. Query: `offset` (0 …), `limit` (1 to 1,000, default 100), `status` (one of the six), `order` (one of ORDERS, default `newest`), `cursor`
 * (`nextCursor` of the page before), `submittedFrom` and `submittedUntil` (ISO 8601, or before now).
 */
export function requests({ jobs, answers, clock }: JobParts): JobHandler {
  return async (request, reply) => {
    const offset = boundedNumber(request.query, 'offset', 0, { min: 0, max: 2 ** 31 - 1 });
    const limit = boundedNumber(request.query, 'limit', 100, { min: 1, max: 1_000 });
    const state = stateOf((request.query as Record<string, unknown>)['status']);
    const pageToken = cursorOf(request.query);
    const times = submittedOf(request.query, clock.nowMs());
    const selection = { endpointId: endpointIdOf(request), state, offset, limit, pageToken, ...orderOf(request.query), ...times };
    const { answer: page } = await answers.hold(request, reply, {
      read: () => jobs.list(request.caller.apiKey, selection),
      bytesOf: (found) => found.jobs.reduce((bytes, job) => bytes + RECORD_BYTES + jobBytes(job), 0),
    });
    const hasMore = page.nextPageToken !== '';
    const more = `${page.totalCapped ? ',"totalCapped":true' : ''}${hasMore ? `,"nextCursor":${JSON.stringify(page.nextPageToken)}` : ''}`;
    const items = page.jobs.map(presentListedJob).join(',');
    return sendJson(reply, `{"requests":[${items}],"total":${page.total},"offset":${offset},"limit":${limit},"hasMore":${hasMore}${more}}`);
  };
}

function orderOf(query: unknown): Order {
  const { order = '' } = query as Record<string, unknown>;
  const known = ORDERS.get(order === '' ? 'newest' : String(order));
  if (!known) throw new CoreError('INVALID_REQUEST', `"order" must be one of ${[...ORDERS.keys()].join(', ')}.`);
  return known;
}

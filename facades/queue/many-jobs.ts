/** POST /jobs/cancel and /jobs/retry: the same as /cancel and /retry for all jobs that a filter finds, some at a time (docs/api.md#many-jobs). */
import type { CancelJobsRequest, CancelJobsResponse } from '../../proto/gen/slipway/v1/job_service.ts';
import { JobState } from '../../proto/gen/slipway/v1/job.ts';
import type { PipelinedJobs } from '../core-client/pipelined-jobs.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { cursorOf, stateName, stateOf, submittedOf } from '../jobs/job-selection.ts';
import { boundedNumber } from './query-numbers.ts';

/** Jobs of a call. */
const LIMIT_MAX = 1_000;
/** In place of the state of those that are no more. */
const GONE = 'GONE';

type Change = (jobs: PipelinedJobs, apiKey: string, request: CancelJobsRequest) => Promise<CancelJobsResponse>;

/** A route. Query: `status`, `submittedFrom`, `submittedUntil` as of /requests; `limit` (1 to 1,000; default that), `cursor` (`nextCursor` of one before). */
function many(change: Change): (parts: JobParts) => JobHandler {
  return ({ jobs, clock }) => async (request, reply) => {
    const { query } = request;
    const limit = boundedNumber(query, 'limit', LIMIT_MAX, { min: 1, max: LIMIT_MAX });
    const state = stateOf((query as Record<string, unknown>)['status']);
    const states = state === JobState.UNSPECIFIED ? [] : [state];
    const wanted = { endpointId: endpointIdOf(request), states, limit, cursor: cursorOf(query), ...submittedOf(query, clock.nowMs()) };
    const { done, left, nextCursor } = await change(jobs, request.caller.apiKey, wanted);
    const others = Object.fromEntries(left.map((part) => [stateName(part.state) ?? GONE, part.count]));
    return sendJson(reply, JSON.stringify({ done, left: others, hasMore: nextCursor !== '', ...(nextCursor === '' ? {} : { nextCursor }) }));
  };
}

/** Cancels them. */
export const cancelJobs = many((jobs, apiKey, request) => jobs.cancelMany(apiKey, request));

/** Queues them again. */
export const retryJobs = many((jobs, apiKey, request) => jobs.retryMany(apiKey, request));

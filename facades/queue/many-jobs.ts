/**
 * POST /jobs/cancel and /jobs/retry: the same as /cancel and /retry for all jobs that a filter finds, some at a time
 * (docs/reference/api.md#many-jobs).
 */

import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { CancelJobsResponse, RetryJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { PipelinedJobs } from '../core-client/pipelined-jobs.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import { cursorOf, stateName, stateOf, submittedOf } from '../jobs/job-selection.ts';
import { queryTime } from '../jobs/query-time.ts';
import { boundedNumber } from './query-numbers.ts';

/** Jobs of a call. */
const LIMIT_MAX = 1_000;
/** State of jobs that no longer exist. */
const GONE = 'GONE';

/** Filters that apply to ended jobs only. */
type Ended = Pick<RetryJobsRequest, 'errorGroup' | 'endedFrom'>;

/** Difference between cancel and retry. */
interface Change {
  call: (jobs: PipelinedJobs, apiKey: string, request: RetryJobsRequest) => Promise<CancelJobsResponse>;
  endedOf: (query: unknown, nowMs: number) => Ended;
}

/**
 * Returns the handler of a route. Query: `status`, `submittedFrom`, `submittedUntil` as for /requests; `limit` (1 to
 * 1,000, default 1,000); `cursor` (`nextCursor` of the page before).
 */
function many({ call, endedOf }: Change): (parts: JobParts) => JobHandler {
  return ({ jobs, clock }) =>
    async (request, reply) => {
      const { query } = request;
      const limit = boundedNumber(query, 'limit', LIMIT_MAX, { min: 1, max: LIMIT_MAX });
      const state = stateOf((query as Record<string, unknown>)['status']);
      const states = state === JobState.UNSPECIFIED ? [] : [state];
      const nowMs = clock.nowMs();
      const wanted = {
        endpointId: endpointIdOf(request),
        states,
        limit,
        cursor: cursorOf(query),
        ...submittedOf(query, nowMs),
        ...endedOf(query, nowMs),
      };
      const { done, left, nextCursor } = await call(jobs, request.caller.apiKey, wanted);
      const others = Object.fromEntries(left.map((part) => [stateName(part.state) ?? GONE, part.count]));
      return sendJson(
        reply,
        JSON.stringify({
          done,
          left: others,
          hasMore: nextCursor !== '',
          ...(nextCursor === '' ? {} : { nextCursor }),
        }),
      );
    };
}

/** Cancels them. */
export const cancelJobs = many({
  call: (jobs, apiKey, request) => jobs.cancelMany(apiKey, request),
  endedOf: rejectEnded,
});

/**
 * Queues them again. Query besides: `errorGroup` (the id of a group of /errors), `endedFrom` (a time as the others).
 */
export const retryJobs = many({ call: (jobs, apiKey, request) => jobs.retryMany(apiKey, request), endedOf });

function endedOf(query: unknown, nowMs: number): Ended {
  const { errorGroup } = query as Record<string, unknown>;
  // Empty, as of a variable that is not set, it would be all jobs.
  if (errorGroup !== undefined && (typeof errorGroup !== 'string' || !/^[\da-f]{16}$/.test(errorGroup))) {
    throw new CoreError(
      'INVALID_REQUEST',
      '"errorGroup" must be the id of a group of errors from GET /errors: 16 hexadecimal digits.',
    );
  }
  return { errorGroup: errorGroup ?? '', endedFrom: queryTime(query, 'endedFrom', nowMs) };
}

/** Throws INVALID_REQUEST for a filter of ended jobs. Ignored, it would cancel more jobs than were meant. */
function rejectEnded(query: unknown): Ended {
  for (const name of ['errorGroup', 'endedFrom']) {
    if (name in (query as object))
      throw new CoreError('INVALID_REQUEST', `"${name}" is of jobs that have ended, of which none can be cancelled.`);
  }
  return { errorGroup: '', endedFrom: undefined };
}

/** Handles JobService.SearchJobs: lists jobs of all endpoints that the key may read. */
import type { JobServiceServer } from '@slipway/proto/gen/slipway/v1/job_service';
import type { Access } from '../../access/access.ts';
import type { JobCalls } from '../../jobs/job-engine.ts';
import { checkEndpointIds } from '../../jobs/read/search-jobs.ts';
import type { ListParts } from '../server/paging.ts';
import { listing, positionFromToken, positionToken } from '../server/paging.ts';
import { jobToMessage, STATE_TO_WIRE, stateFromWire } from './job-messages.ts';

/** Returns the handler. It shares the limits of other lists. */
export function searchJobsHandler(
  access: Access,
  calls: Pick<JobCalls, 'search'>,
  lists: ListParts,
): Pick<JobServiceServer, 'searchJobs'> {
  return {
    searchJobs: listing(lists, async ({ jobId, endpointIds, withCounts, limit, ...request }, apiKey, enter) => {
      const { accountId, caller } = await access.check(apiKey, { api: 'JOBS', write: false });
      // Before each of them is looked up.
      checkEndpointIds(endpointIds);
      // An endpoint of another account is as unknown as in every other call.
      for (const endpointId of endpointIds) await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      await enter(accountId);
      const found = await calls.search({
        ...{ jobId, withCounts, limit, accountId },
        endpointIds: endpointIds.length > 0 ? endpointIds : caller.endpointIds,
        endpoint: request.endpoint ?? '',
        state: stateFromWire(request.state),
        metadata: request.metadata?.pairs ?? {},
        fromMs: request.submittedFrom?.getTime(),
        after: positionFromToken(request.pageToken),
      });
      return {
        jobs: found.jobs.map(jobToMessage),
        nextPageToken: positionToken(found.next),
        endpointNames: found.endpointNames,
        counts: found.counts.map(({ state, count, capped }) => ({ state: STATE_TO_WIRE[state], count, capped })),
      };
    }),
  };
}

/** Handles EndpointService.GetRequestStats: requests to the workers of a load-balancing endpoint. */

import { addRequests, noRequests } from '@slipway/kit/observe/request-counts';
import type {
  EndpointServiceServer,
  RequestStats as StatsMessage,
} from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Access } from '../../access/access.ts';
import { stepsOf } from '../../domain/jobs/job-times.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { RequestStats } from '../../edge/request-stats.ts';
import { durationCounts, requestStats } from '../../edge/request-stats.ts';
import type { Stores } from '../../store/storage.ts';
import type { ListParts } from '../server/paging.ts';
import { listing } from '../server/paging.ts';

/** Returns the handler. Sums over hours take as long as reading pages of lists, so the same limits apply. */
export function requestStatsHandler(
  access: Access,
  { requests }: Pick<Stores, 'requests'>,
  lists: ListParts,
): Pick<EndpointServiceServer, 'getRequestStats'> {
  return {
    getRequestStats: listing(lists, async ({ endpointId, spanMs: asked }, apiKey, enter) => {
      const { accountId, endpoint } = await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      if (endpoint.type !== 'LB')
        throw new DomainError('WRONG_ENDPOINT_TYPE', 'The endpoint has jobs, not requests: ask for its job times.');
      const { spanMs, stepMs } = stepsOf(asked);
      await enter(accountId);
      const { steps, workers, failed, ever } = await requests.recorded(endpointId, spanMs, stepMs);
      const total = noRequests();
      for (const step of steps) addRequests(total, step);
      return {
        total: statsToMessage(requestStats(total)),
        steps: steps.map((step) => statsToMessage(requestStats(step), { startTime: new Date(step.startMs) })),
        stepMs,
        workers: workers.map((worker) => statsToMessage(requestStats(worker), worker)),
        failed: failed.map(({ atMs, ...request }) => ({ ...request, time: new Date(atMs) })),
        ever: ever && statsToMessage(requestStats(ever)),
        durations: ever ? durationCounts(ever.durations) : [],
      };
    }),
  };
}

function statsToMessage(
  stats: RequestStats,
  { startTime, workerId = '' }: { startTime?: Date; workerId?: string } = {},
): StatsMessage {
  return { startTime, workerId, ...stats };
}

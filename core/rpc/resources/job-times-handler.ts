/** Handles EndpointService.GetJobTimes: wait and execution times of an endpoint's jobs. */
import type { EndpointServiceServer, JobTimes as TimesMessage } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Access } from '../../access/access.ts';
import type { JobTimes } from '../../domain/jobs/job-times.ts';
import { readJobTimes } from '../../endpoints/read-job-times.ts';
import type { Stores } from '../../store/storage.ts';
import type { ListParts } from '../server/paging.ts';
import { listing } from '../server/paging.ts';

/** Returns the handler. Sums over hours take as long as reading pages of lists, so the same limits apply. */
export function jobTimesHandler(
  access: Access,
  stores: Pick<Stores, 'traffic'>,
  lists: ListParts,
): Pick<EndpointServiceServer, 'getJobTimes'> {
  return {
    getJobTimes: listing(lists, async ({ endpointId, spanMs }, apiKey, enter) => {
      const { accountId } = await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      await enter(accountId);
      const { total, steps, rates, stepMs } = await readJobTimes(stores, endpointId, spanMs);
      return {
        total: timesToMessage(total),
        steps: steps.map(timesToMessage),
        stepMs,
        rates: rates.map(({ startMs, ...counts }) => ({ startTime: new Date(startMs), ...counts })),
      };
    }),
  };
}

function timesToMessage({ startMs, delay, execution }: JobTimes): TimesMessage {
  return { startTime: new Date(startMs), delay, execution };
}

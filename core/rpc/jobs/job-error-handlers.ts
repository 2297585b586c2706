/** Handles JobService.ListErrors: groups the errors of an endpoint's jobs. */
import type { ErrorGroup as GroupMessage, JobServiceServer } from '@slipway/proto/gen/slipway/v1/job_service';
import type { Access } from '../../access/access.ts';
import type { ErrorGroup } from '../../domain/jobs/error-groups.ts';
import type { JobCalls } from '../../jobs/job-engine.ts';
import type { ListParts } from '../server/paging.ts';
import { listing } from '../server/paging.ts';

/** Returns the handler. Reading errors takes as long as reading pages of lists, so the same limits apply. */
export function jobErrorHandlers(
  access: Access,
  calls: Pick<JobCalls, 'errors'>,
  lists: ListParts,
): Pick<JobServiceServer, 'listErrors'> {
  return {
    listErrors: listing(lists, async ({ endpointId, spanMs, groupId }, apiKey, enter) => {
      const { accountId } = await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      await enter(accountId);
      const { groups, ...found } = await calls.errors(endpointId, { spanMs, groupId });
      return { groups: groups.map(groupToMessage), ...found };
    }),
  };
}

function groupToMessage({ firstMs, lastMs, ...group }: ErrorGroup): GroupMessage {
  return { ...group, firstTime: new Date(firstMs), lastTime: new Date(lastMs) };
}

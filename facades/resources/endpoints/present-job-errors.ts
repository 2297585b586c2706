/** Presents error groups of failed jobs as records: GET /errors and `slipway errors --json`. */
import type { ErrorGroup, ListErrorsResponse } from '@slipway/proto/gen/slipway/v1/job_service';

/** Returns the groups, and the number of their jobs. */
export function jobErrorsRecord({ groups, groupCount, jobs, more }: ListErrorsResponse) {
  return { jobs, groupCount, hasMore: more, groups: groups.map(groupRecord) };
}

function groupRecord({ id, text, jobs, firstTime, lastTime, jobIds, sample }: ErrorGroup) {
  return { id, text, jobs, firstAt: firstTime?.toISOString(), lastAt: lastTime?.toISOString(), jobIds, sample };
}

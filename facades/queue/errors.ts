/** GET /errors: errors of failed jobs of the endpoint, grouped (docs/reference/api.md#groups-of-errors). */
import { CoreError } from '@slipway/proto/wire/reason';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import { jobErrorsRecord } from '../resources/endpoints/present-job-errors.ts';
import { querySpanMs } from './query-span.ts';

const SINCE = { minMs: 60_000, maxMs: 7 * 86_400_000, text: 'from 60s to 7d, as 90s, 30m, 12h or 1d', units: 'smhd' };

/**
 * Returns the handler of the route. Query: `since`, a time span before now, default a day; `group`, the id of a group,
 * whose jobs are all listed.
 */
export function errors({ jobs }: JobParts): JobHandler {
  return async (request, reply) => {
    const { group: groupId = '' } = request.query as Record<string, unknown>;
    if (typeof groupId !== 'string') throw new CoreError('INVALID_REQUEST', '"group" must be given once.');
    const asked = { endpointId: endpointIdOf(request), spanMs: querySpanMs(request.query, SINCE), groupId };
    return sendJson(reply, JSON.stringify(jobErrorsRecord(await jobs.errors(request.caller.apiKey, asked))));
  };
}

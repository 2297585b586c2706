/** GET /times: how long jobs of the endpoint waited and ran (docs/reference/api.md#times). */

import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import { jobTimesRecord } from '../resources/endpoints/present-job-times.ts';
import { querySpanMs } from './query-span.ts';

const SINCE = { minMs: 60_000, maxMs: 12 * 3_600_000, text: 'from 60s to 12h, as 90s, 30m or 12h', units: 'smh' };

/** Returns the handler of the route. Query: `since`, a time span before now, as 90s, 30m or 12h; default an hour. */
export function times({ endpoints }: JobParts): JobHandler {
  return async (request, reply) => {
    const asked = { endpointId: endpointIdOf(request), spanMs: querySpanMs(request.query, SINCE) };
    const answer = await endpoints.call((client) => client.getJobTimes, asked, {
      apiKey: request.caller.apiKey,
      repeatable: true,
    });
    return sendJson(reply, JSON.stringify(jobTimesRecord(answer)));
  };
}

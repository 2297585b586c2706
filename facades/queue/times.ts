/** GET /times: how long jobs of the endpoint waited and ran (docs/api.md#times). */
import { CoreError } from '../../proto/wire/reason.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { jobTimesRecord } from '../resources/endpoints/present-job-times.ts';

/** Core refuses what is beyond, in the contract's words. */
const SPAN_MS_MIN = 60_000;
const SPAN_MS_MAX = 12 * 3_600_000;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** The route. Query: `since`, how far back from now, as 90s, 30m or 12h; default an hour. */
export function times({ endpoints }: JobParts): JobHandler {
  return async (request, reply) => {
    const asked = { endpointId: endpointIdOf(request), spanMs: spanOf(request.query) };
    const answer = await endpoints.call((client) => client.getJobTimes, asked, { apiKey: request.caller.apiKey, repeatable: true });
    return sendJson(reply, JSON.stringify(jobTimesRecord(answer)));
  };
}

function spanOf(query: unknown): number {
  const { since = '' } = query as Record<string, unknown>;
  if (since === '') return 0;
  const [, digits, unit] = (typeof since === 'string' && /^(\d{1,9})([smh])$/.exec(since)) || [];
  const ms = digits === undefined ? Number.NaN : Number(digits) * UNITS_MS[unit!]!;
  if (ms >= SPAN_MS_MIN && ms <= SPAN_MS_MAX) return ms;
  throw new CoreError('INVALID_REQUEST', '"since" must be one number with a unit, from 60s to 12h, as 90s, 30m or 12h.');
}

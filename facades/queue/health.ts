/**
 * GET /health (docs/reference/api.md#health): counts of jobs, the six counts of workers of the live service, frozen
 * ones if any, and why there are none.
 */
import type { GetHealthResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';

/** Returns the handler of the route. */
export function health({ jobs }: JobParts): JobHandler {
  return async (request, reply) =>
    sendJson(reply, presentHealth(await jobs.health(request.caller.apiKey, endpointIdOf(request))));
}

/** Returns the public record as JSON text. */
function presentHealth({ jobs, workers }: GetHealthResponse): string {
  if (jobs === undefined || workers === undefined) throw new CoreError('INTERNAL', 'core sent health without counts');
  const { completed, failed, inProgress, inQueue, retried } = jobs;
  const { idle, initializing, ready, running, throttled, unhealthy, throttledReason, cannotRunReason, standby } =
    workers;
  const reasons = {
    ...(throttledReason === '' ? {} : { throttledReason }),
    ...(cannotRunReason === '' ? {} : { cannotRunReason }),
  };
  return JSON.stringify({
    jobs: { completed, failed, inProgress, inQueue, retried },
    workers: { idle, initializing, ready, running, throttled, unhealthy, ...(standby > 0 && { standby }), ...reasons },
  });
}

/** GET /metrics: the endpoint's own metrics, for Prometheus with an API key (docs/reference/metrics.md#an-endpoint). */
import { endpointCounts } from '../core-client/endpoint-counts.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf } from '../jobs/job-parts.ts';
import { endpointMetricsText } from '../resources/endpoints/endpoint-metrics.ts';

/** Returns the handler of the route. */
export function metrics(parts: JobParts): JobHandler {
  return async (request, reply) => {
    const endpointId = endpointIdOf(request);
    const counts = await endpointCounts(parts, request.caller.apiKey, endpointId);
    const { type, text } = await endpointMetricsText(endpointId, counts);
    return reply.header('content-type', type).send(text);
  };
}

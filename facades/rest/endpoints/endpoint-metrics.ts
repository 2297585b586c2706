/**
 * GET /v1/endpoints/{endpointId}/metrics: the same as /v2/{endpoint_id}/metrics, also for load-balancing endpoints
 * (docs/reference/metrics.md#an-endpoint).
 */
import { Type } from 'typebox';
import { endpointCounts } from '../../core-client/endpoint-counts.ts';
import { endpointMetricsText } from '../../resources/endpoints/endpoint-metrics.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { errors, idOf } from '../rest-parts.ts';
import { EndpointPath } from './endpoint-query.ts';

const TEXT = {
  description: 'The metrics as they are now.',
  content: { 'text/plain': { schema: Type.String({ description: 'Metrics in the text format of Prometheus.' }) } },
};

/** Adds the route. */
export function endpointMetrics(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetEndpointMetrics',
    tags: ['endpoints'],
    summary: 'Read the metrics of an endpoint, for Prometheus',
    params: EndpointPath,
    response: { 200: TEXT, ...errors(404) },
  };
  const parts = { jobs: core.pipelined, endpoints: core.endpoints };
  app.get('/v1/endpoints/:endpointId/metrics', { schema, onRequest: gate }, async (request, reply) => {
    const id = idOf(request.params.endpointId, 'endpoint');
    const counts = await endpointCounts(parts, request.caller.apiKey, id);
    const { type, text } = await endpointMetricsText(id, counts);
    return reply.header('content-type', type).send(text as never);
  });
}

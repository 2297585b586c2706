/** Requests to the workers of a load-balancing endpoint, for its page. */

import type { RequestStats } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { endpointIdInPath } from '../../plugins/public-id.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { RequestStatsView, RequestSumView } from '../views-of-times.ts';
import { minutesOf, optionsOf } from './list-query.ts';

/** Adds the route. Query: `minutes`, how far back. */
export function requestStatsRoutes(
  app: FastifyInstance,
  { core, clock }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/endpoints/:id/requests', { onRequest }, async (request): Promise<RequestStatsView> => {
    const endpointId = endpointIdInPath(request);
    const asked = { endpointId, spanMs: minutesOf(request) * 60_000 };
    const { total, steps, stepMs, workers, failed } = await core.endpoints.call(
      (client) => client.getRequestStats,
      asked,
      optionsOf(request),
    );
    const nowMs = clock.nowMs();
    return {
      nowMs,
      sinceMs: nowMs - asked.spanMs,
      stepMs,
      total: total ? sumView(total) : null,
      steps: steps.map(sumView),
      workers: workers.map(sumView),
      failed: failed.map(({ time, ...each }) => ({ ...each, atMs: time?.getTime() ?? 0 })),
    };
  });
}

function sumView({ startTime, duration, ...sum }: RequestStats): RequestSumView {
  const { count, p50Ms, p95Ms, p99Ms } = duration ?? { count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 };
  return { ...sum, atMs: startTime?.getTime() ?? 0, duration: { count, p50Ms, p95Ms, p99Ms } };
}

/** How long jobs of an endpoint waited and ran, for its page. */

import type { Percentiles } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { endpointIdInPath } from '../../plugins/public-id.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { JobTimesView, PercentilesView } from '../views-of-times.ts';
import { minutesOf, optionsOf } from './list-query.ts';

/** Adds the route. Query: `minutes`, how far back. */
export function jobTimesRoutes(
  app: FastifyInstance,
  { core, clock }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/endpoints/:id/times', { onRequest }, async (request): Promise<JobTimesView> => {
    const endpointId = endpointIdInPath(request);
    const asked = { endpointId, spanMs: minutesOf(request) * 60_000 };
    const { total, steps, stepMs, rates } = await core.endpoints.call(
      (client) => client.getJobTimes,
      asked,
      optionsOf(request),
    );
    const nowMs = clock.nowMs();
    return {
      nowMs,
      sinceMs: nowMs - asked.spanMs,
      stepMs,
      delay: percentilesView(total?.delay),
      execution: percentilesView(total?.execution),
      steps: steps.map(({ startTime, delay, execution }) => ({
        atMs: startTime?.getTime() ?? 0,
        delay: percentilesView(delay),
        execution: percentilesView(execution),
      })),
      rates: rates.map(({ startTime, arrived, completed, failed }) => ({
        atMs: startTime?.getTime() ?? 0,
        arrived,
        completed,
        failed,
      })),
    };
  });
}

function percentilesView(
  { count, p50Ms, p95Ms, p99Ms }: Percentiles = { count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 },
): PercentilesView {
  return { count, p50Ms, p95Ms, p99Ms };
}

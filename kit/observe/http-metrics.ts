/**
 * Counts the requests of a Fastify application by route, never by path: routes are a closed set, paths are made up by
 * clients.
 */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../time/clock.ts';
import type { Metrics } from './metrics.ts';
import { CALL_SECONDS } from './metrics.ts';

/** Label of requests without a route. */
const NO_ROUTE = 'none';

/**
 * Registers the metrics. Call the result with the application. `prefix` begins their names, for example
 * `slipway_facade`.
 */
export function httpMetrics(metrics: Metrics, prefix: string, clock: Clock): (app: FastifyInstance) => void {
  const requests = metrics.counter({
    name: `${prefix}_http_requests_total`,
    help: 'Requests that ended.',
    labels: ['method', 'route', 'code'],
  });
  const seconds = metrics.histogram(
    {
      name: `${prefix}_http_request_duration_seconds`,
      help: 'Time from the request headers to the end of the response, including long polls and streams.',
      labels: ['route'],
    },
    CALL_SECONDS,
  );
  const open = metrics.gauge({
    name: `${prefix}_http_requests_in_flight`,
    help: 'Requests in progress, including long polls and streams.',
    labels: ['route'],
  });
  return (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      const startedAtMs = clock.monotonicMs();
      const { method } = request;
      const route = request.routeOptions.url ?? NO_ROUTE;
      open.inc({ route });
      reply.raw.once('close', () => {
        open.dec({ route });
        requests.inc({ method, route, code: reply.raw.statusCode });
        seconds.observe({ route }, (clock.monotonicMs() - startedAtMs) / 1_000);
      });
      done();
    });
  };
}

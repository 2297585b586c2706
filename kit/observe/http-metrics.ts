/**
 * Counts the requests of a Fastify application by route, never by path: routes are a closed set, paths are made up by
 * clients.
 */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../time/clock.ts';
import type { Metrics } from './metrics.ts';
import { CALL_SECONDS } from './metrics.ts';
import type { LabelledHistogram } from './series-histogram.ts';

/** Label of requests without a route. */
const NO_ROUTE = 'none';

/** Requests of one route. Its labels are looked up at a scrape, not at every request. */
interface RouteRequests {
  open: number;
  /** Ended requests since the last scrape, by status and then by method. */
  ended: Map<number, Map<string, number>>;
  seconds: LabelledHistogram;
}

/**
 * Registers the metrics. Call the result with the application. `prefix` begins their names, for example
 * `slipway_facade`.
 */
export function httpMetrics(metrics: Metrics, prefix: string, clock: Clock): (app: FastifyInstance) => void {
  const routes = new Map<string, RouteRequests>();
  metrics.counter(
    {
      name: `${prefix}_http_requests_total`,
      help: 'Requests that ended.',
      labels: ['method', 'route', 'code'],
    },
    [],
    (requests) => {
      for (const [route, { ended }] of routes) {
        for (const [code, methods] of ended)
          for (const [method, count] of methods) requests.inc({ method, route, code }, count);
        ended.clear();
      }
    },
  );
  const seconds = metrics.seriesHistogram(
    {
      name: `${prefix}_http_request_duration_seconds`,
      help: 'Time from the request headers to the end of the response, including long polls and streams.',
      label: 'route',
    },
    CALL_SECONDS,
  );
  metrics.gauge(
    {
      name: `${prefix}_http_requests_in_flight`,
      help: 'Requests in progress, including long polls and streams.',
      labels: ['route'],
    },
    (gauge) => {
      for (const [route, { open }] of routes) gauge.set({ route }, open);
    },
  );
  return (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      const startedAtMs = clock.monotonicMs();
      const route = request.routeOptions.url ?? NO_ROUTE;
      let requests = routes.get(route);
      if (!requests) routes.set(route, (requests = { open: 0, ended: new Map(), seconds: seconds.series(route) }));
      const counted = requests;
      counted.open += 1;
      reply.raw.once('close', () => {
        counted.open -= 1;
        countEnded(counted, reply.raw.statusCode, request.method);
        counted.seconds.observe((clock.monotonicMs() - startedAtMs) / 1_000);
      });
      done();
    });
  };
}

function countEnded({ ended }: RouteRequests, code: number, method: string): void {
  let methods = ended.get(code);
  if (!methods) ended.set(code, (methods = new Map()));
  methods.set(method, (methods.get(method) ?? 0) + 1);
}

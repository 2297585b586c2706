/** The metrics of a facade. docs/metrics.md has each. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../core/runtime/clock.ts';
import { httpMetrics } from '../core/runtime/http-metrics.ts';
import type { Metrics } from '../core/runtime/metrics.ts';
import type { OnRefused } from './plugins/rate-limit.ts';

/** What the parts of a facade tell. */
export interface FacadeMeter {
  countRequests(app: FastifyInstance): void;
  onRefused: OnRefused;
}

/** Makes them. `held`: requests that wait for a worker of a load-balancing endpoint. */
export function facadeMetrics(metrics: Metrics, held: () => number, clock: Clock): FacadeMeter {
  const refusals = metrics.counter({
    name: 'slipway_facade_rate_limit_refusals_total', help: 'Requests that were refused with 429.', labels: ['operation', 'cause'],
  });
  metrics.gauge({
    name: 'slipway_facade_held_requests', help: 'Requests to load-balancing endpoints that wait for a worker.',
  }, (gauge) => gauge.set(held()));
  return { countRequests: httpMetrics(metrics, 'slipway_facade', clock), onRefused: (operation, cause) => refusals.inc({ operation, cause }) };
}

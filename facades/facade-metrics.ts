/** The metrics of a facade, listed in docs/reference/metrics.md. */
import type { FastifyInstance } from 'fastify';
import { budgetMetrics } from '../core/runtime/budget-metrics.ts';
import type { Clock } from '../core/runtime/clock.ts';
import { httpMetrics } from '../core/runtime/http-metrics.ts';
import type { MemoryBudget } from '../core/runtime/memory-budget.ts';
import type { Metrics } from '../core/runtime/metrics.ts';
import type { OnRejected } from './plugins/rate-limit.ts';

/** Counters that the parts of a facade report to. */
export interface FacadeMeter {
  countRequests(app: FastifyInstance): void;
  onRefused: OnRejected;
}

/** Values that are read at each scrape. */
export interface FacadeReadings {
  /** Requests that wait for a worker of a load-balancing endpoint. */
  held(): number;
  /** Memory budgets of request and response bodies. */
  budgets: Readonly<Record<'bodies' | 'responses', MemoryBudget>>;
}

/** Registers the metrics of a facade. */
export function facadeMetrics(metrics: Metrics, { held, budgets }: FacadeReadings, clock: Clock): FacadeMeter {
  const refusals = metrics.counter({
    name: 'slipway_facade_rate_limit_rejections_total',
    help: 'Requests rejected with 429.',
    labels: ['operation', 'cause'],
  });
  metrics.gauge(
    {
      name: 'slipway_facade_requests_queued',
      help: 'Requests to load-balancing endpoints that wait for a worker.',
    },
    (gauge) => gauge.set(held()),
  );
  const meter = budgetMetrics(metrics, 'slipway_facade');
  for (const [name, budget] of Object.entries(budgets)) meter.watch(name, () => budget.fill);
  return {
    countRequests: httpMetrics(metrics, 'slipway_facade', clock),
    onRefused: (operation, cause) => refusals.inc({ operation, cause }),
  };
}

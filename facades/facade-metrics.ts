/** Metrics of a facade, listed in docs/reference/metrics.md. */

import type { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import { budgetMetrics } from '@slipway/kit/observe/budget-metrics';
import { httpMetrics } from '@slipway/kit/observe/http-metrics';
import type { Metrics } from '@slipway/kit/observe/metrics';
import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import type { RejectionListener } from './plugins/limits/rate-limit.ts';

/** Counters that the parts of a facade report to. */
export interface FacadeMeter {
  countRequests(app: FastifyInstance): void;
  onRejected: RejectionListener;
  onConnectionRejected(): void;
}

/** Values that are read at each scrape. */
interface FacadeReadings {
  /** Requests that wait for a worker of a load-balancing endpoint. */
  queued(): number;
  /** Memory budgets of request and response bodies. */
  budgets: Readonly<Record<'bodies' | 'responses', MemoryBudget>>;
}

/** Registers the metrics of a facade. */
export function facadeMetrics(metrics: Metrics, { queued, budgets }: FacadeReadings, clock: Clock): FacadeMeter {
  const rejections = metrics.counter({
    name: 'slipway_facade_rate_limit_rejections_total',
    help: 'Requests rejected with 429.',
    labels: ['operation', 'cause'],
  });
  const connections = metrics.counter({
    name: 'slipway_facade_connections_rejected_total',
    help: 'Connections closed because their address had too many.',
  });
  metrics.gauge(
    {
      name: 'slipway_facade_requests_queued',
      help: 'Requests to load-balancing endpoints that wait for a worker.',
    },
    (gauge) => gauge.set(queued()),
  );
  const meter = budgetMetrics(metrics, 'slipway_facade');
  for (const [name, budget] of Object.entries(budgets)) meter.watch(name, () => budget.fill);
  return {
    countRequests: httpMetrics(metrics, 'slipway_facade', clock),
    onRejected: (operation, cause) => rejections.inc({ operation, cause }),
    onConnectionRejected: () => connections.inc(),
  };
}

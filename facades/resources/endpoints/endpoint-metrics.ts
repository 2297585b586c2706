/**
 * An endpoint's metrics in the text format of Prometheus, for its owner (docs/reference/metrics.md#an-endpoint). Each
 * scrape reads them from core.
 */
import { Metrics } from '@slipway/kit/observe/metrics';
import type { EndpointExplanation } from '@slipway/proto/gen/slipway/v1/explanation';
import type { GetHealthResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';

/** Text and content type of one reading of core. */
export function endpointMetricsText(
  endpointId: string,
  health: GetHealthResponse,
  explanation: EndpointExplanation | undefined,
): Promise<{ type: string; text: string }> {
  if (!explanation || !health.jobs || !health.workers) throw new CoreError('INTERNAL', 'core counted nothing');
  return endpointMetrics(endpointId, health, explanation).read();
}

function endpointMetrics(
  endpoint: string,
  { jobs, workers }: GetHealthResponse,
  { oldestWaitMs, lastDecision, limits }: EndpointExplanation,
): Metrics {
  const metrics = new Metrics();
  const gauge = (name: string, help: string, value: number): void =>
    metrics.gauge({ name, help, labels: ['endpoint'] }).set({ endpoint }, value);
  const states = (name: string, help: string, values: Record<string, number>): void => {
    const states = metrics.gauge({ name, help, labels: ['endpoint', 'state'] });
    for (const [state, value] of Object.entries(values)) states.set({ endpoint, state }, value);
  };
  const { completed, failed, retried, inQueue, inProgress } = jobs!;
  states('slipway_endpoint_jobs', 'Unfinished jobs; for a load-balancing endpoint requests.', {
    IN_QUEUE: inQueue,
    IN_PROGRESS: inProgress,
  });
  gauge(
    'slipway_endpoint_queue_oldest_wait_seconds',
    'Age of the first job in the queue, 0 if it is empty.',
    oldestWaitMs / 1_000,
  );
  const outcomes = metrics.counter({
    name: 'slipway_endpoint_outcomes_total',
    help: 'Jobs that ended since the endpoint was created; FAILED includes TIMED_OUT.',
    labels: ['endpoint', 'state'],
  });
  outcomes.inc({ endpoint, state: 'COMPLETED' }, completed);
  outcomes.inc({ endpoint, state: 'FAILED' }, failed);
  metrics
    .counter({
      name: 'slipway_endpoint_attempts_lost_total',
      help: 'Attempts that were lost and requeued since the endpoint was created.',
      labels: ['endpoint'],
    })
    .inc({ endpoint }, retried);
  const { idle, running, initializing, ready, throttled, unhealthy, standby } = workers!;
  states('slipway_endpoint_workers', 'Workers as /health counts them; a ready worker also counts as idle or running.', {
    idle,
    running,
    initializing,
    ready,
    throttled,
    unhealthy,
    standby,
  });
  gauge(
    'slipway_endpoint_workers_desired',
    'Number of workers that the latest scaling decision asked for.',
    lastDecision?.target ?? 0,
  );
  const binding = metrics.gauge({
    name: 'slipway_endpoint_scale_limited',
    help: '1 for each limit that keeps workers or jobs waiting.',
    labels: ['endpoint', 'limit'],
  });
  for (const { limit } of limits) binding.set({ endpoint, limit }, 1);
  return metrics;
}

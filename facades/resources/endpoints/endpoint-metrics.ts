/**
 * An endpoint's metrics in the text format of Prometheus, for its owner (docs/reference/metrics.md#an-endpoint). Each
 * scrape reads them from core.
 */
import { Metrics } from '@slipway/kit/observe/metrics';
import type { GetRequestStatsResponse } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { EndpointExplanation } from '@slipway/proto/gen/slipway/v1/explanation';
import type { GetHealthResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';

/** Figures of an endpoint from core. `requests`: `undefined` for an endpoint with jobs. */
interface EndpointReading {
  health: GetHealthResponse;
  explanation: EndpointExplanation | undefined;
  requests: GetRequestStatsResponse | undefined;
}

/** Returns the metrics of one reading of core, as text with its content type. */
export function endpointMetricsText(
  endpointId: string,
  { health, explanation, requests }: EndpointReading,
): Promise<{ type: string; text: string }> {
  if (!explanation || !health.jobs || !health.workers) throw new CoreError('INTERNAL', 'core counted nothing');
  const metrics = endpointMetrics(endpointId, health, explanation);
  if (requests) addRequests(metrics, endpointId, requests);
  else addJobs(metrics, endpointId, health.jobs);
  return metrics.read();
}

function endpointMetrics(
  endpoint: string,
  { jobs, workers }: GetHealthResponse,
  { endpointName, oldestWaitMs, lastDecision, limits }: EndpointExplanation,
): Metrics {
  const metrics = new Metrics();
  const gauge = (name: string, help: string, value: number): void =>
    metrics.gauge({ name, help, labels: ['endpoint'] }).set({ endpoint }, value);
  const states = (name: string, help: string, values: Record<string, number>): void => {
    const states = metrics.gauge({ name, help, labels: ['endpoint', 'state'] });
    for (const [state, value] of Object.entries(values)) states.set({ endpoint, state }, value);
  };
  metrics
    .gauge({
      name: 'slipway_endpoint_info',
      help: 'Always 1: gives the name of the endpoint.',
      labels: ['endpoint', 'name'],
    })
    .set({ endpoint, name: endpointName || endpoint }, 1);
  const { inQueue, inProgress } = jobs!;
  states('slipway_endpoint_jobs', 'Unfinished jobs; for a load-balancing endpoint requests.', {
    IN_QUEUE: inQueue,
    IN_PROGRESS: inProgress,
  });
  gauge(
    'slipway_endpoint_queue_oldest_wait_seconds',
    'Age of the first job in the queue, 0 if it is empty.',
    oldestWaitMs / 1_000,
  );
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

/** Adds what only endpoints with jobs have. */
function addJobs(
  metrics: Metrics,
  endpoint: string,
  { completed, failed, retried }: NonNullable<GetHealthResponse['jobs']>,
): void {
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
}

/** Adds what only load-balancing endpoints have. Nothing is 0 that was not counted. */
function addRequests(metrics: Metrics, endpoint: string, { ever }: GetRequestStatsResponse): void {
  const requests = metrics.counter({
    name: 'slipway_endpoint_requests_total',
    help: 'Ended requests since counting began, by outcome.',
    labels: ['endpoint', 'outcome'],
  });
  const bytes = metrics.counter({
    name: 'slipway_endpoint_request_bytes_total',
    help: 'Bytes of bodies of these requests: in from clients, out to them.',
    labels: ['endpoint', 'direction'],
  });
  const seconds = metrics.counter({
    name: 'slipway_endpoint_request_seconds_total',
    help: 'Sum of the durations of these requests.',
    labels: ['endpoint'],
  });
  if (!ever) return;
  const { succeeded, redirected, clientErrors, serverErrors, broken, abandoned } = ever;
  const outcomes = { succeeded, redirected, client_error: clientErrors, server_error: serverErrors, broken, abandoned };
  for (const [outcome, count] of Object.entries(outcomes)) requests.inc({ endpoint, outcome }, count);
  bytes.inc({ endpoint, direction: 'in' }, ever.bytesIn);
  bytes.inc({ endpoint, direction: 'out' }, ever.bytesOut);
  seconds.inc({ endpoint }, ever.durationMs / 1_000);
}

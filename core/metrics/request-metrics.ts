/** Metrics of requests to load-balancing endpoints, as facades and edges report them to this replica. */
import type { BoundedNames } from '@slipway/kit/bytes/bounded-names';
import type { Metrics } from '@slipway/kit/observe/metrics';
import { CALL_SECONDS } from '@slipway/kit/observe/metrics';
import type { RequestCounts } from '@slipway/kit/observe/request-counts';
import { REQUEST_OUTCOMES } from '@slipway/kit/observe/request-counts';

/** Returns the listener of counts, and a function that removes the series of an endpoint. */
export function requestMetrics(metrics: Metrics, names: BoundedNames) {
  const requests = metrics.counter({
    name: 'slipway_core_requests_total',
    help: 'Requests to load-balancing endpoints that ended, by outcome.',
    labels: ['endpoint', 'outcome'],
  });
  const bytes = metrics.counter({
    name: 'slipway_core_request_bytes_total',
    help: 'Bytes of bodies of requests to load-balancing endpoints: in from clients, out to them.',
    labels: ['endpoint', 'direction'],
  });
  const seconds = metrics.seriesHistogram(
    {
      name: 'slipway_core_request_duration_seconds',
      help: 'Time from the arrival of a request to a load-balancing endpoint to the end of its response.',
      label: 'endpoint',
    },
    CALL_SECONDS,
  );
  return {
    onRequests: (endpointId: string, { outcomes, bytesIn, bytesOut, durations }: RequestCounts): void => {
      const endpoint = names.of(endpointId);
      for (const [place, count] of outcomes.entries())
        if (count > 0) requests.inc({ endpoint, outcome: REQUEST_OUTCOMES[place]! }, count);
      bytes.inc({ endpoint, direction: 'in' }, bytesIn);
      bytes.inc({ endpoint, direction: 'out' }, bytesOut);
      // The middle of the bin stands for its durations. At once: any account may report counts, of any size.
      const series = seconds.series(endpoint);
      for (const [bin, count] of durations.entries())
        if (count > 0) series.observe(2 ** ((bin - 0.5) / 2) / 1_000, count);
    },
    forget: (endpoint: string): void => {
      for (const outcome of REQUEST_OUTCOMES) requests.remove({ endpoint, outcome });
      for (const direction of ['in', 'out']) bytes.remove({ endpoint, direction });
      seconds.remove(endpoint);
    },
  };
}

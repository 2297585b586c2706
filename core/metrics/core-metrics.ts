/**
 * Metrics of a replica: its own work and, at each scrape, the counts of the whole installation.
 * docs/reference/metrics.md describes each.
 */
import { status as Code } from '@grpc/grpc-js';
import { BoundedNames } from '@slipway/kit/bytes/bounded-names';
import type { Metrics } from '@slipway/kit/observe/metrics';
import { CALL_SECONDS } from '@slipway/kit/observe/metrics';
import type { RequestCounts } from '@slipway/kit/observe/request-counts';
import type { Clock } from '@slipway/kit/time/clock';
import type { EngineMeter } from '../jobs/engine-meter.ts';
import type { ScaleMeter } from '../scaling/scaling-service.ts';
import type { WorkerStart } from '../store/machines/worker-starts.ts';
import type { Stores } from '../store/storage.ts';
import { engineMetrics } from './engine-metrics.ts';
import { fleetMetrics } from './fleet-metrics.ts';
import { requestMetrics } from './request-metrics.ts';
import { scaleMetrics, startMetrics } from './scale-metrics.ts';

/** Dependencies of the metrics. */
interface CoreMetricsOptions {
  metrics: Metrics;
  /** Most endpoints with their own series. */
  endpointsMax: number;
  store: Stores['metrics'];
  /** Returns the agents connected to this replica. */
  sessions(): number;
  clock: Clock;
}

/** Callbacks by which the parts of a replica report. */
export interface CoreMeter {
  engine: EngineMeter;
  scales: ScaleMeter;
  onStarts(starts: readonly WorkerStart[]): void;
  onCall(path: string, code: Code, tookMs: number): void;
  onBackendsResent(): void;
  onBatchRequests(outcome: 'completed' | 'failed', requests: number): void;
  onRequests(endpointId: string, counts: RequestCounts): void;
}

/** Registers all metrics of a replica. */
export function coreMetrics(options: CoreMetricsOptions): CoreMeter {
  const { metrics, endpointsMax, sessions } = options;
  const names = new BoundedNames(endpointsMax);
  const engine = engineMetrics(metrics, names);
  const starts = startMetrics(metrics, names);
  const requests = requestMetrics(metrics, names);
  fleetMetrics({
    ...options,
    names,
    forget: (endpoint) => {
      engine.forget(endpoint);
      starts.forget(endpoint);
      requests.forget(endpoint);
    },
  });
  metrics.gauge({ name: 'slipway_core_sessions', help: 'Agents connected to this replica.' }, (gauge) =>
    gauge.set(sessions()),
  );
  return {
    engine: engine.meter,
    onStarts: starts.onStarts,
    onRequests: requests.onRequests,
    scales: scaleMetrics(metrics),
    ...callMetrics(metrics),
    ...backendMetrics(metrics),
    ...batchMetrics(metrics),
  };
}

function backendMetrics(metrics: Metrics): Pick<CoreMeter, 'onBackendsResent'> {
  const resent = metrics.counter({
    name: 'slipway_core_backends_resent_total',
    help: 'Backend lists sent again to a facade or edge that had not applied them.',
  });
  return { onBackendsResent: () => resent.inc() };
}

function batchMetrics(metrics: Metrics): Pick<CoreMeter, 'onBatchRequests'> {
  const requests = metrics.counter({
    name: 'slipway_core_batch_requests_total',
    help: 'Requests of batches that ended.',
    labels: ['outcome'],
  });
  return { onBatchRequests: (outcome, count) => requests.inc({ outcome }, count) };
}

function callMetrics(metrics: Metrics): Pick<CoreMeter, 'onCall'> {
  const calls = metrics.counter({
    name: 'slipway_core_rpc_calls_total',
    help: 'gRPC calls and streams that ended.',
    labels: ['method', 'code'],
  });
  const seconds = metrics.histogram(
    {
      name: 'slipway_core_rpc_duration_seconds',
      help: 'Duration of gRPC calls, without streams.',
      labels: ['method'],
    },
    CALL_SECONDS,
  );
  return {
    onCall: (path, code, tookMs) => {
      const method = path.slice(1);
      calls.inc({ method, code: Code[code] ?? String(code) });
      if (!STREAMS.test(method)) seconds.observe({ method }, tookMs / 1_000);
    },
  };
}

/** Streams, whose duration does not show how long a caller waited. */
const STREAMS = /\/(Session|Pipeline|Watch\w*|Stream\w*|ServerReflectionInfo)$/;

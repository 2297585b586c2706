/**
 * The metrics of a replica: what it does itself, and at each reading what there is in all. docs/reference/metrics.md
 * has each.
 */
import { status as Code } from '@grpc/grpc-js';
import type { BatchMeter } from '@slipway/kit/bytes/batcher';
import { BoundedNames } from '@slipway/kit/bytes/bounded-names';
import { budgetMetrics } from '@slipway/kit/observe/budget-metrics';
import type { Metrics } from '@slipway/kit/observe/metrics';
import { BATCH_ITEMS, CALL_SECONDS, JOB_SECONDS } from '@slipway/kit/observe/metrics';
import type { Clock } from '@slipway/kit/time/clock';
import type { ScaleLimitName } from '../domain/scaling/scale-target.ts';
import type { EngineMeter } from '../jobs/engine-meter.ts';
import type { ScaleMeter } from '../scaling/scaling-service.ts';
import type { StartCause, WorkerStart } from '../store/machines/worker-starts.ts';
import type { TransactionWait } from '../store/scaling/transaction-monitor.ts';
import type { Stores } from '../store/storage.ts';
import { fleetMetrics } from './fleet-metrics.ts';

/** What they are made of. */
export interface CoreMetricsOptions {
  metrics: Metrics;
  /** Endpoints with series of their own. */
  endpointsMax: number;
  store: Stores['metrics'];
  /** Agents connected to this replica. */
  sessions(): number;
  clock: Clock;
}

/** What the parts of a replica tell. */
export interface CoreMeter {
  engine: EngineMeter;
  scales: ScaleMeter;
  onStarts(starts: readonly WorkerStart[]): void;
  onCall(path: string, code: Code, tookMs: number): void;
  onRotationResent(): void;
}

/** Makes them. */
export function coreMetrics(options: CoreMetricsOptions): CoreMeter {
  const { metrics, endpointsMax, sessions } = options;
  const names = new BoundedNames(endpointsMax);
  const engine = engineMetrics(metrics, names);
  const starts = startMetrics(metrics, names);
  fleetMetrics({
    ...options,
    names,
    forget: (endpoint) => {
      engine.forget(endpoint);
      starts.forget(endpoint);
    },
  });
  metrics.gauge({ name: 'slipway_core_sessions', help: 'Agents connected to this replica.' }, (gauge) =>
    gauge.set(sessions()),
  );
  return {
    engine: engine.meter,
    onStarts: starts.onStarts,
    scales: scaleMetrics(metrics),
    ...callMetrics(metrics),
    ...rotationMetrics(metrics),
  };
}

function rotationMetrics(metrics: Metrics): Pick<CoreMeter, 'onRotationResent'> {
  const resent = metrics.counter({
    name: 'slipway_core_backends_resent_total',
    help: 'Backend lists sent again to a facade or edge that had not applied them.',
  });
  return { onRotationResent: () => resent.inc() };
}

const START_CAUSES: readonly StartCause[] = ['from_zero', 'scale', 'release', 'crash', 'resume'];
/** Limits of decisions; the others are of requests. */
const LIMITS: readonly (ScaleLimitName | 'none')[] = [
  'none',
  'WORKERS_MAX',
  'QUOTA',
  'NO_PLACE',
  'FAIR_SHARE',
  'KEPT_GPUS',
  'GAVE_WAY',
  'AT_ONCE',
];
const WAITS: readonly TransactionWait[] = ['connection', 'lock', 'work', 'response', 'unknown'];
const ACTIONS = ['add', 'drain', 'retire', 'resume', 'freeze', 'preempt'];

function startMetrics(metrics: Metrics, names: BoundedNames) {
  const total = metrics.counter({
    name: 'slipway_core_cold_starts_total',
    help: 'Workers that became ready, by the cause of their start.',
    labels: ['endpoint', 'cause'],
  });
  const seconds = metrics.histogram(
    {
      name: 'slipway_core_cold_start_seconds',
      help: 'Time from the request for a worker until it was ready; resumed workers are left out.',
      labels: ['cause'],
    },
    JOB_SECONDS,
  );
  for (const cause of START_CAUSES) if (cause !== 'resume') seconds.zero({ cause });
  return {
    onStarts: (starts: readonly WorkerStart[]): void => {
      for (const { endpointId, cause, tookMs } of starts) {
        total.inc({ endpoint: names.of(endpointId), cause });
        if (tookMs !== undefined) seconds.observe({ cause }, tookMs / 1_000);
      }
    },
    forget: (endpoint: string): void => {
      for (const cause of START_CAUSES) total.remove({ endpoint, cause });
    },
  };
}

function batchMetrics(metrics: Metrics): BatchMeter {
  const waits = new Map<string, { waiting(): number; waitingMax: number }>();
  const items = metrics.histogram(
    {
      name: 'slipway_core_batch_items',
      help: 'Items per batch.',
      labels: ['batcher'],
    },
    BATCH_ITEMS,
  );
  metrics.gauge(
    { name: 'slipway_core_batcher_waiting', help: 'Items waiting for a batch.', labels: ['batcher'] },
    (gauge) => {
      for (const [batcher, { waiting }] of waits) gauge.set({ batcher }, waiting());
    },
  );
  metrics.gauge(
    {
      name: 'slipway_core_batcher_limit',
      help: 'Maximum number of items that may wait for a batch; more are rejected.',
      labels: ['batcher'],
    },
    (gauge) => {
      for (const [batcher, { waitingMax }] of waits) gauge.set({ batcher }, waitingMax);
    },
  );
  return {
    watch: (batcher, waiting, waitingMax) => {
      waits.set(batcher, { waiting, waitingMax });
      const own = items.labels({ batcher });
      return (count) => own.observe(count);
    },
  };
}

function engineMetrics(metrics: Metrics, names: BoundedNames): { meter: EngineMeter; forget(endpoint: string): void } {
  const labels = ['endpoint'] as const;
  const submitted = metrics.counter({
    name: 'slipway_core_jobs_submitted_total',
    help: 'Jobs that were stored.',
    labels,
  });
  const claims = metrics.histogram({ name: 'slipway_core_claim_jobs', help: 'Jobs per claim.' }, [0, ...BATCH_ITEMS]);
  const claimSeconds = metrics.histogram(
    {
      name: 'slipway_core_claim_duration_seconds',
      help: 'Duration of a claim, including the wait for the database.',
    },
    CALL_SECONDS,
  );
  const outcomes = metrics.counter({
    name: 'slipway_core_outcomes_total',
    help: 'Outcomes of attempts that changed their job, by its new state.',
    labels: ['endpoint', 'state'],
  });
  const stale = metrics.counter({
    name: 'slipway_core_outcomes_stale_total',
    help: 'Outcomes that arrived too late and changed nothing.',
  });
  const failed = metrics.counter({
    name: 'slipway_core_outcome_errors_total',
    help: 'Statements with outcomes that failed and were retried.',
  });
  const outOfMemory = metrics.counter({
    name: 'slipway_core_jobs_out_of_memory_total',
    help: 'Jobs that failed because their worker ran out of memory.',
    labels,
  });
  const rescued = metrics.counter({
    name: 'slipway_core_attempts_rescued_total',
    help: 'Attempts requeued because the lease of their machine expired.',
  });
  const delays = metrics.histogram(
    {
      name: 'slipway_core_job_delay_seconds',
      help: 'Time from submission to the start of the last attempt.',
      labels,
    },
    JOB_SECONDS,
  );
  const executions = metrics.histogram(
    { name: 'slipway_core_job_execution_seconds', help: 'Run time of the last attempt.', labels },
    JOB_SECONDS,
  );
  const meter: EngineMeter = {
    batches: batchMetrics(metrics),
    budgets: budgetMetrics(metrics, 'slipway_core'),
    submitted: (jobs) => {
      for (const [endpointId, count] of counted(jobs.map((job) => job.endpointId)))
        submitted.inc({ endpoint: names.of(endpointId) }, count);
    },
    claimed: (jobs, tookMs) => {
      claims.observe(jobs);
      claimSeconds.observe(tookMs / 1_000);
    },
    recorded: (count, changed) => {
      if (count > changed.length) stale.inc(count - changed.length);
      for (const [key, jobs] of Map.groupBy(changed, ({ job }) => `${job.endpointId} ${job.state}`)) {
        const [endpointId, state] = key.split(' ') as [string, string];
        const endpoint = names.of(endpointId);
        outcomes.inc({ endpoint, state }, jobs.length);
        for (const { job } of jobs) {
          if (job.executionMs === undefined) continue;
          executions.observe({ endpoint }, job.executionMs / 1_000);
          delays.observe({ endpoint }, (job.delayMs ?? 0) / 1_000);
        }
      }
    },
    ranOutOfMemory: (endpointId) => outOfMemory.inc({ endpoint: names.of(endpointId) }),
    outcomesFailed: () => failed.inc(),
    rescued: (attempts) => rescued.inc(attempts),
    webhookTried: webhookMetrics(metrics),
  };
  const forget = (endpoint: string): void => {
    for (const metric of [submitted, outOfMemory, delays, executions]) metric.remove({ endpoint });
    for (const state of OUTCOME_STATES) outcomes.remove({ endpoint, state });
  };
  return { meter, forget };
}

function webhookMetrics(metrics: Metrics): EngineMeter['webhookTried'] {
  const tries = metrics.counter(
    {
      name: 'slipway_core_webhook_attempts_total',
      help: 'Attempts to call a webhook, by whether the receiver accepted it.',
      labels: ['result'],
    },
    ['accepted', 'failed'],
  );
  const seconds = metrics.histogram(
    { name: 'slipway_core_webhook_duration_seconds', help: 'Duration of attempts to call a webhook.' },
    CALL_SECONDS,
  );
  return (taken, tookMs) => {
    tries.inc({ result: taken ? 'accepted' : 'failed' });
    seconds.observe(tookMs / 1_000);
  };
}

const OUTCOME_STATES = ['IN_QUEUE', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'CANCELLED'];

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function scaleMetrics(metrics: Metrics): ScaleMeter {
  const decisions = metrics.counter(
    {
      name: 'slipway_core_scale_decisions_total',
      help: 'Committed scaling decisions, by the limit that capped them.',
      labels: ['limit'],
    },
    LIMITS,
  );
  const actions = metrics.counter(
    {
      name: 'slipway_core_scale_actions_total',
      help: 'Workers that scaling decisions started, stopped or changed.',
      labels: ['action'],
    },
    ACTIONS,
  );
  const long = metrics.counter(
    {
      name: 'slipway_core_scale_reconciles_slow_total',
      labels: ['wait'],
      help: 'Reconcile transactions that took longer than 15 s, by what they waited for at that time.',
    },
    WAITS,
  );
  const timedOut = metrics.counter({
    name: 'slipway_core_scale_reconciles_timed_out_total',
    help: 'Reconcile transactions that were aborted after 60 s.',
  });
  return {
    onSlow: (wait) => long.inc({ wait }),
    onTimedOut: () => timedOut.inc(),
    onReconcile: ({ added, drained, retired, resumed, frozen, preempted, limits }) => {
      for (const limit of limits.length === 0 ? ['none'] : new Set(limits.map((one) => one.limit)))
        decisions.inc({ limit });
      const changes = {
        add: added,
        drain: drained,
        retire: retired,
        resume: resumed,
        freeze: frozen,
        preempt: preempted,
      };
      for (const [action, workers] of Object.entries(changes)) {
        if (workers.length > 0) actions.inc({ action }, workers.length);
      }
    },
  };
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

/** Their length says nothing of how long anybody waited. */
const STREAMS = /\/(Session|Pipeline|Watch\w*|Stream\w*|ServerReflectionInfo)$/;

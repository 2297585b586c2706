/** Metrics of the job engine: jobs, claims, outcomes, batches and webhooks. */

import type { BatchMeter } from '@slipway/kit/bytes/batcher';
import type { BoundedNames } from '@slipway/kit/bytes/bounded-names';
import { budgetMetrics } from '@slipway/kit/observe/budget-metrics';
import type { Metrics } from '@slipway/kit/observe/metrics';
import { BATCH_ITEMS, CALL_SECONDS, JOB_SECONDS } from '@slipway/kit/observe/metrics';
import type { EngineMeter, RecordedJob } from '../jobs/engine-meter.ts';

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

/** Returns the meter of the job engine, and a function that removes the series of an endpoint. */
export function engineMetrics(
  metrics: Metrics,
  names: BoundedNames,
): { meter: EngineMeter; forget(endpoint: string): void } {
  const jobs = jobMetrics(metrics, names);
  const outcomes = outcomeMetrics(metrics, names);
  const rescued = metrics.counter({
    name: 'slipway_core_attempts_rescued_total',
    help: 'Attempts requeued because the lease of their machine expired.',
  });
  const meter: EngineMeter = {
    batches: batchMetrics(metrics),
    budgets: budgetMetrics(metrics, 'slipway_core'),
    ...jobs.meter,
    ...outcomes.meter,
    rescued: (attempts) => rescued.inc(attempts),
    webhookTried: webhookMetrics(metrics),
  };
  const forget = (endpoint: string): void => {
    jobs.forget(endpoint);
    outcomes.forget(endpoint);
  };
  return { meter, forget };
}

/** Counts submitted jobs and claims. */
function jobMetrics(metrics: Metrics, names: BoundedNames) {
  const submitted = metrics.counter({
    name: 'slipway_core_jobs_submitted_total',
    help: 'Jobs that were stored.',
    labels: ['endpoint'],
  });
  const claims = metrics.histogram({ name: 'slipway_core_claim_jobs', help: 'Jobs per claim.' }, [0, ...BATCH_ITEMS]);
  const claimSeconds = metrics.histogram(
    {
      name: 'slipway_core_claim_duration_seconds',
      help: 'Duration of a claim, including the wait for the database.',
    },
    CALL_SECONDS,
  );
  const meter: Pick<EngineMeter, 'submitted' | 'claimed'> = {
    submitted: (jobs) => {
      for (const [endpointId, count] of counted(jobs.map((job) => job.endpointId)))
        submitted.inc({ endpoint: names.of(endpointId) }, count);
    },
    claimed: (jobs, tookMs) => {
      claims.observe(jobs);
      claimSeconds.observe(tookMs / 1_000);
    },
  };
  return { meter, forget: (endpoint: string): void => submitted.remove({ endpoint }) };
}

/** Counts outcomes of attempts and measures the jobs that they end. */
function outcomeMetrics(metrics: Metrics, names: BoundedNames) {
  const labels = ['endpoint'] as const;
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
  const times = jobTimeMetrics(metrics);
  const meter: Pick<EngineMeter, 'recorded' | 'ranOutOfMemory' | 'outcomesFailed'> = {
    recorded: (count, changed) => {
      if (count > changed.length) stale.inc(count - changed.length);
      for (const [endpointId, jobs] of Map.groupBy(changed, ({ job }) => job.endpointId)) {
        const endpoint = names.of(endpointId);
        for (const [state, many] of counted(jobs.map(({ job }) => job.state))) outcomes.inc({ endpoint, state }, many);
        times.observe(endpoint, jobs);
      }
    },
    ranOutOfMemory: (endpointId) => outOfMemory.inc({ endpoint: names.of(endpointId) }),
    outcomesFailed: () => failed.inc(),
  };
  const forget = (endpoint: string): void => {
    outOfMemory.remove({ endpoint });
    times.forget(endpoint);
    for (const state of OUTCOME_STATES) outcomes.remove({ endpoint, state });
  };
  return { meter, forget };
}

/** Measures the delay and the run time of jobs. */
function jobTimeMetrics(metrics: Metrics) {
  const label = 'endpoint';
  const delays = metrics.seriesHistogram(
    {
      name: 'slipway_core_job_delay_seconds',
      help: 'Time from submission to the start of the last attempt.',
      label,
    },
    JOB_SECONDS,
  );
  const executions = metrics.seriesHistogram(
    { name: 'slipway_core_job_execution_seconds', help: 'Run time of the last attempt.', label },
    JOB_SECONDS,
  );
  return {
    observe: (endpoint: string, jobs: readonly RecordedJob[]): void => {
      const ran = jobs.filter(({ job }) => job.executionMs !== undefined);
      if (ran.length === 0) return;
      const [executed, delayed] = [executions.series(endpoint), delays.series(endpoint)];
      for (const { job } of ran) {
        executed.observe(job.executionMs! / 1_000);
        delayed.observe((job.delayMs ?? 0) / 1_000);
      }
    },
    forget: (endpoint: string): void => {
      for (const metric of [delays, executions]) metric.remove(endpoint);
    },
  };
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

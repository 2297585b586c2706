/** Metrics of scaling: decisions, reconciles and cold starts. */

import type { BoundedNames } from '@slipway/kit/bytes/bounded-names';
import type { Metrics } from '@slipway/kit/observe/metrics';
import { JOB_SECONDS } from '@slipway/kit/observe/metrics';
import type { ScaleLimitName } from '../domain/scaling/scale-target.ts';
import type { ScaleMeter } from '../scaling/scaling-service.ts';
import type { StartCause, WorkerStart } from '../store/machines/worker-starts.ts';
import type { TransactionWait } from '../store/scaling/transaction-monitor.ts';

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
const ACTIONS = ['add', 'drain', 'retire', 'resume', 'freeze', 'preempt', 'offload', 'restore'];

export function startMetrics(metrics: Metrics, names: BoundedNames) {
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

export function scaleMetrics(metrics: Metrics): ScaleMeter {
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
  const late = metrics.counter({
    name: 'slipway_core_offload_timed_out_total',
    help: 'Workers that were ended because the report on a move of their GPU memory was overdue.',
  });
  return {
    onSlow: (wait) => long.inc({ wait }),
    onTimedOut: () => timedOut.inc(),
    onReconcile: (result) => {
      const { limits } = result;
      if (result.late.length > 0) late.inc(result.late.length);
      for (const limit of limits.length === 0 ? ['none'] : new Set(limits.map((one) => one.limit)))
        decisions.inc({ limit });
      const changes = {
        add: result.added,
        drain: result.drained,
        retire: result.retired,
        resume: result.resumed,
        freeze: result.frozen,
        preempt: result.preempted,
        offload: result.offloaded,
        restore: result.restored,
      };
      for (const [action, workers] of Object.entries(changes)) {
        if (workers.length > 0) actions.inc({ action }, workers.length);
      }
    },
  };
}

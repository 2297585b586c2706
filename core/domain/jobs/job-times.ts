/** Computes waiting and execution times and rates of an endpoint's jobs from its traffic counters. Pure. */

import type { Histogram } from '../scaling/traffic.ts';
import { addHistogram, quantileOf, TRAFFIC_KEPT_HOURS, TRAFFIC_SPAN_MS } from '../scaling/traffic.ts';
import { invalid } from '../settings/fields.ts';

/** Wait and execution times of a period. */
export interface JobTimes {
  startMs: number;
  delay: Percentiles;
  execution: Percentiles;
}

/** Percentiles in milliseconds; 0 if nothing was counted. */
interface Percentiles {
  count: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}

/** Number of jobs submitted and ended in a period. */
export interface JobRates {
  startMs: number;
  arrived: number;
  completed: number;
  /** Failed jobs, including timed-out ones. */
  failed: number;
}

/** Counts of one step, from its begin. */
export interface StepCounts extends JobRates {
  waits: Histogram;
  executions: Histogram;
}

const SPAN_MS_MIN = 60_000;
const SPAN_MS_MAX = TRAFFIC_KEPT_HOURS * 3_600_000;
const SPAN_MS_DEFAULT = 3_600_000;
/** Most steps, as many as a chart can show. */
const STEPS = 60;

/**
 * Returns the covered span and the length of a step, in milliseconds. Throws INVALID_REQUEST if the span is out of
 * range.
 */
export function stepsOf(spanMs: number): { spanMs: number; stepMs: number } {
  const wanted = spanMs === 0 ? SPAN_MS_DEFAULT : spanMs;
  if (!(wanted >= SPAN_MS_MIN && wanted <= SPAN_MS_MAX))
    throw invalid(`span_ms is ${spanMs}, but must be from ${SPAN_MS_MIN} to ${SPAN_MS_MAX}`);
  return { spanMs: wanted, stepMs: Math.ceil(wanted / STEPS / TRAFFIC_SPAN_MS) * TRAFFIC_SPAN_MS };
}

/**
 * Returns times of each step in which an execution ended, of all steps together, and rates of each step in which
 * anything happened.
 */
export function jobTimes(
  steps: readonly StepCounts[],
  sinceMs: number,
): { total: JobTimes; steps: JobTimes[]; rates: JobRates[] } {
  const total = { startMs: sinceMs, waits: [] as number[], executions: [] as number[] };
  for (const { waits, executions } of steps) {
    addHistogram(total.waits, waits);
    addHistogram(total.executions, executions);
  }
  return {
    total: timesOf(total),
    steps: steps.map(timesOf).filter(({ execution }) => execution.count > 0),
    rates: steps.map(({ startMs, arrived, completed, failed }) => ({ startMs, arrived, completed, failed })),
  };
}

function timesOf({ startMs, waits, executions }: Pick<StepCounts, 'startMs' | 'waits' | 'executions'>): JobTimes {
  return { startMs, delay: percentilesOf(waits), execution: percentilesOf(executions) };
}

function percentilesOf(histogram: Histogram): Percentiles {
  const at = (share: number): number => Math.round(quantileOf(histogram, share));
  return { count: histogram.reduce((sum, count) => sum + count, 0), p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}

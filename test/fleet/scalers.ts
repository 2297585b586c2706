/**
 * Compares the SLO scaler with QUEUE_DELAY on the same loads in the model (core/domain/scaling/model/scale-model.ts):
 * `npm run fleet
 * -- --scalers`.
 */

import type { ModelResult } from '@slipway/core/domain/scaling/model/scale-model';
import { runModel } from '@slipway/core/domain/scaling/model/scale-model';
import type { ScaleSettings } from '@slipway/core/domain/scaling/scaler';
import type { Quantiles } from './lengths.ts';
import type { Cut } from './recorded.ts';
import type { Lengths, Trace } from './traces.ts';
import { recordedTrace, traces } from './traces.ts';

/** Result of a scaler over all seeds. */
export interface Score {
  p95WaitMs: number;
  gpuSeconds: number;
  starts: number;
}

/** One shape of load: QUEUE_DELAY with its default, and the SLO scaler with a target in seconds. */
export interface Match {
  shape: string;
  jobs: number;
  target: number;
  delay: Score;
  slo: Score;
}

/**
 * Wait target per shape. For the burst about the wait of QUEUE_DELAY, to save GPUs; for the others less than half of
 * it, to save waiting.
 */
const TARGETS: Readonly<Record<string, number>> = { burst: 70, diurnal: 7, trickle: 15, ramp: 5 };

/** Settings of an endpoint of the model. */
export function settingsOf(chosen: Partial<ScaleSettings>): ScaleSettings {
  return {
    workersMin: 0,
    workersMax: 40,
    idleTimeoutSeconds: 5,
    scalerType: 'QUEUE_DELAY',
    scalerValue: 4,
    flashBoot: false,
    version: 0,
    ...chosen,
  };
}

/** Runs one load. */
export function play(trace: Trace, settings: ScaleSettings): ModelResult {
  const run = runModel({
    ...trace,
    settingsAt: () => settings,
    slots: 1,
    resumeMs: 500,
    slotsMax: Infinity,
    fromMs: 0,
  });
  for (;;) {
    const { done, value } = run.next();
    if (done) return value;
  }
}

/** Plays all shapes with both scalers. Returns means over the seeds. */
export function matches(seeds: readonly number[], lengths?: Lengths): Match[] {
  const all = seeds.flatMap((seed) => traces(seed, lengths));
  return [...Map.groupBy(all, ({ name }) => name)].map(([shape, same]) => matchOf(same, TARGETS[shape]!));
}

/** Plays loads of one shape with both scalers. `target`: of the SLO scaler, in seconds. */
export function matchOf(same: readonly Trace[], target: number): Match {
  return {
    shape: same[0]!.name,
    target,
    jobs: Math.round(mean(same.map(({ jobs }) => jobs.length))),
    delay: meanScore(same.map((trace) => play(trace, settingsOf({})))),
    slo: meanScore(same.map((trace) => play(trace, settingsOf({ scalerType: 'SLO', scalerValue: target })))),
  };
}

/**
 * Plays part of a recorded load (recorded.ts) with both scalers, three times with other starts, and other jobs if some
 * are left out. `target`: of the SLO scaler, in seconds.
 */
export function matchRecorded(
  text: string,
  starts: Quantiles,
  { seed, target, cut }: { seed: number; target: number; cut: Cut },
): Match {
  return matchOf(
    [0, 1, 2].map((n) => recordedTrace(text, starts, seed + n, { ...cut, offset: n })),
    target,
  );
}

/**
 * Returns whether the SLO scaler wins: at most half the wait for the same GPU seconds, or the same wait for at most 70
 * % of them.
 */
export function wins({ delay, slo }: Match): boolean {
  const quicker = slo.p95WaitMs <= delay.p95WaitMs * 0.5 && slo.gpuSeconds <= delay.gpuSeconds;
  return quicker || (slo.p95WaitMs <= delay.p95WaitMs && slo.gpuSeconds <= delay.gpuSeconds * 0.7);
}

/** Formats a table of results. */
export function matchTable(all: readonly Match[]): string {
  const percent = (part: number, whole: number): string => `${Math.round((part / whole) * 100)} %`;
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const rows = all.map((match) => {
    const { shape, jobs, target, delay, slo } = match;
    return [
      shape,
      String(jobs),
      `${target} s`,
      seconds(delay.p95WaitMs),
      seconds(slo.p95WaitMs),
      percent(slo.p95WaitMs, delay.p95WaitMs),
      String(Math.round(delay.gpuSeconds)),
      String(Math.round(slo.gpuSeconds)),
      percent(slo.gpuSeconds, delay.gpuSeconds),
      String(Math.round(delay.starts)),
      String(Math.round(slo.starts)),
      wins(match) ? 'yes' : 'NO',
    ];
  });
  const head = [
    'load',
    'jobs',
    'target',
    'p95 wait: QUEUE_DELAY',
    'SLO',
    '',
    'GPU seconds: QUEUE_DELAY',
    'SLO',
    '',
    'starts: QUEUE_DELAY',
    'SLO',
    'met',
  ];
  const widths = head.map((text, column) => Math.max(text.length, ...rows.map((row) => row[column]!.length)));
  return [head, ...rows].map((row) => row.map((text, column) => text.padStart(widths[column]!)).join('  ')).join('\n');
}

function meanScore(results: readonly ModelResult[]): Score {
  return {
    p95WaitMs: mean(
      results.map(({ waitsMs }) => waitsMs.toSorted((a, b) => a - b)[Math.ceil(waitsMs.length * 0.95) - 1]!),
    ),
    gpuSeconds: mean(
      results.map(({ spans }) => spans.reduce((sum, { fromMs, untilMs }) => sum + untilMs - fromMs, 0) / 1_000),
    ),
    starts: mean(results.map(({ starts }) => starts)),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

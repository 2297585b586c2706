/**
 * Computes what-if questions: past hours of an endpoint as measured, the same hours in the model with the settings of
 * that time, and in the model with other settings. The difference between the first two shows how far the model can be
 * trusted. Pure.
 */

import type { DecisionSample, DecisionSettings } from '../scale-decision.ts';
import { wishedChanges } from '../scale-decision.ts';
import type { ScaleSettings } from '../scaler.ts';
import type { TrafficSpan } from '../traffic.ts';
import { ASSUMED_TIMES, addHistogram, quantileOf } from '../traffic.ts';
import type { ModelJob, ModelResult } from './scale-model.ts';
import { runModel } from './scale-model.ts';

/** Settings that a question may change. */
export const WHAT_IF_FIELDS = [
  'workersMin',
  'workersMax',
  'idleTimeoutSeconds',
  'scalerType',
  'scalerValue',
  'flashBootType',
] as const;

/** A logged decision. */
export interface RecordedDecision {
  decidedAtMs: number;
  target: number;
  /** Number of unplaced workers. */
  throttled: number;
  settings: DecisionSettings | null;
  /** Null if it was too large, or if there are enough later ones. */
  sample: DecisionSample | null;
}

/** Recorded history of an endpoint. */
export interface Recorded {
  spans: readonly TrafficSpan[];
  decisions: readonly RecordedDecision[];
  /** Periods in which workers were metered. */
  workers: readonly { fromMs: number; untilMs: number }[];
  /** Times of the last worker starts, in milliseconds. */
  startsMs: readonly number[];
  /** Jobs that a worker holds at once, and its GPUs. */
  slots: number;
  gpus: number;
}

/** Figures of one variant over a period. */
export interface WhatIfFigures {
  /** Mean number of workers. */
  workers: number;
  workerSeconds: number;
  gpuSeconds: number;
  /** 95th percentile of waits, 0 without a job. */
  p95WaitMs: number;
}

/** Figures of a period, or of all of it. */
export interface WhatIfPeriod {
  fromMs: number;
  untilMs: number;
  jobs: number;
  measured: WhatIfFigures;
  /** Modelled with the settings of that time. */
  asItWas: WhatIfFigures;
  /** Modelled with the other settings. */
  wouldBe: WhatIfFigures;
}

/** Result of a what-if question. */
export interface WhatIf {
  periods: WhatIfPeriod[];
  /** `undefined` if no job arrived. */
  total: WhatIfPeriod | undefined;
  /** Number of replayed decisions, and how many have another target. */
  replayed: number;
  changed: number;
  /** Notes on what is measured, what is modelled and what is left out. */
  notes: string[];
}

/** Maximum number of modelled jobs. Older jobs are left out. */
const JOBS_MAX = 50_000;
const PERIODS_MAX = 12;
const RESUME_MS = 500;
/** Golden ratio: multiples of it, modulo 1, are evenly distributed. */
const GOLDEN = 0.618_033_988_749_895;

/** Computes the result of a question, in steps. */
export function* answerWhatIf(
  recorded: Recorded,
  before: ScaleSettings,
  change: Partial<ScaleSettings>,
  nowMs: number,
): Generator<undefined, WhatIf, undefined> {
  const spans = latest(recorded.spans);
  const replayed = yield* replay(recorded.decisions, change);
  if (spans.length === 0)
    return {
      periods: [],
      total: undefined,
      ...replayed,
      notes: ['No job came in this time: there is nothing to model.'],
    };
  const fromMs = Math.min(...spans.map(({ endMs, spanMs }) => endMs - spanMs));
  const jobs = jobsOf(spans);
  const settingsAt = settingsOver(recorded.decisions, before);
  const slotsMax = slotsSeen(recorded.decisions.filter(({ decidedAtMs }) => decidedAtMs >= fromMs));
  const starts = (recorded.startsMs.length > 0 ? recorded.startsMs : ASSUMED_TIMES.startsMs).toSorted((a, b) => a - b);
  const model = {
    jobs,
    slots: recorded.slots,
    resumeMs: RESUME_MS,
    slotsMax,
    fromMs,
    untilMs: nowMs,
    startMs: (n: number) => starts[Math.floor(((n * GOLDEN) % 1) * starts.length)]!,
  };
  const asItWas = yield* runModel({ ...model, settingsAt });
  const wouldBe = yield* runModel({ ...model, settingsAt: (ms) => ({ ...settingsAt(ms), ...change }) });
  const figures = (from: number, until: number): WhatIfPeriod => ({
    fromMs: from,
    untilMs: until,
    jobs: jobs.filter(({ atMs }) => atMs >= from && atMs < until).length,
    measured: measuredFigures(recorded, from, until),
    asItWas: modelledFigures(asItWas, jobs, recorded.gpus, from, until),
    wouldBe: modelledFigures(wouldBe, jobs, recorded.gpus, from, until),
  });
  const count = Math.max(Math.min(PERIODS_MAX, Math.ceil((nowMs - fromMs) / 60_000)), 1);
  const length = (nowMs - fromMs) / count;
  const periods = Array.from({ length: count }, (_, n) => figures(fromMs + n * length, fromMs + (n + 1) * length));
  return { periods, total: figures(fromMs, nowMs), ...replayed, notes: notesOf(recorded, spans, slotsMax) };
}

/** Returns the latest spans, up to the maximum number of jobs. */
function latest(spans: readonly TrafficSpan[]): TrafficSpan[] {
  let left = JOBS_MAX;
  return spans
    .toSorted((a, b) => b.endMs - a.endMs)
    .filter(({ arrived }) => (left -= arrived) >= 0)
    .reverse();
}

/** Returns modelled jobs: evenly distributed within their span, with run times from the measured distribution. */
function jobsOf(spans: readonly TrafficSpan[]): ModelJob[] {
  const lengths: number[] = [];
  for (const { executions } of spans) addHistogram(lengths, executions);
  const executed = spans.reduce((sum, span) => sum + span.executed, 0);
  const mean = spans.reduce((sum, span) => sum + span.executionMs, 0) / Math.max(executed, 1);
  const shape = Array.from({ length: 256 }, (_, n) => quantileOf(lengths, (n + 0.5) / 256));
  const shapeMean = shape.reduce((sum, ms) => sum + ms, 0) / shape.length;
  const scale = shapeMean === 0 ? 0 : mean / shapeMean;
  let number = 0;
  return spans
    .flatMap(({ endMs, spanMs, arrived }) =>
      Array.from({ length: arrived }, (_, n) => {
        number += 1;
        return {
          atMs: endMs - spanMs + ((n + 0.5) / arrived) * spanMs,
          executionMs: shape[Math.floor(((number * GOLDEN) % 1) * 256)]! * scale,
        };
      }),
    )
    .sort((a, b) => a.atMs - b.atMs);
}

/** Returns the settings over time, as decisions recorded them. */
function settingsOver(decisions: readonly RecordedDecision[], before: ScaleSettings): (ms: number) => ScaleSettings {
  const known = decisions
    .flatMap(({ decidedAtMs, settings }) => (settings ? [{ decidedAtMs, settings }] : []))
    .sort((a, b) => a.decidedAtMs - b.decidedAtMs);
  let at = 0;
  return (ms) => {
    if (at > 0 && known[at]!.decidedAtMs > ms) at = 0;
    while (at + 1 < known.length && known[at + 1]!.decidedAtMs <= ms) at += 1;
    return known[at]?.settings ?? before;
  };
}

/** Returns the maximum number of placed workers while some were unplaced. */
function slotsSeen(decisions: readonly RecordedDecision[]): number {
  const cut = decisions.filter(({ throttled }) => throttled > 0).map(({ target, throttled }) => target - throttled);
  return cut.length === 0 ? Infinity : Math.max(...cut);
}

function measuredFigures({ spans, workers, gpus }: Recorded, fromMs: number, untilMs: number): WhatIfFigures {
  const waits: number[] = [];
  for (const span of spans) if (span.endMs > fromMs && span.endMs <= untilMs) addHistogram(waits, span.waits);
  return { ...timesOf(workers, gpus, fromMs, untilMs), p95WaitMs: quantileOf(waits, 0.95) };
}

function modelledFigures(
  { waitsMs, spans }: ModelResult,
  jobs: readonly ModelJob[],
  gpus: number,
  fromMs: number,
  untilMs: number,
): WhatIfFigures {
  const waits = waitsMs.filter((_, n) => jobs[n]!.atMs >= fromMs && jobs[n]!.atMs < untilMs).sort((a, b) => a - b);
  return { ...timesOf(spans, gpus, fromMs, untilMs), p95WaitMs: waits[Math.ceil(waits.length * 0.95) - 1] ?? 0 };
}

function timesOf(
  spans: readonly { fromMs: number; untilMs: number }[],
  gpus: number,
  fromMs: number,
  untilMs: number,
): Omit<WhatIfFigures, 'p95WaitMs'> {
  const ms = spans.reduce(
    (sum, span) => sum + Math.max(Math.min(span.untilMs, untilMs) - Math.max(span.fromMs, fromMs), 0),
    0,
  );
  return { workers: ms / (untilMs - fromMs), workerSeconds: ms / 1_000, gpuSeconds: (ms / 1_000) * gpus };
}

/** Decides logged samples again with the other settings, and counts changed targets. */
function* replay(
  decisions: readonly RecordedDecision[],
  change: Partial<ScaleSettings>,
): Generator<undefined, Pick<WhatIf, 'replayed' | 'changed'>, undefined> {
  let [replayed, changed] = [0, 0];
  for (const { sample, target } of decisions) {
    if (!sample) continue;
    replayed += 1;
    if (wishedChanges({ ...sample, settings: { ...sample.settings, ...change } }).target !== target) changed += 1;
    yield;
  }
  return { replayed, changed };
}

function notesOf({ startsMs, decisions }: Recorded, spans: readonly TrafficSpan[], slotsMax: number): string[] {
  const assumed = ASSUMED_TIMES.startsMs.map((ms) => Math.round(ms / 1_000));
  const executed = spans.reduce((sum, span) => sum + span.executed, 0);
  const waits = spans.reduce((sum, span) => sum + span.waits.reduce((all, count) => all + count, 0), 0);
  return [
    `Measured: arrivals in spans of about 10 s, ${executed} execution times, ${waits} waits, ${startsMs.length} ` +
      'starts of workers, and metered workers.',
    'Modelled: jobs come evenly within each span; execution times and starts are drawn from the measured ones; a ' +
      'scaler looks once a second. Not in it: crashes, lost machines, jobs with low priority, and what waited or ' +
      'ran when it began.',
    ...(startsMs.length === 0 ? [`No start was measured: ${assumed[0]} to ${assumed.at(-1)} s are assumed.`] : []),
    ...(executed === 0 ? ['No execution was measured: jobs count as taking no time.'] : []),
    slotsMax === Infinity
      ? 'Capacity does not limit the number of workers: none lacked it in this time.'
      : `At most ${slotsMax} workers fit: others lacked capacity.`,
    ...(decisions.some(({ settings }) => settings !== null)
      ? []
      : ['No decision was recorded: the present settings count as those of then.']),
  ];
}

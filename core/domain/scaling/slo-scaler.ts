/**
 * The SLO scaler: the fewest workers with which 95 of 100 jobs wait at most scalerValue seconds. It uses measurements
 * of the endpoint: arrival rate, run times, and start times, the latter per type of GPU if several types are known. It
 * takes the larger of two numbers: the workers needed to start waiting jobs in time, and the workers to retain for jobs
 * that will arrive. Pure.
 */
import { typeOfNext } from './gpu-starts.ts';
import type { Scaler, ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';
import type { TrafficSample } from './traffic.ts';
import { mostOf, TRAFFIC_WINDOWS_MS } from './traffic.ts';

/** Share of jobs that must meet the target. */
const SHARE = 0.95;
/**
 * Times assumed before the first measurement, in milliseconds, for samples that do not contain assumptions themselves.
 * Kept so that old samples give the same decision.
 */
const ASSUMED_EXECUTION_MS = 5_000;
const ASSUMED_START_MS = 10_000;
/** Milliseconds to resume a standby worker. */
const RESUME_MS = 500;
/** An overdue start is expected to take this share of its usual time more. */
const LATE_SHARE = 0.25;
/** Arrivals per second from which one worker is retained if a start would miss the target: 3 in ten minutes. */
const RETAIN_PER_SECOND_MIN = 3 / 600;
/**
 * After arrivals seem to have stopped, it is retained for this many times the usual pause. Random arrivals exceed that
 * one time in fifty.
 */
const RETAINED_PAUSES = 4;
/** Maximum of that time, in milliseconds. */
const RETAINED_IDLE_MS_MAX = 600_000;

/** Arrivals per second from which the last minute alone gives the rate: 3 in a minute. */
const TOLD_PER_SECOND_MIN = 3 / 60;

/** Maximum number of workers to wish for, far above any allowed value. */
const WISHED_MAX = 1_000_000;
/** Load in slots up to which the number of slots is computed exactly. */
const EXACT_LOAD_MAX = 10_000;

const NOW_SECONDS = TRAFFIC_WINDOWS_MS.now / 1_000;

/** Measured start times, in milliseconds. */
interface Starts {
  /** Type of GPU. Empty for any. */
  gpu: string;
  /** 90th percentile: a start may be this late for a job that waits for it. */
  mostMs: number;
  /** All of them, sorted ascending. A new start takes each with the same probability. */
  allMs: readonly number[];
}

/** A type of GPU. */
interface TypeFacts {
  starts: Starts;
  /** Free slots, number of workers on it, and their ids. */
  free: number;
  present: number;
  workers: ReadonlySet<string>;
}

/** Inputs of the computation. Times in milliseconds. */
interface Facts {
  targetMs: number;
  executionMs: number;
  /** On any type of GPU. */
  starts: Starts;
  /** In the order of placement. Empty unless starts on several types are known. */
  types: readonly TypeFacts[];
  slots: number;
  /** Arrivals per millisecond. */
  rate: number;
  /** The same over the last hour. */
  hourRate: number;
  measured: boolean;
}

/** The SLO scaler. Its reason ends with numbers in parentheses, which do not make a decision new. */
export const sloScaler: Scaler = (sample, settings) => {
  const present = sample.workers.filter((worker) => worker.desired === 'RUN' && worker.version === settings.version);
  const facts = factsOf(sample, settings, present);
  const busy = present.filter((worker) => worker.held > 0).length;
  const missing = missingWorkers(sample, settings, present, facts);
  const retained = retainedFor(facts, present, settings);
  const numbers = numbersText(sample, facts);
  const target = `${settings.scalerValue} s`;
  if (present.length === 0 && sample.queued > 0) {
    return { workers: Math.max(missing, 1, retained), reason: `a job waits and there is no worker${numbers}` };
  }
  if (missing > 0)
    return {
      workers: Math.max(present.length + missing, retained),
      reason: `jobs that wait would wait longer than ${target}${numbers}`,
    };
  const needed = sample.queued > 0 ? present.length : busy;
  if (retained > needed)
    return {
      workers: retained,
      reason: `jobs that will come would wait longer than ${target} for fewer workers${numbers}`,
    };
  if (sample.queued > 0)
    return {
      workers: needed,
      reason: `what waits will be started within ${target} or as soon as new workers could${numbers}`,
    };
  return {
    workers: needed,
    reason: `no job waits, and a job that comes waits no longer than ${target} or comes too seldom${numbers}`,
  };
};

function factsOf({ traffic }: ScaleSample, { scalerValue }: ScaleSettings, present: readonly WorkerSample[]): Facts {
  const assumed = traffic?.assumed ?? { executionMs: ASSUMED_EXECUTION_MS, startsMs: [ASSUMED_START_MS] };
  const startMs = traffic?.startMs || mostOf(assumed.startsMs);
  const here = new Set(present.map(({ id }) => id));
  const starts = {
    gpu: '',
    mostMs: startMs,
    allMs: traffic?.startsMs ?? (traffic?.startMs ? [startMs] : assumed.startsMs),
  };
  return {
    targetMs: scalerValue * 1_000,
    executionMs: Math.max(traffic?.executionMs || assumed.executionMs, 1),
    starts,
    types: (traffic?.byGpu ?? []).map(({ gpu, places, workers, startsMs }) => ({
      starts: startsMs.length === 0 ? starts : { gpu, mostMs: mostOf(startsMs), allMs: startsMs },
      free: places,
      present: workers.filter((id) => here.has(id)).length,
      workers: new Set(workers),
    })),
    slots: Math.max(traffic?.slots ?? 1, 1),
    rate: rateOf(traffic) / 1_000,
    hourRate: (traffic?.arrivalsPerSecondHour ?? 0) / 1_000,
    measured: (traffic?.executionMs ?? 0) > 0 && (traffic?.startMs ?? 0) > 0,
  };
}

/** Returns the start times of the n-th further worker, from 0. */
function nextStarts({ types, starts }: Facts, n: number): Starts {
  return typeOfNext(types, n, ({ free }) => free)?.starts ?? starts;
}

/**
 * Returns the start times of a worker beside this many, if the present workers had stopped and freed the better slots.
 */
function startsBeside({ types, starts }: Facts, workers: number): Starts {
  return typeOfNext(types, workers, ({ free, present }) => free + present)?.starts ?? starts;
}

/**
 * Returns arrivals per second: the rate of the last minute, limited to what the last 20 s allow (two standard
 * deviations of independent arrivals). If a minute has too few arrivals, the rate of the last ten.
 */
function rateOf(traffic: TrafficSample | undefined): number {
  const { arrivalsPerSecondNow = 0, arrivalsPerSecond = 0, arrivalsPerSecondLong = 0 } = traffic ?? {};
  if (arrivalsPerSecondLong < TOLD_PER_SECOND_MIN) return Math.max(arrivalsPerSecond, arrivalsPerSecondLong);
  const seen = arrivalsPerSecondNow * NOW_SECONDS;
  const least = (seen - 2 * Math.sqrt(seen)) / NOW_SECONDS;
  const most = (seen + 2 * Math.sqrt(seen) + 3) / NOW_SECONDS;
  return Math.min(Math.max(arrivalsPerSecond, least), most);
}

/**
 * Returns the number of further workers that start waiting jobs within the target or, if most new workers could not
 * meet it, soon after their start.
 */
function missingWorkers(
  { queued, oldestWaitMs, workers }: ScaleSample,
  settings: ScaleSettings,
  present: readonly WorkerSample[],
  facts: Facts,
): number {
  if (queued === 0) return 0;
  const { targetMs, executionMs, slots, rate } = facts;
  const leftMs = targetMs - oldestWaitMs;
  const { allMs } = nextStarts(facts, 0);
  const usualMs = allMs[Math.floor(allMs.length / 2)]!;
  const horizonMs = leftMs > usualMs ? leftMs : usualMs + Math.max(executionMs, targetMs / 2);
  const resumeMs = workers
    .filter(
      ({ desired, state, reachable, suspended }) =>
        desired === 'FREEZE' && state !== 'UNHEALTHY' && reachable && !suspended,
    )
    .map(({ offloaded }) => offloaded?.restoreMs ?? RESUME_MS)
    .toSorted((a, b) => a - b);
  const begun = present.reduce((sum, worker) => sum + startedBy(horizonMs, worker, facts), 0);
  // Arrivals within the horizon are included if their target ends before it.
  const wanted = Math.max(Math.ceil(queued * SHARE), 1) + rate * Math.max(horizonMs - targetMs, 0);
  const resumed = (ms: number): number => startedPerSlot(horizonMs, ms, executionMs) * slots;
  const known = new Map<Starts, number>();
  const started = (starts: Starts): number =>
    known.get(starts) ?? known.set(starts, startedByNewWorker(horizonMs, 0, starts, facts)).get(starts)!;
  let lacking = wanted - begun;
  let more = 0;
  const most = Math.max(settings.workersMax - present.length, 0) + 1;
  while (lacking > 0.05 && more < most) {
    const onStandby = resumeMs[more];
    lacking -= onStandby === undefined ? started(nextStarts(facts, more - resumeMs.length)) : resumed(onStandby);
    more += 1;
  }
  return more;
}

/** Returns the number of executions that a worker begins until then. */
function startedBy(untilMs: number, { id, state, held, ageMs }: WorkerSample, facts: Facts): number {
  const { executionMs, slots, types } = facts;
  if (state !== 'READY') {
    const { starts } = types.find(({ workers }) => workers.has(id)) ?? facts;
    return startedByNewWorker(untilMs, state === 'INITIALIZING' ? ageMs : 0, starts, facts);
  }
  const busy = Math.min(held, slots);
  return (
    startedPerSlot(untilMs, 0, executionMs) * (slots - busy) +
    startedPerSlot(untilMs, executionMs / 2, executionMs) * busy
  );
}

/**
 * Returns the same for a worker that has been starting for `ageMs`: the average over recorded starts that took longer.
 */
function startedByNewWorker(
  untilMs: number,
  ageMs: number,
  { allMs, mostMs }: Starts,
  { executionMs, slots }: Facts,
): number {
  const longer = allMs.filter((ms) => ms > ageMs);
  const left = longer.length > 0 ? longer.map((ms) => Math.max(ms - ageMs, ms * LATE_SHARE)) : [mostMs * LATE_SHARE];
  return (left.reduce((sum, ms) => sum + startedPerSlot(untilMs, ms, executionMs), 0) / left.length) * slots;
}

/**
 * Returns the expected number of executions that a slot begins until then, if it is free at `freeMs`: one, and one more
 * after each.
 */
function startedPerSlot(untilMs: number, freeMs: number, executionMs: number): number {
  return untilMs < freeMs ? 0 : 1 + (untilMs - freeMs) / executionMs;
}

/** Returns the number of workers to retain for future jobs, so that they meet the target without a start in between. */
function retainedFor(facts: Facts, present: readonly WorkerSample[], { workersMax }: ScaleSettings): number {
  const { rate, hourRate, executionMs, targetMs, slots } = facts;
  const load = rate * executionMs;
  const startMs = startsBeside(facts, Math.floor(load / slots)).mostMs;
  // If a start meets the target, only workers that are always busy are retained.
  if (startMs <= targetMs) return Math.min(Math.floor(load / slots), present.length);
  if (rate * 1_000 < RETAIN_PER_SECOND_MIN) return isPause(hourRate, present) ? 1 : 0;
  // Long jobs may arrive by the thousand. Computing beyond what is allowed would block core.
  if (load >= workersMax * slots) return Math.min(Math.floor(load / slots) + 1, WISHED_MAX);
  return Math.ceil(slotsFor(load, targetMs / executionMs) / slots);
}

/** Returns whether arrivals pause no longer than usual, so that the last worker should stay. */
function isPause(hourRate: number, present: readonly WorkerSample[]): boolean {
  if (hourRate * 1_000 < RETAIN_PER_SECOND_MIN) return false;
  return present.some(({ idleMs }) => idleMs < Math.min(RETAINED_PAUSES / hourRate, RETAINED_IDLE_MS_MAX));
}

/**
 * Returns the fewest slots with which 95 of 100 jobs wait at most `waitExecutions` executions (Erlang C; real queues
 * are mostly shorter).
 */
function slotsFor(load: number, waitExecutions: number): number {
  if (load <= 0) return 0;
  // For large loads the variation is relatively small: two standard deviations are more than enough.
  if (load > EXACT_LOAD_MAX) return Math.ceil(load + 2 * Math.sqrt(load));
  let blocked = 1;
  for (let slots = 1; ; slots += 1) {
    blocked = (load * blocked) / (slots + load * blocked);
    if (slots <= load) continue;
    const delayed = blocked / (1 - (load / slots) * (1 - blocked));
    if (delayed * Math.exp(-(slots - load) * waitExecutions) <= 1 - SHARE) return slots;
  }
}

function numbersText({ queued, oldestWaitMs, running }: ScaleSample, facts: Facts): string {
  const { rate, executionMs, slots, measured } = facts;
  // Shows the start times that decide: of the next worker if jobs wait, otherwise of one beside the busy workers.
  const { mostMs, gpu } =
    queued > 0 ? nextStarts(facts, 0) : startsBeside(facts, Math.floor((rate * executionMs) / slots));
  // Parentheses in a GPU name would end the numbers.
  const where = gpu === '' ? '' : ` on ${gpu.replace(/[()]/g, '')}`;
  const seconds = (ms: number): string => `${Number((ms / 1_000).toPrecision(2))} s`;
  const work =
    `${Number((rate * 60_000).toPrecision(2))} jobs a minute of ${seconds(executionMs)}, a start${where} takes ` +
    `${seconds(mostMs)}`;
  return (
    ` (${queued} wait, the first for ${seconds(oldestWaitMs)}, ${running} run; ` +
    `${work}${measured ? '' : ', not all of it measured yet'}${slots === 1 ? '' : `; ${slots} jobs a worker`})`
  );
}

/**
 * The SLO scaler: as few workers as let 95 of 100 jobs wait no longer than scalerValue seconds, from what was measured of this endpoint: how many jobs
 * come, how long they run, how long a start takes, and that on the GPUs that the next worker would get where starts on several types are known. Two questions,
 * the larger answer counts: how many workers start what waits in time, and how many stay because of the jobs that will come. Pure; the same sample gives
 * the same answer.
 */
import { typeOfNext } from './gpu-starts.ts';
import type { Scaler, ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';
import { TRAFFIC_WINDOWS_MS, mostOf } from './traffic.ts';
import type { TrafficSample } from './traffic.ts';

/** Share of the jobs that the target holds for. */
const SHARE = 0.95;
/** What counted until the first was measured, in milliseconds, before samples said so themselves: such samples give the decision that they gave. */
const ASSUMED_EXECUTION_MS = 5_000;
const ASSUMED_START_MS = 10_000;
/** A frozen worker wakes within this many milliseconds. */
const WAKE_MS = 500;
/** A start that takes longer than expected is expected to take this share of the usual time more. */
const LATE_SHARE = 0.25;
/** One worker stays for jobs that come at least this often, 3 in ten minutes, when a start alone would miss the target. */
const KEPT_PER_SECOND_MIN = 3 / 600;
/** Once they seem to have stopped it stays for so many times the usual pause between two: jobs that come at random pause longer one time in fifty. */
const KEPT_PAUSES = 4;
/** But no longer than this, in milliseconds. */
const KEPT_IDLE_MS_MAX = 600_000;

/** From 3 jobs in a minute on the last minute tells how many come, and also that no more do. */
const TOLD_PER_SECOND_MIN = 3 / 60;

/** Workers that are wished for at the most, far more than any endpoint may have. */
const WISHED_MAX = 1_000_000;
/** Slots at work up to which the fewest are counted out. */
const EXACT_LOAD_MAX = 10_000;

const NOW_SECONDS = TRAFFIC_WINDOWS_MS.now / 1_000;

/** Starts as they were measured, in milliseconds. */
interface Starts {
  /** The type of GPU that they were on; empty: any. */
  gpu: string;
  /** What nine of ten do not exceed: it is too late for whoever would have to wait for one. */
  mostMs: number;
  /** Each of them, the shortest first: of one that is begun now each is as likely. */
  allMs: readonly number[];
}

/** A type of GPU. */
interface TypeFacts {
  starts: Starts;
  /** Workers that would find a place, those that are there, and the ids of these. */
  free: number;
  present: number;
  workers: ReadonlySet<string>;
}

/** What is reckoned with; times in milliseconds. */
interface Facts {
  targetMs: number;
  executionMs: number;
  /** On any GPU. */
  starts: Starts;
  /** In the order in which placement takes them. Empty: starts were not seen on several. */
  types: readonly TypeFacts[];
  slots: number;
  /** Jobs that come in a millisecond. */
  rate: number;
  /** The same over the last hour. */
  hourRate: number;
  measured: boolean;
}

/** See above. Its reason ends with the numbers in parentheses; those are no news when they change. */
export const sloScaler: Scaler = (sample, settings) => {
  const present = sample.workers.filter((worker) => worker.desired === 'RUN' && worker.version === settings.version);
  const facts = factsOf(sample, settings, present);
  const busy = present.filter((worker) => worker.held > 0).length;
  const missing = missingFor(sample, settings, present, facts);
  const kept = keptFor(facts, present, settings);
  const numbers = numbersText(sample, facts);
  const target = `${settings.scalerValue} s`;
  if (present.length === 0 && sample.queued > 0) {
    return { workers: Math.max(missing, 1, kept), reason: `a job waits and there is no worker${numbers}` };
  }
  if (missing > 0) return { workers: Math.max(present.length + missing, kept), reason: `jobs that wait would wait longer than ${target}${numbers}` };
  const needed = sample.queued > 0 ? present.length : busy;
  if (kept > needed) return { workers: kept, reason: `jobs that will come would wait longer than ${target} for fewer workers${numbers}` };
  if (sample.queued > 0) return { workers: needed, reason: `what waits will be started within ${target} or as soon as new workers could${numbers}` };
  return { workers: needed, reason: `no job waits, and a job that comes waits no longer than ${target} or comes too seldom${numbers}` };
};

function factsOf({ traffic }: ScaleSample, { scalerValue }: ScaleSettings, present: readonly WorkerSample[]): Facts {
  const assumed = traffic?.assumed ?? { executionMs: ASSUMED_EXECUTION_MS, startsMs: [ASSUMED_START_MS] };
  const startMs = traffic?.startMs || mostOf(assumed.startsMs);
  const here = new Set(present.map(({ id }) => id));
  const starts = { gpu: '', mostMs: startMs, allMs: traffic?.startsMs ?? (traffic?.startMs ? [startMs] : assumed.startsMs) };
  return {
    targetMs: scalerValue * 1_000, executionMs: Math.max(traffic?.executionMs || assumed.executionMs, 1), starts,
    types: (traffic?.byGpu ?? []).map(({ gpu, places, workers, startsMs }) => ({
      starts: startsMs.length === 0 ? starts : { gpu, mostMs: mostOf(startsMs), allMs: startsMs },
      free: places, present: workers.filter((id) => here.has(id)).length, workers: new Set(workers),
    })),
    slots: Math.max(traffic?.slots ?? 1, 1), rate: rateOf(traffic) / 1_000,
    hourRate: (traffic?.arrivalsPerSecondHour ?? 0) / 1_000,
    measured: (traffic?.executionMs ?? 0) > 0 && (traffic?.startMs ?? 0) > 0,
  };
}

/** Starts of the n-th worker more, from 0. */
function nextStarts({ types, starts }: Facts, n: number): Starts {
  return typeOfNext(types, n, ({ free }) => free)?.starts ?? starts;
}

/** Starts of a worker that comes beside so many, when those that are there now have gone as far as they may: they leave the better places. */
function startsBeside({ types, starts }: Facts, workers: number): Starts {
  return typeOfNext(types, workers, ({ free, present }) => free + present)?.starts ?? starts;
}

/**
 * Jobs that come in a second: as in the last minute, unless the last 20 s are beyond what chance makes of that (twice the deviation of so many
 * independent arrivals); and where a minute is too short to tell, as in the last ten.
 */
function rateOf(traffic: TrafficSample | undefined): number {
  const { arrivalsPerSecondNow = 0, arrivalsPerSecond = 0, arrivalsPerSecondLong = 0 } = traffic ?? {};
  if (arrivalsPerSecondLong < TOLD_PER_SECOND_MIN) return Math.max(arrivalsPerSecond, arrivalsPerSecondLong);
  const seen = arrivalsPerSecondNow * NOW_SECONDS;
  const least = (seen - 2 * Math.sqrt(seen)) / NOW_SECONDS;
  const most = (seen + 2 * Math.sqrt(seen) + 3) / NOW_SECONDS;
  return Math.min(Math.max(arrivalsPerSecond, least), most);
}

/** Workers more, so that what waits is started in time: by the target, or, where most new workers could not make that, soon after they are there. */
function missingFor({ queued, oldestWaitMs, workers }: ScaleSample, settings: ScaleSettings, present: readonly WorkerSample[], facts: Facts): number {
  if (queued === 0) return 0;
  const { targetMs, executionMs, slots, rate } = facts;
  const leftMs = targetMs - oldestWaitMs;
  const { allMs } = nextStarts(facts, 0);
  const usualMs = allMs[Math.floor(allMs.length / 2)]!;
  const horizonMs = leftMs > usualMs ? leftMs : usualMs + Math.max(executionMs, targetMs / 2);
  const asleep = workers.filter(({ desired, state, reachable }) => desired === 'FREEZE' && state !== 'UNHEALTHY' && reachable).length;
  const begun = present.reduce((sum, worker) => sum + beginsBy(horizonMs, worker, facts), 0);
  // Those that come later must be started later; those whose time ends before the horizon are to be started too.
  const wanted = Math.max(Math.ceil(queued * SHARE), 1) + rate * Math.max(horizonMs - targetMs, 0);
  const woken = beginsOf(horizonMs, WAKE_MS, executionMs) * slots;
  const known = new Map<Starts, number>();
  const started = (starts: Starts): number => known.get(starts) ?? known.set(starts, beginsOfStart(horizonMs, 0, starts, facts)).get(starts)!;
  let lacking = wanted - begun;
  let more = 0;
  const most = Math.max(settings.workersMax - present.length, 0) + 1;
  while (lacking > 0.05 && more < most) {
    lacking -= more < asleep ? woken : started(nextStarts(facts, more - asleep));
    more += 1;
  }
  return more;
}

/** Executions that a worker begins until then. */
function beginsBy(untilMs: number, { id, state, held, ageMs }: WorkerSample, facts: Facts): number {
  const { executionMs, slots, types } = facts;
  if (state !== 'READY') {
    const { starts } = types.find(({ workers }) => workers.has(id)) ?? facts;
    return beginsOfStart(untilMs, state === 'INITIALIZING' ? ageMs : 0, starts, facts);
  }
  const busy = Math.min(held, slots);
  return beginsOf(untilMs, 0, executionMs) * (slots - busy) + beginsOf(untilMs, executionMs / 2, executionMs) * busy;
}

/** The same of one that has been starting for so long: as long as those of the starts that took longer, on average. */
function beginsOfStart(untilMs: number, ageMs: number, { allMs, mostMs }: Starts, { executionMs, slots }: Facts): number {
  const longer = allMs.filter((ms) => ms > ageMs);
  const left = longer.length > 0 ? longer.map((ms) => Math.max(ms - ageMs, ms * LATE_SHARE)) : [mostMs * LATE_SHARE];
  return (left.reduce((sum, ms) => sum + beginsOf(untilMs, ms, executionMs), 0) / left.length) * slots;
}

/** Executions that a slot begins until then when it is free at `freeMs`, on average: the first one, and one after each that ends. */
function beginsOf(untilMs: number, freeMs: number, executionMs: number): number {
  return untilMs < freeMs ? 0 : 1 + (untilMs - freeMs) / executionMs;
}

/** Workers that stay for jobs that will come: as many as let them wait no longer than the target without a start in between. */
function keptFor(facts: Facts, present: readonly WorkerSample[], { workersMax }: ScaleSettings): number {
  const { rate, hourRate, executionMs, targetMs, slots } = facts;
  const load = rate * executionMs;
  const startMs = startsBeside(facts, Math.floor(load / slots)).mostMs;
  // A job that finds no worker waits for a start, and that is soon enough: none is started before, and only those that are always at work stay.
  if (startMs <= targetMs) return Math.min(Math.floor(load / slots), present.length);
  if (rate * 1_000 < KEPT_PER_SECOND_MIN) return isPause(hourRate, present) ? 1 : 0;
  // Jobs of days may come by the thousand: counting up to what nobody may have would keep core from all else.
  if (load >= workersMax * slots) return Math.min(Math.floor(load / slots) + 1, WISHED_MAX);
  return Math.ceil(slotsFor(load, targetMs / executionMs) / slots);
}

/** None came for a while, and that is no longer than jobs of this endpoint pause now and then: its last worker need not go. */
function isPause(hourRate: number, present: readonly WorkerSample[]): boolean {
  if (hourRate * 1_000 < KEPT_PER_SECOND_MIN) return false;
  return present.some(({ idleMs }) => idleMs < Math.min(KEPT_PAUSES / hourRate, KEPT_IDLE_MS_MAX));
}

/** Fewest slots with which 95 of 100 jobs wait no longer than so many executions (Erlang's delay formula; real queues are mostly shorter). */
function slotsFor(load: number, waitExecutions: number): number {
  if (load <= 0) return 0;
  // Of so many the share that is lost to chance is small: twice the deviation is more than enough.
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
  // The starts that the answer hangs on: of those that what waits asks for, or of one beside those that jobs keep at work.
  const { mostMs, gpu } = queued > 0 ? nextStarts(facts, 0) : startsBeside(facts, Math.floor((rate * executionMs) / slots));
  // Whatever a machine calls its GPU: parentheses end the numbers.
  const where = gpu === '' ? '' : ` on ${gpu.replace(/[()]/g, '')}`;
  const seconds = (ms: number): string => `${Number((ms / 1_000).toPrecision(2))} s`;
  const work = `${Number((rate * 60_000).toPrecision(2))} jobs a minute of ${seconds(executionMs)}, a start${where} takes ${seconds(mostMs)}`;
  return ` (${queued} wait, the first for ${seconds(oldestWaitMs)}, ${running} run; ${work}${measured ? '' : ', not all of it measured yet'}`
    + `${slots === 1 ? '' : `; ${slots} jobs a worker`})`;
}

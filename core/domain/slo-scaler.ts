/**
 * The SLO scaler: as few workers as let 95 of 100 jobs wait no longer than scalerValue seconds, from what was measured of this endpoint: how many jobs
 * come, how long they run, how long a start takes. Two questions, the larger answer counts: how many workers start what waits in time, and how many
 * stay because of the jobs that will come. Pure; the same sample gives the same answer.
 */
import type { Scaler, ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';
import { TRAFFIC_WINDOWS_MS } from './traffic.ts';
import type { TrafficSample } from './traffic.ts';

/** Share of the jobs that the target holds for. */
const SHARE = 0.95;
/** What counts until the first was measured, in milliseconds. */
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

/** What is reckoned with; times in milliseconds. */
interface Facts {
  targetMs: number;
  executionMs: number;
  /** What nine of ten starts do not exceed: it is too late for whoever would have to wait for one. */
  startMs: number;
  /** Starts as they were measured, the shortest first: of one that is begun now each is as likely. */
  startsMs: readonly number[];
  slots: number;
  /** Jobs that come in a millisecond. */
  rate: number;
  /** The same over the last hour. */
  hourRate: number;
  measured: boolean;
}

/** See above. Its reason ends with the numbers in parentheses; those are no news when they change. */
export const sloScaler: Scaler = (sample, settings) => {
  const facts = factsOf(sample, settings);
  const present = sample.workers.filter((worker) => worker.desired === 'RUN' && worker.version === settings.version);
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

function factsOf({ traffic }: ScaleSample, { scalerValue }: ScaleSettings): Facts {
  const startMs = traffic?.startMs || ASSUMED_START_MS;
  return {
    targetMs: scalerValue * 1_000, executionMs: Math.max(traffic?.executionMs || ASSUMED_EXECUTION_MS, 1), startMs, startsMs: traffic?.startsMs ?? [startMs],
    slots: Math.max(traffic?.slots ?? 1, 1), rate: rateOf(traffic) / 1_000,
    hourRate: (traffic?.arrivalsPerSecondHour ?? 0) / 1_000,
    measured: (traffic?.executionMs ?? 0) > 0 && (traffic?.startMs ?? 0) > 0,
  };
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
  const { targetMs, executionMs, startsMs, slots, rate } = facts;
  const leftMs = targetMs - oldestWaitMs;
  const usualMs = startsMs[Math.floor(startsMs.length / 2)]!;
  const horizonMs = leftMs > usualMs ? leftMs : usualMs + Math.max(executionMs, targetMs / 2);
  const asleep = workers.filter(({ desired, state, reachable }) => desired === 'FREEZE' && state !== 'UNHEALTHY' && reachable).length;
  const begun = present.reduce((sum, worker) => sum + beginsBy(horizonMs, worker, facts), 0);
  // Those that come later must be started later; those whose time ends before the horizon are to be started too.
  const wanted = Math.max(Math.ceil(queued * SHARE), 1) + rate * Math.max(horizonMs - targetMs, 0);
  const [woken, started] = [beginsOf(horizonMs, WAKE_MS, executionMs) * slots, beginsOfStart(horizonMs, 0, facts)];
  let lacking = wanted - begun;
  let more = 0;
  const most = Math.max(settings.workersMax - present.length, 0) + 1;
  while (lacking > 0.05 && more < most) {
    lacking -= more < asleep ? woken : started;
    more += 1;
  }
  return more;
}

/** Executions that a worker begins until then. */
function beginsBy(untilMs: number, { state, held, ageMs }: WorkerSample, facts: Facts): number {
  const { executionMs, slots } = facts;
  if (state !== 'READY') return beginsOfStart(untilMs, state === 'INITIALIZING' ? ageMs : 0, facts);
  const busy = Math.min(held, slots);
  return beginsOf(untilMs, 0, executionMs) * (slots - busy) + beginsOf(untilMs, executionMs / 2, executionMs) * busy;
}

/** The same of one that has been starting for so long: as long as those of the starts that took longer, on average. */
function beginsOfStart(untilMs: number, ageMs: number, { startsMs, startMs, executionMs, slots }: Facts): number {
  const longer = startsMs.filter((ms) => ms > ageMs);
  const left = longer.length > 0 ? longer.map((ms) => Math.max(ms - ageMs, ms * LATE_SHARE)) : [startMs * LATE_SHARE];
  return (left.reduce((sum, ms) => sum + beginsOf(untilMs, ms, executionMs), 0) / left.length) * slots;
}

/** Executions that a slot begins until then when it is free at `freeMs`, on average: the first one, and one after each that ends. */
function beginsOf(untilMs: number, freeMs: number, executionMs: number): number {
  return untilMs < freeMs ? 0 : 1 + (untilMs - freeMs) / executionMs;
}

/** Workers that stay for jobs that will come: as many as let them wait no longer than the target without a start in between. */
function keptFor(
  { rate, hourRate, executionMs, startMs, targetMs, slots }: Facts, present: readonly WorkerSample[], { workersMax }: ScaleSettings,
): number {
  const load = rate * executionMs;
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

function numbersText({ queued, oldestWaitMs, running }: ScaleSample, { rate, executionMs, startMs, slots, measured }: Facts): string {
  const seconds = (ms: number): string => `${Number((ms / 1_000).toPrecision(2))} s`;
  const work = `${Number((rate * 60_000).toPrecision(2))} jobs a minute of ${seconds(executionMs)}, a start takes ${seconds(startMs)}`;
  return ` (${queued} wait, the first for ${seconds(oldestWaitMs)}, ${running} run; ${work}${measured ? '' : ', not all of it measured yet'}`
    + `${slots === 1 ? '' : `; ${slots} jobs a worker`})`;
}

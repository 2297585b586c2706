/**
 * A model of one queue-based endpoint: jobs arrive, wait for a slot and run; a scaler evaluates once a second and when
 * a first job arrives; workers need time to start. The scaler and the resulting changes are the real code. Machines,
 * failures and the network are not modelled. Pure. Runs in steps, as hours of a busy endpoint take a while.
 */

import type { DomainError } from '../../settings/errors.ts';
import { invalid } from '../../settings/fields.ts';
import { chosenScaler } from '../scale-target.ts';
import type { Scaler, ScaleSample, ScaleSettings } from '../scaler.ts';
import type { TrafficSample, TrafficSpan } from '../traffic.ts';
import { STARTS_SEEN_MAX, sumTraffic, TRAFFIC_SPAN_MS, TRAFFIC_SPANS_SEEN_MAX, trafficSample } from '../traffic.ts';
import type { WorkerChanges } from '../worker-reconcile.ts';
import { reconcileWorkers } from '../worker-reconcile.ts';
import type { ModelWorker } from './model-worker.ts';
import { eventOf, workerSampleAt } from './model-worker.ts';

/** A job of the model. */
export interface ModelJob {
  atMs: number;
  executionMs: number;
}

/** Input of the model. */
interface ModelOptions {
  /** In order of arrival. */
  jobs: readonly ModelJob[];
  settingsAt(ms: number): ScaleSettings;
  /** Jobs that a worker holds at once. */
  slots: number;
  /** Returns the start time of the n-th worker, in milliseconds. */
  startMs(n: number): number;
  /** Milliseconds to resume a standby worker. */
  resumeMs: number;
  /** Maximum number of workers that can be placed. */
  slotsMax: number;
  /** Period of the model. It begins without workers; what is unfinished at the end is cut off. */
  fromMs: number;
  untilMs: number;
  /** Default: the one of the settings. */
  scaler?: Scaler;
}

/**
 * Maximum number of worker evaluations, some tenths of a microsecond each. 40 workers over 12 hours with 50,000 jobs
 * take 6 million. Without a limit, many workers would occupy core's CPU for minutes.
 */
const STEPS_MAX = 20_000_000;

/** Output of the model. */
export interface ModelResult {
  /** Wait of each job in order, in milliseconds. Jobs that never ran wait until the end. */
  waitsMs: number[];
  /** Periods in which a worker held its GPUs. */
  spans: { fromMs: number; untilMs: number }[];
  /** Number of started workers, without resumed ones. */
  starts: number;
}

const TICK_MS = 1_000;
/** Maximum number of waiting jobs that is counted, as in the stores. */
const QUEUED_MAX = 10_000;

/**
 * Runs the model. Yields about once per tick, so that the caller can pause or stop it. Throws INVALID_REQUEST if there
 * are too many workers for the period.
 */
export function* runModel(options: ModelOptions): Generator<undefined, ModelResult, undefined> {
  const model = new Model(options);
  for (let steps = 0; model.step(); steps += model.workers) {
    if (steps > STEPS_MAX) throw tooMuch(options, model.workers);
    yield;
  }
  return model.result();
}

function tooMuch({ fromMs, untilMs }: ModelOptions, workers: number): DomainError {
  const hours = Math.ceil((untilMs - fromMs) / 3_600_000);
  return invalid(
    `${workers} workers over ${hours} h are too many to model: ask for fewer hours, or for less in ` +
      'workersMin or workersMax',
  );
}

class Model {
  readonly #options: ModelOptions;
  readonly #waitsMs: number[] = [];
  readonly #spans: ModelResult['spans'] = [];
  #begunStarts: { readyMs: number; startMs: number }[] = [];
  #workers: ModelWorker[] = [];
  #traffic: TrafficSpan[] = [];
  #span = { arrived: 0, executed: 0, executionMs: 0 };
  #spanEndMs: number;
  #now: number;
  #tickMs: number;
  #arrived = 0;
  #begun = 0;
  #starts = 0;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#now = options.fromMs;
    this.#tickMs = options.fromMs;
    this.#spanEndMs = options.fromMs + TRAFFIC_SPAN_MS;
  }

  /** Advances to the next event. Returns `false` at the end. */
  step(): boolean {
    const { jobs, untilMs } = this.#options;
    const idle = this.#workers.length === 0 && this.#begun === this.#arrived && this.#minimum() === 0;
    let next = Math.min(jobs[this.#arrived]?.atMs ?? Infinity, idle ? Infinity : this.#tickMs);
    for (const worker of this.#workers) next = Math.min(next, eventOf(worker, this.#now));
    if (next >= untilMs) return false;
    // Skips ticks without a change.
    if (next > this.#tickMs) this.#tickMs = next;
    this.#now = next;
    this.#measure();
    this.#end();
    const first = this.#arrive();
    this.#begin();
    if (next >= this.#tickMs || first) {
      this.#scale();
      this.#begin();
      if (next >= this.#tickMs) this.#tickMs = next + TICK_MS;
    }
    return true;
  }

  /** Number of present workers. */
  get workers(): number {
    return this.#workers.length;
  }

  result(): ModelResult {
    const { jobs, untilMs } = this.#options;
    for (let index = this.#begun; index < jobs.length; index += 1)
      this.#waitsMs.push(Math.max(untilMs - jobs[index]!.atMs, 0));
    for (const worker of this.#workers) this.#release(worker, untilMs);
    return { waitsMs: this.#waitsMs, spans: this.#spans, starts: this.#starts };
  }

  #minimum(): number {
    return this.#options.settingsAt(this.#now).workersMin;
  }

  /** Closes spans of traffic that have ended. */
  #measure(): void {
    while (this.#now >= this.#spanEndMs) {
      const { arrived, executed } = this.#span;
      if (arrived + executed > 0)
        this.#traffic.push({
          ...this.#span,
          endMs: this.#spanEndMs,
          spanMs: TRAFFIC_SPAN_MS,
          executions: [],
          waits: [],
        });
      if (this.#traffic.length > TRAFFIC_SPANS_SEEN_MAX) this.#traffic.shift();
      this.#span = { arrived: 0, executed: 0, executionMs: 0 };
      this.#spanEndMs += TRAFFIC_SPAN_MS;
    }
  }

  #end(): void {
    for (const worker of this.#workers) {
      const ended = worker.held.filter(({ endMs }) => endMs <= this.#now);
      if (ended.length === 0) continue;
      worker.held = worker.held.filter(({ endMs }) => endMs > this.#now);
      worker.idleSinceMs = this.#now;
      this.#span.executed += ended.length;
      for (const { executionMs } of ended) this.#span.executionMs += executionMs;
    }
    const gone = this.#workers.filter(({ desired, held }) => desired === 'DRAIN' && held.length === 0);
    for (const worker of gone) this.#release(worker, this.#now);
    if (gone.length === 0) return;
    const ended = new Set(gone);
    this.#workers = this.#workers.filter((worker) => !ended.has(worker));
  }

  /** Returns whether a job arrived while there was no worker. The scaler then evaluates at once. */
  #arrive(): boolean {
    const before = this.#arrived;
    while ((this.#options.jobs[this.#arrived]?.atMs ?? Infinity) <= this.#now) this.#arrived += 1;
    this.#span.arrived += this.#arrived - before;
    return this.#arrived > before && !this.#workers.some(({ desired }) => desired === 'RUN');
  }

  /** Assigns waiting jobs to free slots, in order. */
  #begin(): void {
    for (const worker of this.#workers) {
      while (
        this.#begun < this.#arrived &&
        worker.desired === 'RUN' &&
        worker.readyMs <= this.#now &&
        worker.held.length < this.#options.slots
      ) {
        const { atMs, executionMs } = this.#options.jobs[this.#begun]!;
        worker.held.push({ endMs: this.#now + executionMs, executionMs });
        this.#waitsMs.push(this.#now - atMs);
        this.#begun += 1;
      }
    }
  }

  #scale(): void {
    const settings = this.#options.settingsAt(this.#now);
    const sample = this.#sample(settings);
    this.#apply(reconcileWorkers(sample, settings, (this.#options.scaler ?? chosenScaler)(sample, settings)));
  }

  #sample(settings: ScaleSettings): ScaleSample {
    const waiting = this.#begun < this.#arrived ? this.#options.jobs[this.#begun] : undefined;
    const running = this.#workers.reduce((sum, { held }) => sum + held.length, 0);
    const traffic = settings.scalerType === 'SLO' ? { traffic: this.#trafficSample() } : {};
    return {
      queued: Math.min(this.#arrived - this.#begun, QUEUED_MAX),
      oldestWaitMs: waiting ? this.#now - waiting.atMs : 0,
      running,
      ...traffic,
      workers: this.#workers.map((worker) => workerSampleAt(worker, settings, this.#now)),
    };
  }

  #trafficSample(): TrafficSample {
    const seen = this.#begunStarts.filter(({ readyMs }) => readyMs <= this.#now).slice(-STARTS_SEEN_MAX);
    this.#begunStarts = [...seen, ...this.#begunStarts.filter(({ readyMs }) => readyMs > this.#now)];
    return trafficSample(
      sumTraffic(this.#traffic, this.#now),
      seen.map(({ startMs }) => startMs),
      this.#options.slots,
    );
  }

  #apply({ add, resume, freeze, drain }: WorkerChanges): void {
    const byId = new Map(
      [...resume, ...freeze, ...drain].length === 0 ? [] : this.#workers.map((worker) => [worker.id, worker]),
    );
    for (const id of resume) this.#become(byId.get(id)!, 'RUN');
    for (const id of freeze) this.#become(byId.get(id)!, 'FREEZE');
    for (const id of drain) this.#become(byId.get(id)!, 'DRAIN');
    const present = this.#workers.filter(({ desired }) => desired !== 'FREEZE').length;
    for (let n = Math.min(add.length, this.#options.slotsMax - present); n > 0; n -= 1) this.#start();
    this.#end();
  }

  #start(): void {
    const startMs = this.#options.startMs(this.#starts);
    this.#starts += 1;
    this.#begunStarts.push({ readyMs: this.#now + startMs, startMs });
    this.#workers.push({
      id: `w${this.#starts}`,
      desired: 'RUN',
      sinceMs: this.#now,
      desiredAtMs: this.#now,
      readyMs: this.#now + startMs,
      held: [],
      idleSinceMs: this.#now,
    });
  }

  #become(worker: ModelWorker, desired: ModelWorker['desired']): void {
    if (desired === 'FREEZE') this.#release(worker, this.#now);
    if (desired === 'RUN') {
      worker.sinceMs = this.#now;
      worker.readyMs = this.#now + this.#options.resumeMs;
    }
    worker.desired = desired;
    worker.desiredAtMs = this.#now;
  }

  /** Frees the worker's GPUs. */
  #release(worker: ModelWorker, atMs: number): void {
    if (atMs > worker.sinceMs) this.#spans.push({ fromMs: worker.sinceMs, untilMs: atMs });
    worker.sinceMs = Infinity;
  }
}

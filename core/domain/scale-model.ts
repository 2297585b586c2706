/**
 * A model of one queue-based endpoint: jobs come, wait for a slot, run; a scaler looks once a second and when a first job comes; workers take their
 * time to start. The scaler and what follows from it are the real ones; machines, failures and the network are not in it. Pure, and in steps, because
 * hours of a busy endpoint take a while.
 */
import { chosenScaler } from './chosen-scaler.ts';
import type { DomainError } from './errors.ts';
import { invalid } from './fields.ts';
import type { Scaler, ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';
import { STARTS_SEEN_MAX, TRAFFIC_SPAN_MS, TRAFFIC_SPANS_SEEN_MAX, sumTraffic, trafficSample } from './traffic.ts';
import type { TrafficSample, TrafficSpan } from './traffic.ts';
import { reconcileWorkers } from './worker-reconcile.ts';
import type { WorkerChanges } from './worker-reconcile.ts';

/** A job of the model. */
export interface ModelJob {
  atMs: number;
  executionMs: number;
}

/** What is modelled. */
export interface ModelOptions {
  /** In the order in which they come. */
  jobs: readonly ModelJob[];
  settingsAt(ms: number): ScaleSettings;
  /** Jobs that a worker holds at once. */
  slots: number;
  /** How long the n-th start takes. */
  startMs(n: number): number;
  /** How long waking a frozen worker takes. */
  wakeMs: number;
  /** Most workers that find a place. */
  placesMax: number;
  /** No worker is there before, and what is there at the end is cut off there. */
  fromMs: number;
  untilMs: number;
  /** Default: the one of the settings. */
  scaler?: Scaler;
}

/**
 * Looks at one worker that a model may take, each some tenths of a microsecond: 40 workers over twelve hours with 50,000 jobs take six million. Workers without
 * number would take core's processor for minutes.
 */
const LOOKS_MAX = 20_000_000;

/** What came of it. */
export interface ModelResult {
  /** Of each job, in order; of one that never ran until the end. */
  waitsMs: number[];
  /** Times in which a worker held its GPUs. */
  spans: { fromMs: number; untilMs: number }[];
  /** Workers that were started, frozen ones that were woken not among them. */
  starts: number;
}

const TICK_MS = 1_000;
/** Waiting jobs are counted no further; the stores count as far. */
const QUEUED_MAX = 10_000;

interface ModelWorker {
  id: string;
  desired: 'RUN' | 'FREEZE' | 'DRAIN';
  sinceMs: number;
  desiredAtMs: number;
  readyMs: number;
  /** When each job that it holds ends, and the index of its execution. */
  held: { endMs: number; executionMs: number }[];
  idleSinceMs: number;
}

/** Runs the model. Stops at every `yield`, about every tick, to be asked whether it may go on. INVALID_REQUEST: too many workers for so long. */
export function* runModel(options: ModelOptions): Generator<undefined, ModelResult, undefined> {
  const model = new Model(options);
  for (let looks = 0; model.step(); looks += model.workers) {
    if (looks > LOOKS_MAX) throw tooMuch(options, model.workers);
    yield;
  }
  return model.result();
}

function tooMuch({ fromMs, untilMs }: ModelOptions, workers: number): DomainError {
  const hours = Math.ceil((untilMs - fromMs) / 3_600_000);
  return invalid(`${workers} workers over ${hours} h are too many to model: ask for fewer hours, or for less in workersMin or workersMax`);
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

  /** Goes to the next moment at which something happens. False: it was the last. */
  step(): boolean {
    const { jobs, untilMs } = this.#options;
    const idle = this.#workers.length === 0 && this.#begun === this.#arrived && this.#minimum() === 0;
    let next = Math.min(jobs[this.#arrived]?.atMs ?? Infinity, idle ? Infinity : this.#tickMs);
    for (const worker of this.#workers) next = Math.min(next, eventOf(worker, this.#now));
    if (next >= untilMs) return false;
    // A tick that nobody needed was left out.
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

  /** How many there are now. */
  get workers(): number {
    return this.#workers.length;
  }

  result(): ModelResult {
    const { jobs, untilMs } = this.#options;
    for (let index = this.#begun; index < jobs.length; index += 1) this.#waitsMs.push(Math.max(untilMs - jobs[index]!.atMs, 0));
    for (const worker of this.#workers) this.#release(worker, untilMs);
    return { waitsMs: this.#waitsMs, spans: this.#spans, starts: this.#starts };
  }

  #minimum(): number {
    return this.#options.settingsAt(this.#now).workersMin;
  }

  /** Closes the spans of traffic that have ended. */
  #measure(): void {
    while (this.#now >= this.#spanEndMs) {
      const { arrived, executed } = this.#span;
      if (arrived + executed > 0) this.#traffic.push({ ...this.#span, endMs: this.#spanEndMs, spanMs: TRAFFIC_SPAN_MS, executions: [], waits: [] });
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

  /** True: a job came and there was no worker, so that the scaler looks at once. */
  #arrive(): boolean {
    const before = this.#arrived;
    while ((this.#options.jobs[this.#arrived]?.atMs ?? Infinity) <= this.#now) this.#arrived += 1;
    this.#span.arrived += this.#arrived - before;
    return this.#arrived > before && !this.#workers.some(({ desired }) => desired === 'RUN');
  }

  /** Gives waiting jobs to free slots, in order. */
  #begin(): void {
    for (const worker of this.#workers) {
      while (this.#begun < this.#arrived && worker.desired === 'RUN' && worker.readyMs <= this.#now && worker.held.length < this.#options.slots) {
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
      queued: Math.min(this.#arrived - this.#begun, QUEUED_MAX), oldestWaitMs: waiting ? this.#now - waiting.atMs : 0, running, ...traffic,
      workers: this.#workers.map((worker) => this.#workerSample(worker, settings)),
    };
  }

  #trafficSample(): TrafficSample {
    const seen = this.#begunStarts.filter(({ readyMs }) => readyMs <= this.#now).slice(-STARTS_SEEN_MAX);
    this.#begunStarts = [...seen, ...this.#begunStarts.filter(({ readyMs }) => readyMs > this.#now)];
    return trafficSample(sumTraffic(this.#traffic, this.#now), seen.map(({ startMs }) => startMs), this.#options.slots);
  }

  #workerSample({ id, desired, readyMs, held, idleSinceMs, desiredAtMs }: ModelWorker, { version }: ScaleSettings): WorkerSample {
    const up = readyMs <= this.#now;
    const state = desired === 'FREEZE' ? 'FROZEN' : desired === 'DRAIN' ? 'DRAINING' : up ? 'READY' : 'INITIALIZING';
    return {
      id, desired, state, version, machineId: '', gpus: 1, reachable: true, failures: 0, retryDue: false, held: held.length,
      idleMs: up && held.length === 0 ? this.#now - Math.max(idleSinceMs, readyMs) : 0, ageMs: this.#now - desiredAtMs,
    };
  }

  #apply({ add, wake, freeze, drain }: WorkerChanges): void {
    const byId = new Map([...wake, ...freeze, ...drain].length === 0 ? [] : this.#workers.map((worker) => [worker.id, worker]));
    for (const id of wake) this.#become(byId.get(id)!, 'RUN');
    for (const id of freeze) this.#become(byId.get(id)!, 'FREEZE');
    for (const id of drain) this.#become(byId.get(id)!, 'DRAIN');
    const present = this.#workers.filter(({ desired }) => desired !== 'FREEZE').length;
    for (let n = Math.min(add.length, this.#options.placesMax - present); n > 0; n -= 1) this.#start();
    this.#end();
  }

  #start(): void {
    const startMs = this.#options.startMs(this.#starts);
    this.#starts += 1;
    this.#begunStarts.push({ readyMs: this.#now + startMs, startMs });
    this.#workers.push({
      id: `w${this.#starts}`, desired: 'RUN', sinceMs: this.#now, desiredAtMs: this.#now, readyMs: this.#now + startMs, held: [], idleSinceMs: this.#now,
    });
  }

  #become(worker: ModelWorker, desired: ModelWorker['desired']): void {
    if (desired === 'FREEZE') this.#release(worker, this.#now);
    if (desired === 'RUN') {
      worker.sinceMs = this.#now;
      worker.readyMs = this.#now + this.#options.wakeMs;
    }
    worker.desired = desired;
    worker.desiredAtMs = this.#now;
  }

  /** Its GPUs are free from now on. */
  #release(worker: ModelWorker, atMs: number): void {
    if (atMs > worker.sinceMs) this.#spans.push({ fromMs: worker.sinceMs, untilMs: atMs });
    worker.sinceMs = Infinity;
  }
}

/** When something happens at a worker next. */
function eventOf({ desired, readyMs, held }: ModelWorker, nowMs: number): number {
  return Math.min(desired === 'RUN' && readyMs > nowMs ? readyMs : Infinity, ...held.map(({ endMs }) => endMs));
}

/** How workers of one simulated machine start, as at an agent: with their image there and their GPUs free, a few at a time, and for no longer than they may. */
import { systemClock } from '../../core/runtime/clock.ts';
import type { Timer } from '../../core/runtime/clock.ts';
import { StartGate } from '../../gpu-agent/units/start-gate.ts';
import type { FleetImages } from './fleet-images.ts';
import type { FleetMachineOptions, FleetWorker } from './fleet-worker.ts';
import { draw } from './lengths.ts';

/** Of a machine with four processors. */
const PLACES = 8;
/** Of the starts that fail so many never come to ask for work: a model that hangs while it is loaded. */
const HANGING_SHARE = 0.05;

/** What a worker that starts waits for. */
export interface FleetStart {
  imageName: string;
  /** Settled when nobody has its GPUs any more. */
  free: Promise<unknown>;
  initTimeoutSeconds: number;
}

/** What it needs of its machine. */
export interface FleetStartsParts {
  options: FleetMachineOptions;
  images: FleetImages;
  after(ms: number, what: () => void): Timer;
}

export class FleetStarts {
  readonly #parts: FleetStartsParts;
  readonly #gate: StartGate;

  constructor(parts: FleetStartsParts) {
    this.#parts = parts;
    const { speed } = parts.options.lengths;
    this.#gate = new StartGate(PLACES, { after: (ms, fn) => systemClock.after(ms / speed, fn) });
  }

  /** Starts one; `done` is told why it crashed, or that it asks for work. Nothing is told of one that is over before. */
  begin(worker: FleetWorker, { imageName, free, initTimeoutSeconds }: FleetStart, done: (crash?: string) => void): void {
    const ending = new AbortController();
    void worker.over.promise.then(() => { ending.abort(); this.#gate.leave(worker.id); });
    this.#parts.images.with(imageName, () => void free.then(() => this.#gate.enter(worker.id, true, ending.signal)).then(() => {
      if (!ending.signal.aborted) this.#run(initTimeoutSeconds, (crash) => { this.#gate.leave(worker.id); done(crash); });
    }));
  }

  #run(initTimeoutSeconds: number, done: (crash?: string) => void): void {
    const { options: { lengths, random, slowness, crashShare }, after } = this.#parts;
    const fails = random.fraction() < crashShare;
    const ms = fails && random.fraction() < HANGING_SHARE ? Infinity : draw(lengths.startMs, random) * slowness;
    const mostMs = (initTimeoutSeconds * 1_000) / lengths.speed;
    const crash = fails ? 'exit code 3: out of memory' : undefined;
    after(Math.min(ms, mostMs), () => done(ms > mostMs ? `The worker did not ask for work within ${initTimeoutSeconds} s.` : crash));
  }
}

/**
 * Starts of workers on a simulated machine, like an agent's: image present and GPUs free, a few at a time, with a time
 * limit.
 */

import { StartGate } from '@slipway/gpu-agent/workloads/start-gate';
import type { Timer } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import type { FleetImages } from './fleet-images.ts';
import type { FleetMachineOptions, FleetWorker } from './fleet-worker.ts';
import { draw } from './lengths.ts';

/** As on a machine with four CPUs. */
const PLACES = 8;
/** Share of failing starts that hang while a model loads. */
const HANGING_SHARE = 0.05;

/** A start of a worker, with what it waits for. */
export interface FleetStart {
  imageName: string;
  /** Settled when its GPUs are free. */
  free: Promise<unknown>;
  initTimeoutSeconds: number;
}

/** Dependencies on its machine. */
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

  /**
   * Starts a worker. `done` receives the reason of a crash, or nothing if it asks for work. Not called for a worker
   * that ended before.
   */
  begin(
    worker: FleetWorker,
    { imageName, free, initTimeoutSeconds }: FleetStart,
    done: (crash?: string) => void,
  ): void {
    const ending = new AbortController();
    void worker.over.promise.then(() => {
      ending.abort();
      this.#gate.leave(worker.id);
    });
    this.#parts.images.with(
      imageName,
      () =>
        void free
          .then(() => this.#gate.enter(worker.id, true, ending.signal))
          .then(() => {
            if (!ending.signal.aborted)
              this.#run(initTimeoutSeconds, (crash) => {
                this.#gate.leave(worker.id);
                done(crash);
              });
          }),
    );
  }

  #run(initTimeoutSeconds: number, done: (crash?: string) => void): void {
    const {
      options: { lengths, random, slowness, crashShare },
      after,
    } = this.#parts;
    const fails = random.fraction() < crashShare;
    const ms = fails && random.fraction() < HANGING_SHARE ? Infinity : draw(lengths.startMs, random) * slowness;
    const mostMs = (initTimeoutSeconds * 1_000) / lengths.speed;
    const crash = fails ? 'exit code 3: out of memory' : undefined;
    after(Math.min(ms, mostMs), () =>
      done(ms > mostMs ? `The worker did not ask for work within ${initTimeoutSeconds} s.` : crash),
    );
  }
}

/**
 * Detects idle processors of this machine. If there are any, more test files may run beside the files that wait for
 * something.
 */
import { cpus } from 'node:os';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';

/** Total of all processors since the machine started, in milliseconds. */
interface ProcessorTimes {
  idleMs: number;
  allMs: number;
}

/**
 * Period over which processors are watched, in milliseconds. Within it, a file that was just started shows how much it
 * needs.
 */
const PERIOD_MS = 3_000;
/** Least idle share of all processors. On a busy machine no file is added. */
const IDLE_MIN = 0.2;

/** Returns the times of this machine, whatever keeps it busy. */
function processorTimes(): ProcessorTimes {
  const all = cpus().map(({ times }) => times);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return { idleMs: sum(all.map(({ idle }) => idle)), allMs: sum(all.flatMap((times) => Object.values(times))) };
}

/** Admits one caller after the other. */
export class SpareProcessors {
  readonly #clock: Clock;
  readonly #read: () => ProcessorTimes;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock, read = processorTimes) {
    this.#clock = clock;
    this.#read = read;
  }

  /**
   * Resolves when processors have idled for a period that began after all earlier callers were admitted, or as soon as
   * the caller no longer wants to. `admitted`: the result of the caller's last call. If processors have idled since
   * then, it is admitted at once: its next file takes the place of the last one. Returns the times at the admission.
   */
  async free(isWanted: () => boolean, admitted?: ProcessorTimes): Promise<ProcessorTimes> {
    if (admitted && idleShare(admitted, this.#read()) >= IDLE_MIN) return this.#read();
    const freed = this.#turn.then(async () => {
      while (isWanted() && (await this.#nextShare()) < IDLE_MIN);
    });
    this.#turn = freed;
    await freed;
    return this.#read();
  }

  async #nextShare(): Promise<number> {
    const before = this.#read();
    await delay(this.#clock, PERIOD_MS);
    return idleShare(before, this.#read());
  }
}

/** Returns the idle share of all processors between two readings. 0 if there is no time between them. */
function idleShare(before: ProcessorTimes, { idleMs, allMs }: ProcessorTimes): number {
  return allMs > before.allMs ? (idleMs - before.idleMs) / (allMs - before.allMs) : 0;
}

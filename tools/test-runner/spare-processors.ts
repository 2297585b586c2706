/**
 * Detects idle processors of this machine. If there are any, one more test file may run beside the files that wait for
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
const IDLE_MIN = 0.3;

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
   * Resolves when processors have idled for a period that began after all earlier callers went on, or as soon as the
   * caller no longer wants to.
   */
  free(isWanted: () => boolean): Promise<void> {
    const freed = this.#turn.then(async () => {
      while (isWanted() && (await this.#idleShare()) < IDLE_MIN);
    });
    this.#turn = freed;
    return freed;
  }

  async #idleShare(): Promise<number> {
    const before = this.#read();
    await delay(this.#clock, PERIOD_MS);
    const { idleMs, allMs } = this.#read();
    return allMs > before.allMs ? (idleMs - before.idleMs) / (allMs - before.allMs) : 0;
  }
}

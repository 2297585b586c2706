/** Whether processors of this machine idle: then one more test file may run beside those that wait for something. */
import { cpus } from 'node:os';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';

/** What all processors together did since the machine started, in milliseconds. */
export interface ProcessorTimes {
  idleMs: number;
  allMs: number;
}

/** For so long processors are watched, in milliseconds: a file that was begun has shown by then what it needs. */
const PERIOD_MS = 3_000;
/** So much of all of them must idle: beside a busy machine nothing is added. */
const IDLE_MIN = 0.3;

/** Of this machine, whoever keeps it busy. */
function processorTimes(): ProcessorTimes {
  const all = cpus().map(({ times }) => times);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return { idleMs: sum(all.map(({ idle }) => idle)), allMs: sum(all.flatMap((times) => Object.values(times))) };
}

/** Lets one caller go on after the other. */
export class SpareProcessors {
  readonly #clock: Clock;
  readonly #read: () => ProcessorTimes;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock, read = processorTimes) {
    this.#clock = clock;
    this.#read = read;
  }

  /**
   * Resolves when processors idled for a period that began after everybody before had gone on; or as soon as it is no
   * longer wanted.
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

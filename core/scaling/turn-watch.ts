/**
 * Watches the transactions that take turns. Until one ends nothing is decided about its endpoints: what takes long is told of, with what it waits for, and
 * what comes to no end is given up, so that its endpoints are taken again.
 */
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Stores } from '../store/storage.ts';
import { TurnsGivenUpError } from '../store/turn-course.ts';
import type { TurnCourse, TurnWait, TurnWaiting } from '../store/turn-course.ts';

/** Turns that take longer are told of, in milliseconds: before the database refuses them the lock that they wait for. */
const LONG_MS = 15_000;
/** Turns that take longer are given up, in milliseconds. Whatever they wait for has limits of its own, which are shorter; this holds where these fail. */
const TURNS_MS_MAX = 60_000;
/** Nobody could ask. */
const UNKNOWN: TurnWaiting = { wait: 'unknown', statement: '', holders: [] };

/** Counts turns that do not end. */
export interface TurnMeter {
  /** They take long, and wait for this. */
  onLong(wait: TurnWait): void;
  onGivenUp(): void;
}

/** What it needs. */
export interface TurnWatchOptions {
  store: Pick<Stores['scales'], 'course'>;
  /** Default: nobody counts. */
  meter?: TurnMeter;
  clock: Clock;
  logger: Logger;
}

export class TurnWatch {
  readonly #options: TurnWatchOptions;

  constructor(options: TurnWatchOptions) {
    this.#options = options;
  }

  /** Takes turns together. TurnsGivenUpError: they did not end. */
  async over<Result>(endpointIds: readonly string[], take: (course: TurnCourse) => Promise<Result>): Promise<Result> {
    const { store, clock, logger, meter } = this.#options;
    const course = store.course();
    const { promise: givenUp, reject } = Promise.withResolvers<never>();
    const long = clock.after(LONG_MS, () => void this.#tell(endpointIds, course));
    const end = clock.after(TURNS_MS_MAX, () => {
      logger.warn({ endpointIds, ms: TURNS_MS_MAX }, 'turns of scaling did not end and are given up; they are taken again');
      meter?.onGivenUp();
      course.giveUp();
      reject(new TurnsGivenUpError());
    });
    try {
      return await Promise.race([take(course), givenUp]);
    } finally {
      long.cancel();
      end.cancel();
    }
  }

  /** Never fails. */
  async #tell(endpointIds: readonly string[], course: TurnCourse): Promise<void> {
    const waiting = await course.waiting().catch(() => UNKNOWN);
    this.#options.logger.warn({ endpointIds, ms: LONG_MS, ...waiting }, `turns of scaling take long: ${TEXTS[waiting.wait]}`);
    this.#options.meter?.onLong(waiting.wait);
  }
}

const TEXTS: Readonly<Record<TurnWait, string>> = {
  connection: 'they wait for a connection to the database; raise its processors, or look for what keeps all connections busy',
  lock: 'they wait for a lock in the database; end the transactions that hold it, unless they end by themselves',
  work: 'the database works on them; look whether it has enough processors and memory',
  answer: 'the database has answered, and its answer has not come; look at the network between them, and whether this process is short of processor time',
  unknown: 'the database does not say what they wait for',
};

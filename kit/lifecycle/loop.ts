/** Loop of background tasks: runs a pass when triggered, and at the latest after its period. Passes never overlap. */

import type { Logger } from '../log/logger.ts';
import { backoffMs } from '../time/backoff.ts';
import type { Clock, Random, Timer } from '../time/clock.ts';
import type { ActivityMonitor } from './activity.ts';
import { BaseService } from './service.ts';

/** A task that runs in one of several processes. */
export interface SingletonTask {
  /** True if this process owns the task. */
  readonly mine: boolean;
  /** Calls the listener when this process becomes the owner. Call the result to unsubscribe. */
  onAcquired(listener: () => void): () => void;
}

/** Options of a loop. */
export interface LoopOptions {
  /** Name in the log. */
  name: string;
  /** Longest pause between two passes in milliseconds, spread by ± 10 %. */
  periodMs: number;
  /**
   * Makes one pass. Resolves to true if there is more to do right away. A failure is logged, and tried again after a
   * growing pause.
   */
  pass(): Promise<boolean | void>;
  /** Passes only while this is this process's, and right when it becomes that. Default: it always is. */
  task?: SingletonTask;
  /** With `restMs`: the loop rests while this is quiet. Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  /**
   * Longest pause in milliseconds while nothing happens. Every mark shortens it to `periodMs` from then on, and so does
   * a failure.
   */
  restMs?: number;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Longest pause after failing passes, in milliseconds: a database that comes back is noticed within this time. */
const FAILURE_PAUSE_MAX_MS = 2_000;

export class Loop extends BaseService {
  readonly name: string;
  readonly #options: LoopOptions;
  #passing: Promise<void> = Promise.resolve();
  #woken = false;
  #failures = 0;
  #timer: Timer | undefined;
  #wakeUp: (() => void) | undefined;
  #off: () => void = () => undefined;

  constructor(options: LoopOptions) {
    super();
    this.name = options.name;
    this.#options = options;
  }

  protected override onStart(): void {
    this.#off = this.#options.task?.onAcquired(() => this.wake()) ?? this.#off;
    this.#passing = this.#run();
  }

  protected override async onStop(): Promise<void> {
    this.#off();
    this.wake();
    await this.#passing;
  }

  /** Asks for a pass soon. Many calls before the next pass count as one. */
  wake(): void {
    this.#woken = true;
    this.#markActivity();
    this.#wakeUp?.();
  }

  #markActivity(): void {
    if (this.#options.restMs !== undefined) this.#options.activity?.mark();
  }

  async #run(): Promise<void> {
    while (!this.ending.aborted) {
      this.#woken = false;
      const more = await this.#passOnce();
      if (!more && !this.ending.aborted) await this.#pause();
    }
  }

  async #passOnce(): Promise<boolean> {
    if (this.#options.task?.mine === false) return false;
    try {
      const more = await this.#options.pass();
      this.#failures = 0;
      return more === true;
    } catch (error) {
      this.#failures += 1;
      // After an outage there may be much to do: no loop rests for a while.
      this.#markActivity();
      if (!this.ending.aborted)
        this.#options.logger.warn({ err: error, loop: this.name }, 'pass failed, will try again');
      return false;
    }
  }

  #pause(): Promise<void> {
    // A woken loop runs at once, but a failing one must not spin however often it is woken.
    if (this.#woken && this.#failures === 0) return Promise.resolve();
    const { clock, random, periodMs, activity, restMs } = this.#options;
    const failing = this.#failures > 0;
    const spread = 0.9 + random.fraction() * 0.2;
    const ms = failing
      ? backoffMs(this.#failures, { firstMs: 50, maxMs: FAILURE_PAUSE_MAX_MS }, random)
      : periodMs * spread;
    const rests = !failing && restMs !== undefined && activity?.quiet === true;
    return new Promise((resolve) => {
      let off = (): void => undefined;
      const done = (): void => {
        this.#timer?.cancel();
        this.#wakeUp = undefined;
        off();
        resolve();
      };
      this.#timer = clock.after(rests ? restMs * spread : ms, done);
      // Not at once: the event's own statements come first, and the loop's guarantees count from the mark.
      if (rests)
        off = activity.onMark(() => {
          off();
          this.#timer?.cancel();
          this.#timer = clock.after(ms, done);
        });
      this.#wakeUp = () => {
        if (!failing || this.ending.aborted) done();
      };
    });
  }
}

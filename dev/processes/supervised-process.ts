/**
 * A process that must run until it is stopped: started, found ready, and started again whenever it ends by itself.
 * Every process gets a group of its own, so that a Ctrl-C of the terminal reaches only the launcher and the order of
 * stopping is the launcher's.
 */

import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import { retry } from '@slipway/kit/lifecycle/retry';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random, Timer } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { ProcessLog } from './process-log.ts';

/**
 * Pause before a process is started again: the first is at most 250 ms, so that a killed one is back within a second or
 * two.
 */
const RESTART_PAUSE = { firstMs: 250, maxMs: 5_000 };
/** Pause before its first start is tried again. */
const START_PAUSE = { firstMs: 250, maxMs: 500 };
/** A process that ran this long starts with a fresh count of failures. */
const HEALTHY_MS = 10_000;
/** After a request to stop has gone unheard this long, the process is killed. */
const STOP_MS_MAX = 8_000;

/** Between two looks at how long its log is. */
const LOG_LOOK_MS = 5_000;

/** A process did not come up; the text says which and ends with its last lines, `brief` says why in one line. */
export class ProcessError extends Error {
  readonly brief: string;

  constructor(message: string, brief = message) {
    super(message);
    this.brief = brief;
  }
}

/** Which process and how. `Ready` is what it says about itself when it is ready. */
export interface ProcessPlan<Ready> {
  /** For the user. */
  name: string;
  log: ProcessLog;
  /** Starts it with its output on the given descriptor, in a process group of its own. */
  spawn(output: number): ChildProcess | Promise<ChildProcess>;
  /** Resolves when it can be used. Must give up when the signal aborts, which happens when the process ends first. */
  whenReady(child: ChildProcess, signal: AbortSignal): Promise<Ready>;
  /** Longest time until it is ready. */
  readyMsMax: number;
  /**
   * Asked after each failure of the first start whether it is tried again; may throw an error that says more than the
   * process did. Later starts are tried for ever. Default: it is not.
   */
  triesAgain?(failures: number): boolean | Promise<boolean>;
  /** Signal that asks it to stop. Default SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** Signal that ends it at once. Default SIGKILL. */
  killSignal?: NodeJS.Signals;
}

/** What a supervised process reports. */
export interface ProcessEvents {
  /** It was started, for the first time or again; it may not be ready yet. */
  onSpawned?(name: string, pid: number): void;
  /**
   * It ended by itself and will be started again; `how` is its exit code or signal and the last line that it wrote
   * about it.
   */
  onEnded(name: string, how: string): void;
  /** It is ready again. */
  onRestarted(name: string): void;
}

export class SupervisedProcess<Ready> {
  readonly #plan: ProcessPlan<Ready>;
  readonly #deps: { clock: Clock; random: Random } & ProcessEvents;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #ended: Promise<string> = Promise.resolve('not started');
  #failures = 0;
  #keeper: Promise<unknown> = Promise.resolve();

  constructor(plan: ProcessPlan<Ready>, deps: { clock: Clock; random: Random } & ProcessEvents) {
    this.#plan = plan;
    this.#deps = deps;
  }

  /** Starts it; resolves when it is ready, rejects with its last lines when it cannot be started. */
  async start(): Promise<Ready> {
    const { clock, random } = this.#deps;
    const ready = await retry(() => this.#launch(), {
      clock,
      random,
      pause: START_PAUSE,
      signal: this.#stopping.signal,
      mayHelp: (_, failures) => this.#plan.triesAgain?.(failures) ?? false,
    });
    this.#keeper = Promise.all([this.#keep(), this.#keepLogShort()]);
    return ready;
  }

  /** Ends it and waits until it has ended. Safe at any time, also more than once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#end();
    await this.#keeper;
    // A launch that was under way when the stop came in has a child of its own by now.
    await this.#end();
  }

  async #launch(): Promise<Ready> {
    const { name, log } = this.#plan;
    if (this.#stopping.signal.aborted) throw new ProcessError(`${name} was stopped before it was started.`);
    const output = log.open();
    const child = await Promise.resolve(this.#plan.spawn(output)).finally(() => closeSync(output));
    this.#child = child;
    if (child.pid !== undefined) this.#deps.onSpawned?.(name, child.pid);
    const gone = new AbortController();
    this.#ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
    });
    void this.#ended.then(() => gone.abort());
    let timer: Timer | undefined;
    const tooSlow = new Promise<never>((_, reject) => {
      const giveUp = (): void => reject(new Error(`was not ready after ${this.#plan.readyMsMax / 1000} s`));
      timer = this.#deps.clock.after(this.#plan.readyMsMax, giveUp);
    });
    const died = this.#ended.then((how) => {
      throw new Error(`ended with ${how} before it was ready`);
    });
    try {
      // A stop that came in while it was being spawned has not seen this child.
      if (this.#stopping.signal.aborted) void this.#end();
      return await Promise.race([this.#plan.whenReady(child, gone.signal), died, tooSlow]);
    } catch (error) {
      await this.#end();
      const { message } = error as Error;
      throw new ProcessError(
        `${name} ${message}. Its last lines (all are in ${log.file}):\n${log.tail()}`,
        this.#why(message),
      );
    } finally {
      timer?.cancel();
    }
  }

  async #keep(): Promise<void> {
    const { clock, random, onEnded, onRestarted } = this.#deps;
    while (!this.#stopping.signal.aborted) {
      const startedAt = clock.monotonicMs();
      const how = await this.#ended;
      if (this.#stopping.signal.aborted) return;
      this.#failures = clock.monotonicMs() - startedAt > HEALTHY_MS ? 1 : this.#failures + 1;
      onEnded(this.#plan.name, this.#why(how));
      await this.#launchUntilReady(random);
      if (!this.#stopping.signal.aborted) onRestarted(this.#plan.name);
    }
  }

  async #keepLogShort(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await delay(this.#deps.clock, LOG_LOOK_MS, this.#stopping.signal);
      this.#rotateLog();
    }
  }

  /** A full disk, or a folder that somebody removed, ends no process. */
  #rotateLog(): void {
    try {
      this.#plan.log.rotate();
    } catch {
      // The next look tries again.
    }
  }

  async #launchUntilReady(random: Random): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await delay(this.#deps.clock, backoffMs(this.#failures, RESTART_PAUSE, random), this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      try {
        await this.#launch();
        return;
      } catch (error) {
        this.#failures += 1;
        if (!this.#stopping.signal.aborted)
          this.#deps.onEnded(this.#plan.name, error instanceof ProcessError ? error.brief : String(error));
      }
    }
  }

  /** With what it said last, unless somebody killed it: then that has nothing to do with it. */
  #why(how: string): string {
    const line = how.includes('SIGKILL') ? '' : this.#plan.log.lastError();
    return line === '' ? how : `${how}: ${line}`;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (!child || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(this.#plan.stopSignal ?? 'SIGTERM');
    const timer = this.#deps.clock.after(STOP_MS_MAX, () => child.kill(this.#plan.killSignal ?? 'SIGKILL'));
    await this.#ended;
    timer.cancel();
  }
}

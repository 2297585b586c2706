/**
 * A process that must run until it is stopped. It is started, checked for readiness, and restarted whenever it ends by
 * itself. Every process gets its own process group: a Ctrl-C of the terminal then reaches only the launcher, which
 * controls the order of stopping.
 */

import type { ChildProcess } from 'node:child_process';
import { closeSync, readFileSync } from 'node:fs';
import { retry } from '@slipway/kit/lifecycle/retry';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random, Timer } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { ProcessLog } from './process-log.ts';

/**
 * Pause before a process is restarted. The first pause is at most 250 ms, so that a killed process is back within a
 * second or two.
 */
const RESTART_PAUSE = { firstMs: 250, maxMs: 5_000 };
/** Pause before another try of the first start. */
const START_PAUSE = { firstMs: 250, maxMs: 500 };
/** Run time after which the count of failures is reset, in milliseconds. */
const HEALTHY_MS = 10_000;
/** Time that a process has to react to a stop signal before it is killed, in milliseconds. */
const STOP_MS_MAX = 8_000;

/** Time between two checks of a process that is not ready, in milliseconds. */
const SLOW_START_MS = 10_000;
/** Longest start, as a multiple of the longest time without progress. */
const PATIENCE_FACTOR = 10;

/** Time between two checks of the log's size, in milliseconds. */
const LOG_POLL_MS = 5_000;

/**
 * Failure of a process to come up. The text names the process and ends with its last lines. `brief` gives the reason in
 * one line.
 */
export class ProcessError extends Error {
  readonly brief: string;

  constructor(message: string, brief = message) {
    super(message);
    this.brief = brief;
  }
}

/** How to start a process. `Ready`: what the process reports about itself when it is ready. */
export interface ProcessPlan<Ready> {
  /** Name for the user. */
  name: string;
  log: ProcessLog;
  /** Starts the process in its own process group, with its output on the given descriptor. */
  spawn(output: number): ChildProcess | Promise<ChildProcess>;
  /**
   * Resolves when the process can be used. Must give up when the signal aborts, which happens if the process ends
   * first.
   */
  whenReady(child: ChildProcess, signal: AbortSignal): Promise<Ready>;
  /** Longest time without progress until the process is ready, in milliseconds. A start may take ten times this. */
  readyMsMax: number;
  /**
   * Returns true to try again after a failed first start. May throw an error that explains more than the process did.
   * Later starts are retried for ever. Default: the first start is not retried.
   */
  triesAgain?(failures: number): boolean | Promise<boolean>;
  /** Signal that asks the process to stop. Default: SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** Signal that kills the process. Default: SIGKILL. */
  killSignal?: NodeJS.Signals;
}

/** Events of a supervised process. */
interface ProcessEvents {
  /** The process was started, for the first time or again. It may not be ready yet. */
  onSpawned?(name: string, pid: number): void;
  /**
   * Called when the process ended by itself and will be restarted. `how`: its exit code or signal, and the last line
   * that it wrote about it.
   */
  onEnded(name: string, how: string): void;
  /** Called while the process makes progress but is not ready. `line`: the last one that it wrote, or empty. */
  onSlowStart?(name: string, seconds: number, line: string): void;
  /** Called when the process is ready again. */
  onRestarted(name: string): void;
}

export class SupervisedProcess<Ready> {
  readonly #plan: ProcessPlan<Ready>;
  readonly #deps: { clock: Clock; random: Random } & ProcessEvents;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #ended: Promise<string> = Promise.resolve('not started');
  #failures = 0;
  #loops: Promise<unknown> = Promise.resolve();

  constructor(plan: ProcessPlan<Ready>, deps: { clock: Clock; random: Random } & ProcessEvents) {
    this.#plan = plan;
    this.#deps = deps;
  }

  /** Starts the process. Resolves when it is ready. Rejects with its last lines if it cannot be started. */
  async start(): Promise<Ready> {
    const { clock, random } = this.#deps;
    const ready = await retry(() => this.#launch(), {
      clock,
      random,
      pause: START_PAUSE,
      signal: this.#stopping.signal,
      mayHelp: (_, failures) => this.#plan.triesAgain?.(failures) ?? false,
    });
    this.#loops = Promise.all([this.#keep(), this.#keepLogShort()]);
    return ready;
  }

  /** Stops the process and waits until it has ended. Safe to call at any time and more than once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#end();
    await this.#loops;
    // A launch that was in progress when the stop came has its own child by now.
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
    const patience = this.#waitForProgress(child);
    const died = this.#ended.then((how) => {
      throw new Error(`ended with ${how} before it was ready`);
    });
    try {
      // A stop during the spawn has not seen this child.
      if (this.#stopping.signal.aborted) void this.#end();
      return await Promise.race([this.#plan.whenReady(child, gone.signal), died, patience.over]);
    } catch (error) {
      // Read before the stop, about which it may write its own lines.
      const tail = log.tail();
      await this.#end();
      const { message } = error as Error;
      throw new ProcessError(
        `${name} ${message}. Its last lines (all are in ${log.file}):\n${tail === '' ? log.tail() : tail}`,
        this.#why(message),
      );
    } finally {
      patience.cancel();
    }
  }

  /** Rejects `over` when the process makes no progress for too long. Reports now and then that it is still starting. */
  #waitForProgress(child: ChildProcess): { over: Promise<never>; cancel(): void } {
    const { clock, onSlowStart } = this.#deps;
    const { name, log, readyMsMax } = this.#plan;
    const startedMs = clock.monotonicMs();
    let timer: Timer | undefined;
    let seen = '';
    let changedMs = startedMs;
    const over = new Promise<never>((_, reject) => {
      const check = (): void => {
        const now = clock.monotonicMs();
        const progress = `${cpuTicks(child.pid)} ${log.bytes}`;
        if (progress !== seen) changedMs = now;
        seen = progress;
        const waitedS = Math.round((now - startedMs) / 100) / 10;
        const hopeless = now - startedMs >= readyMsMax * PATIENCE_FACTOR;
        if (now - changedMs >= readyMsMax || hopeless) {
          const still = hopeless ? '' : `, and has done nothing for ${readyMsMax / 1000} s`;
          return reject(new Error(`was not ready after ${waitedS} s${still}`));
        }
        if (now > startedMs) onSlowStart?.(name, waitedS, log.lastLine());
        timer = clock.after(Math.min(SLOW_START_MS, readyMsMax / 4), check);
      };
      timer = clock.after(Math.min(SLOW_START_MS, readyMsMax / 4), check);
    });
    return { over, cancel: () => timer?.cancel() };
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
      await delay(this.#deps.clock, LOG_POLL_MS, this.#stopping.signal);
      this.#rotateLog();
    }
  }

  /** Rotates the log. A full disk or a removed folder must not end a process. */
  #rotateLog(): void {
    try {
      this.#plan.log.rotate();
    } catch {
      // The next check tries again.
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

  /** Adds the process's last error line, unless it was killed: then the line does not explain the end. */
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

/** Returns the processor time of a process in ticks; 0 if the system does not report it. */
function cpuTicks(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return 0;
  }
}

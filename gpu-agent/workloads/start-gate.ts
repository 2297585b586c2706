/**
 * Limits how many workloads start at the same time. Programs that start together share the processors with the agent.
 * 100 starts on two processors once delayed its heartbeats beyond its lease, so that core ended the workloads and
 * started them again, forever.
 */
import { availableParallelism } from 'node:os';
import type { Clock, Timer } from '@slipway/kit/time/clock';

/** Starts at the same time: per processor of the machine, and the minimum. */
const PERMITS_PER_PROCESSOR = 2;
const PERMITS_MIN = 4;
/**
 * For how long a start holds its permit, in milliseconds. A worker that has not asked for work by then may be waiting,
 * for instance for a model to load, and no longer delays the others. For workloads that never ask for work, nothing
 * shows when their start is complete.
 */
const HOLD_MS = { asks: 10_000, silent: 2_000 };

/** Returns the number of permits of this machine. */
export function startPermits(): number {
  return Math.max(PERMITS_MIN, PERMITS_PER_PROCESSOR * availableParallelism());
}

export class StartGate {
  readonly #permits: number;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #held = new Map<string, Timer>();
  /** Workloads that wait for a permit, in order of arrival. */
  readonly #waiting = new Map<string, () => void>();

  /** `permits`: number of workloads that may start at the same time. */
  constructor(permits: number, clock: Pick<Clock, 'after'>) {
    this.#permits = permits;
    this.#clock = clock;
  }

  /** All permits are taken: the next workload has to wait. */
  get isFull(): boolean {
    return this.#held.size >= this.#permits;
  }

  /**
   * Resolves when this workload may start, or when the signal aborts. Its permit is released by `leave`, and at the
   * latest some seconds later. `asks`: the workload will ask for work.
   */
  enter(id: string, asks: boolean, signal: AbortSignal): Promise<void> {
    const hold = (): void => {
      this.#held.set(
        id,
        this.#clock.after(asks ? HOLD_MS.asks : HOLD_MS.silent, () => this.leave(id)),
      );
    };
    if (signal.aborted) return Promise.resolve();
    if (!this.isFull) return Promise.resolve(hold());
    return new Promise((resolve) => {
      this.#waiting.set(id, () => resolve(hold()));
      signal.addEventListener(
        'abort',
        () => {
          if (this.#waiting.delete(id)) resolve();
        },
        { once: true },
      );
    });
  }

  /** Releases the permit: the workload has started, or will not. */
  leave(id: string): void {
    const timer = this.#held.get(id);
    if (!timer) return;
    timer.cancel();
    this.#held.delete(id);
    const [next] = this.#waiting;
    if (!next) return;
    this.#waiting.delete(next[0]);
    next[1]();
  }
}

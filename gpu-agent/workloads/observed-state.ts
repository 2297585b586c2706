/** The observed state of one workload and its transitions. Remembers failures, for the pause before the next start. */

import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Desired, Observed, Phase } from './step.ts';
import { advance, isLive } from './step.ts';

/** Pause before a workload that ended by itself is started again: from 1 to 60 s, jitter included. */
const PAUSE = { firstMs: 2_000, maxMs: 60_000 };
/** After this many milliseconds of running a start counts as successful: the next pause is the shortest again. */
const SUCCESSFUL_MS = 60_000;

/** Pause before a failed removal of files, or a failed freeze, is tried again, in milliseconds. */
const RETRY_MS = 5_000;

export class ObservedState implements Omit<Observed, 'busy'> {
  phase: Phase = 'unknown';
  sinceMs: number;
  made: Observed['made'];
  asked: boolean;
  endRequested: Observed['endRequested'];
  abandoned = false;
  stopAskedAtMs: number | undefined;
  killed = false;
  retryAtMs: number | undefined;
  cleanedDisk: number | undefined;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #restarts: boolean;
  #failures = 0;
  /** It asked for work while it was still being prepared. */
  #askedEarly = false;

  /**
   * `restarts`: the workload is started again when it ends. `previous`: a previous run of the agent left it running.
   */
  constructor(clock: Clock, random: Random, restarts: boolean, previous?: Pick<Observed, 'asked' | 'made'>) {
    this.#clock = clock;
    this.#random = random;
    this.#restarts = restarts;
    this.sinceMs = clock.monotonicMs();
    this.made = previous?.made;
    this.asked = previous?.asked ?? false;
  }

  /** The workload will end, or has ended. */
  get isEnding(): boolean {
    return this.endRequested !== undefined || this.abandoned || this.stopAskedAtMs !== undefined || this.killed;
  }

  /** Moves to this phase. Throws an Error, and changes nothing, if the phase cannot follow the current one. */
  enter(phase: Phase): void {
    this.phase = advance(this.phase, phase);
    this.sinceMs = this.#clock.monotonicMs();
    if (phase === 'running') this.asked ||= this.#askedEarly;
    if (phase !== 'absent') return;
    this.#forgetStart();
    this.made = undefined;
    // The agent ended one start of a pod, not the pod.
    if (this.#restarts) this.endRequested = undefined;
  }

  /**
   * Records that it asked for work. Returns true if that is news. What asks while it is still prepared may yet be
   * replaced (Executor.startsPrepared): it counts once it runs.
   */
  recordAsked(): boolean {
    if (this.phase === 'preparing') this.#askedEarly = true;
    if (this.asked || this.phase === 'preparing') return false;
    this.asked = true;
    return true;
  }

  /** Records that a start of `made` begins. */
  beginStart(made: Desired): void {
    this.#forgetStart();
    this.made = made;
    this.asked = false;
    this.#askedEarly = false;
    this.retryAtMs = undefined;
  }

  /**
   * Records a failed start or an end, and returns the pause before the next start in milliseconds. `isFinal`: another
   * try would end the same way; the pause is Infinity.
   */
  pauseAfterExit(isFinal: boolean): number {
    const ranMs = isLive(this.phase) ? this.#clock.monotonicMs() - this.sinceMs : 0;
    this.#failures = ranMs >= SUCCESSFUL_MS ? 1 : this.#failures + 1;
    const pauseMs = isFinal ? Infinity : backoffMs(this.#failures, PAUSE, this.#random);
    this.retryAfter(pauseMs);
    return pauseMs;
  }

  /** Puts the next start, removal or freeze off by this many milliseconds. */
  retryAfter(pauseMs: number): void {
    this.retryAtMs = this.#clock.monotonicMs() + pauseMs;
  }

  /** Puts a failed removal of files, or a failed freeze, off. */
  retryLater(): void {
    this.retryAfter(RETRY_MS);
  }

  /** Forgets failed starts, because the desired state changed: the next start need not wait. */
  forgetFailures(): void {
    this.#failures = 0;
    this.retryAtMs = undefined;
  }

  #forgetStart(): void {
    this.abandoned = false;
    this.stopAskedAtMs = undefined;
    this.killed = false;
  }
}

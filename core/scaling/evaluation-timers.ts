/**
 * Timers of evaluations that no event causes: when a decision may change by time alone, or after enough further jobs.
 * They only save time, as the resync finds the same a moment later. Each evaluation sets them anew.
 */

import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { NextEvaluation } from '../domain/scaling/next-evaluation.ts';

/** Added to each delay, in milliseconds, so that the database's clock is past the instant. */
const PAST_MS = 5;
/**
 * Shortest pause between two evaluations of an endpoint that jobs cause, in milliseconds. The longer one applies to
 * jobs of other replicas, whose number is unknown.
 */
const PAUSE_MS = 50;
const PAUSE_ELSEWHERE_MS = 500;

interface Growing {
  jobs: number;
  waitMs: number;
  /** Jobs added since its evaluation began, minus ended ones. */
  came: number;
  askedMs: number;
}

export class EvaluationTimers {
  readonly #clock: Clock;
  readonly #onDue: (endpointId: string) => void;
  readonly #due = new Map<string, Timer>();
  readonly #asked = new Map<string, Timer>();
  readonly #growing = new Map<string, Growing>();

  /** `onDue`: called when an endpoint must be evaluated. */
  constructor(clock: Clock, onDue: (endpointId: string) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Marks the begin of an evaluation. Jobs that arrive from now on may be missing in its sample. */
  begin(endpointIds: readonly string[]): void {
    for (const id of endpointIds) {
      const growing = this.#growing.get(id);
      if (growing) growing.came = 0;
      else this.#growing.set(id, { jobs: Infinity, waitMs: Infinity, came: 0, askedMs: -Infinity });
    }
  }

  /** Sets the timers after an evaluation. */
  update(endpointId: string, { dueMs, jobs, waitMs }: NextEvaluation): void {
    this.#arm(this.#due, endpointId, dueMs + PAST_MS);
    const growing = this.#growing.get(endpointId);
    if (!growing) return;
    Object.assign(growing, { jobs, waitMs });
    this.#enough(endpointId, growing);
  }

  /** Forgets all endpoints but these. */
  keepOnly(endpointIds: ReadonlySet<string>): void {
    for (const id of this.#growing.keys()) if (!endpointIds.has(id)) this.#growing.delete(id);
  }

  /** Counts new jobs, or ended ones if negative. */
  jobsChanged(endpointId: string, jobs: number): void {
    const growing = this.#growing.get(endpointId);
    if (!growing) return;
    growing.came += jobs;
    this.#enough(endpointId, growing);
  }

  /** Records that a job has to wait. `elsewhere`: at another replica, in an unknown number. */
  jobWaits(endpointId: string, elsewhere: boolean): void {
    const growing = this.#growing.get(endpointId);
    if (!growing) return;
    if (growing.waitMs < Infinity && !this.#asked.has(endpointId))
      this.#arm(this.#asked, endpointId, growing.waitMs + PAST_MS);
    growing.waitMs = Infinity;
    if (elsewhere && growing.jobs < Infinity) this.#ask(endpointId, growing, PAUSE_ELSEWHERE_MS);
  }

  stop(): void {
    for (const timers of [this.#due, this.#asked]) {
      for (const timer of timers.values()) timer.cancel();
      timers.clear();
    }
    this.#growing.clear();
  }

  #enough(endpointId: string, growing: Growing): void {
    if (growing.came >= growing.jobs) this.#ask(endpointId, growing, PAUSE_MS);
  }

  #ask(endpointId: string, growing: Growing, pauseMs: number): void {
    growing.jobs = Infinity;
    if (this.#asked.has(endpointId)) return;
    const now = this.#clock.monotonicMs();
    const restMs = Math.max(growing.askedMs + pauseMs - now, 0);
    growing.askedMs = now + restMs;
    this.#arm(this.#asked, endpointId, restMs);
  }

  #arm(timers: Map<string, Timer>, endpointId: string, ms: number): void {
    timers.get(endpointId)?.cancel();
    timers.delete(endpointId);
    if (ms === Infinity) return;
    timers.set(
      endpointId,
      this.#clock.after(ms, () => {
        timers.delete(endpointId);
        this.#onDue(endpointId);
      }),
    );
  }
}

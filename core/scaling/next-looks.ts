/**
 * Looks that endpoints are to have although nothing that anybody tells of happens to them: when time alone may change their decision, or when enough jobs
 * have come. Hints, as looks at all endpoints find the same a moment later; each look says anew what the next one waits for.
 */
import type { NextLook } from '../domain/next-look.ts';
import type { Clock, Timer } from '../runtime/clock.ts';

/** Added to each instant, in milliseconds: the database's clock must be past it. */
const PAST_MS = 5;
/** Shortest pause between two looks at one endpoint that jobs cause, in milliseconds; and where jobs of other replicas do, of which the number is not told. */
const PAUSE_MS = 50;
const PAUSE_ELSEWHERE_MS = 500;

interface Growing {
  jobs: number;
  waitMs: number;
  /** Jobs that came since the look at it began, less those that ended. */
  came: number;
  askedMs: number;
}

export class NextLooks {
  readonly #clock: Clock;
  readonly #onDue: (endpointId: string) => void;
  readonly #due = new Map<string, Timer>();
  readonly #asked = new Map<string, Timer>();
  readonly #growing = new Map<string, Growing>();

  /** `onDue`: an endpoint is to be looked at. */
  constructor(clock: Clock, onDue: (endpointId: string) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** These are about to be looked at: jobs that come meanwhile may not be in what is seen. */
  begin(endpointIds: readonly string[]): void {
    for (const id of endpointIds) {
      const growing = this.#growing.get(id);
      if (growing) growing.came = 0;
      else this.#growing.set(id, { jobs: Infinity, waitMs: Infinity, came: 0, askedMs: -Infinity });
    }
  }

  /** What a look says of the next one. */
  see(endpointId: string, { dueMs, jobs, waitMs }: NextLook): void {
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

  /** More jobs are there, or fewer. */
  changed(endpointId: string, jobs: number): void {
    const growing = this.#growing.get(endpointId);
    if (!growing) return;
    growing.came += jobs;
    this.#enough(endpointId, growing);
  }

  /** A job has to wait. `elsewhere`: at another replica, and it is not known how many came there. */
  waits(endpointId: string, elsewhere: boolean): void {
    const growing = this.#growing.get(endpointId);
    if (!growing) return;
    if (growing.waitMs < Infinity && !this.#asked.has(endpointId)) this.#arm(this.#asked, endpointId, growing.waitMs + PAST_MS);
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
    timers.set(endpointId, this.#clock.after(ms, () => {
      timers.delete(endpointId);
      this.#onDue(endpointId);
    }));
  }
}

/**
 * From when to when each worker ran which attempts: whose lines are whose in its log. In memory, the latest of each
 * worker.
 */
import type { Clock } from '@slipway/kit/time/clock';
import type { JobSpan } from '../units/workers/job-lines.ts';
import type { Attempt } from './attempt.ts';
import type { Holdings } from './holding.ts';

/** Ended attempts that are kept of a worker; half of them go when there are more. */
const SPANS_MAX = 2_000;

export class JobSpans {
  readonly #ended = new Map<string, JobSpan[]>();
  readonly #holdings: Holdings;
  readonly #clock: Clock;

  constructor(holdings: Holdings, clock: Clock) {
    this.#holdings = holdings;
    this.#clock = clock;
  }

  /** An attempt has ended. */
  ended(attempt: Attempt): void {
    if (attempt.handedAtMs === 0 || attempt.inHand) return;
    const { workerId } = attempt.ref;
    let spans = this.#ended.get(workerId);
    if (!spans) this.#ended.set(workerId, (spans = []));
    if (spans.length >= SPANS_MAX) spans.splice(0, SPANS_MAX / 2);
    spans.push({ ...spanOf(attempt), toMs: this.#clock.monotonicMs() });
  }

  /** What a worker ran and runs; a copy. */
  of(workerId: string): JobSpan[] {
    const running = (this.#holdings.get(workerId)?.all() ?? []).filter((attempt) => !attempt.inHand);
    return [...(this.#ended.get(workerId) ?? []), ...running.map(spanOf)];
  }

  /** The worker is forgotten. */
  drop(workerId: string): void {
    this.#ended.delete(workerId);
  }
}

function spanOf({ ref, beganAtMs, handedAtMs }: Attempt): JobSpan {
  return { jobId: ref.jobId, attempt: ref.attempt, fromMs: beganAtMs ?? handedAtMs };
}

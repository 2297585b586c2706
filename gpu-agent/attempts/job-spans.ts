/**
 * Times at which each worker ran which attempts. They tell to which attempt a line of a worker's log belongs. Kept in
 * memory, only the latest of each worker.
 */
import type { Clock } from '@slipway/kit/time/clock';
import type { JobSpan } from '../workloads/workers/job-lines.ts';
import type { Attempt } from './attempt.ts';
import type { Holdings } from './holding.ts';

/** Most ended attempts that are kept of a worker. Beyond it, half of them are dropped. */
const SPANS_MAX = 2_000;

export class JobSpans {
  readonly #ended = new Map<string, JobSpan[]>();
  readonly #holdings: Holdings;
  readonly #clock: Clock;

  constructor(holdings: Holdings, clock: Clock) {
    this.#holdings = holdings;
    this.#clock = clock;
  }

  /** Records the end of an attempt. */
  ended(attempt: Attempt): void {
    if (attempt.handedAtMs === 0 || attempt.prefetched) return;
    const { workerId } = attempt.ref;
    let spans = this.#ended.get(workerId);
    if (!spans) this.#ended.set(workerId, (spans = []));
    if (spans.length >= SPANS_MAX) spans.splice(0, SPANS_MAX / 2);
    spans.push({ ...spanOf(attempt), toMs: this.#clock.monotonicMs() });
  }

  /** Returns a copy of the spans of a worker's ended and running attempts. */
  of(workerId: string): JobSpan[] {
    const running = (this.#holdings.get(workerId)?.all() ?? []).filter((attempt) => !attempt.prefetched);
    return [...(this.#ended.get(workerId) ?? []), ...running.map(spanOf)];
  }

  /** Forgets a worker. */
  drop(workerId: string): void {
    this.#ended.delete(workerId);
  }
}

function spanOf({ ref, beganAtMs, handedAtMs }: Attempt): JobSpan {
  return { jobId: ref.jobId, attempt: ref.attempt, fromMs: beganAtMs ?? handedAtMs };
}

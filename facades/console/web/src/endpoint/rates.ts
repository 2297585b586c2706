/** Computes jobs per minute from the counts of each step of time. */
import type { JobTimesView } from '../../../views-of-times.ts';

/** Series for a chart. Each value holds until the next time. */
interface Rates {
  times: readonly number[];
  arrived: readonly number[];
  completed: readonly number[];
  failed: readonly number[];
}

type Counted = JobTimesView['rates'][number];

/** Core records its counts every ten seconds: a step that started more recently has too little data. */
const KNOWN_AFTER_MS = 20_000;
const MINUTE_MS = 60_000;

/**
 * Returns each step, also empty ones, and now. The current step counts for its length so far; one that has just begun
 * equals the previous one.
 */
export function ratesOf({
  rates,
  sinceMs,
  nowMs,
  stepMs,
}: Pick<JobTimesView, 'rates' | 'sinceMs' | 'nowMs' | 'stepMs'>): Rates {
  const counted = new Map(rates.map((rate) => [rate.atMs, rate]));
  const [first, present] = [Math.floor(sinceMs / stepMs) * stepMs, Math.floor(nowMs / stepMs) * stepMs];
  const last = nowMs - present < KNOWN_AFTER_MS ? present - stepMs : present;
  const starts = Array.from({ length: (last - first) / stepMs + 1 }, (_, index) => first + index * stepMs);
  const line = (of: (rate: Counted) => number): number[] => {
    const values = starts.map((atMs) => {
      const rate = counted.get(atMs);
      return rate ? round((of(rate) * MINUTE_MS) / (atMs === present ? nowMs - present : stepMs)) : 0;
    });
    return [...values, values.at(-1)!];
  };
  return {
    times: [...starts, nowMs],
    arrived: line(({ arrived }) => arrived),
    completed: line(({ completed }) => completed),
    failed: line(({ failed }) => failed),
  };
}

/** Rounds to a tenth: rare jobs are fewer than one a minute. */
function round(rate: number): number {
  return Math.round(rate * 10) / 10;
}

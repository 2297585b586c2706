/** How many jobs of an endpoint came and ended in a minute, by steps of time, from what was counted in each. */
import type { JobTimesView } from '../../../views-of-times.ts';

/** For a chart: each value is as it is until the next moment. */
export interface Rates {
  times: readonly number[];
  arrived: readonly number[];
  completed: readonly number[];
  failed: readonly number[];
}

type Counted = JobTimesView['rates'][number];

/** Core writes down what it saw each ten seconds: of a step that began later than this too little is known. */
const KNOWN_AFTER_MS = 20_000;
const MINUTE_MS = 60_000;

/**
 * Each step, also those without a job, and now. The present step counts for as long as it has been; one that began just
 * now is as the one before.
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

/** To a tenth: rare jobs are less than one a minute. */
function round(rate: number): number {
  return Math.round(rate * 10) / 10;
}

/**
 * Loads of one endpoint: generated ones in realistic shapes, where a seed gives the same load again, and recorded ones.
 */
import type { ModelJob } from '@slipway/core/domain/scaling/model/scale-model';
import type { SeededRandom } from '../helpers/time/random-of.ts';
import { randomOf } from '../helpers/time/random-of.ts';
import type { Quantiles } from './lengths.ts';
import { draw } from './lengths.ts';
import { recordedJobs, WHOLE } from './recorded.ts';

/** A load, with the start times of its workers. */
export interface Trace {
  name: string;
  jobs: ModelJob[];
  untilMs: number;
  /** Start time of the n-th worker. */
  startMs(n: number): number;
}

const MINUTE_MS = 60_000;
/** Mean duration of a job and of a start. */
export interface Lengths {
  executionMs: number;
  startMs: number;
}

/** A start with a present image and a model to load. */
const LENGTHS: Lengths = { executionMs: 6_000, startMs: 20_000 };
/** Short jobs on a large model. */
export const LARGE_MODEL: Lengths = { executionMs: 2_000, startMs: 60_000 };
/** Their variation (sigma of the logarithm). */
const EXECUTION_SIGMA = 0.6;
const START_SIGMA = 0.25;

/** Jobs per second over the share of time, and the duration. */
const SHAPES: Record<string, { minutes: number; rate(share: number, ms: number): number }> = {
  // 100 jobs within 4 s, three times, and a few all along.
  burst: {
    minutes: 60,
    rate: (_share, ms) =>
      ms % (20 * MINUTE_MS) > 2 * MINUTE_MS && ms % (20 * MINUTE_MS) <= 2 * MINUTE_MS + 4_000 ? 25 : 0.005,
  },
  // Two days in four hours: up to 1.5 jobs per second, hardly any at night.
  diurnal: { minutes: 240, rate: (share) => 0.01 + 1.5 * Math.max(Math.sin(share * 4 * Math.PI - Math.PI / 2), 0) },
  // One job per 90 s on average.
  trickle: { minutes: 240, rate: () => 1 / 90 },
  // From zero to three jobs per second, and back to zero.
  ramp: { minutes: 40, rate: (share) => (share < 0.75 ? 4 * share : 0) },
};

/** Returns the traces of all shapes. */
export function traces(seed: number, { executionMs, startMs } = LENGTHS): Trace[] {
  return Object.entries(SHAPES).map(([name, { minutes, rate }]) => {
    const random = randomOf(seed);
    const untilMs = minutes * MINUTE_MS;
    const starts = Array.from({ length: 5_000 }, () => lognormal(random, startMs, START_SIGMA));
    const jobs: ModelJob[] = [];
    // Independent arrivals: a Poisson process, in steps of 0.1 s.
    for (let ms = 0; ms < untilMs; ms += 100) {
      for (let left = poisson(random, rate(ms / untilMs, ms) / 10); left > 0; left -= 1) {
        jobs.push({ atMs: ms + left, executionMs: lognormal(random, executionMs, EXECUTION_SIGMA) });
      }
    }
    jobs.sort((a, b) => a.atMs - b.atMs);
    return { name, jobs, untilMs: untilMs + 30 * MINUTE_MS, startMs: (n) => starts[n % starts.length]! };
  });
}

/** Returns a recorded load (recorded.ts). `starts`: of its workers. */
export function recordedTrace(text: string, starts: Quantiles, seed: number, cut = WHOLE): Trace {
  const jobs = recordedJobs(text, cut);
  const random = randomOf(seed);
  const lengths = Array.from({ length: 5_000 }, () => Math.round(draw(starts, random)));
  return {
    name: 'recorded',
    jobs,
    untilMs: jobs.at(-1)!.atMs + 30 * MINUTE_MS,
    startMs: (n) => lengths[n % lengths.length]!,
  };
}

function poisson(random: SeededRandom, mean: number): number {
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random.fraction(); product > limit; product *= random.fraction()) count += 1;
  return count;
}

function lognormal(random: SeededRandom, mean: number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random.fraction())) * Math.cos(2 * Math.PI * random.fraction());
  return Math.max(Math.round(mean * Math.exp(sigma * normal - sigma ** 2 / 2)), 1);
}

/**
 * Reproducible randomness. Each run takes another seed and prints it; SLIPWAY_TEST_SEED=<seed> repeats a run. Only the
 * test's own actions and their planned times are repeated, because processes and databases run at their own pace.
 */
import t from 'tap';
import type { SeededRandom } from './random-of.ts';
import { randomOf } from './random-of.ts';

export type { SeededRandom };

/** The seed of this process's tests, a whole number below 2^31; printed once. */
export const SEED = Number(process.env.SLIPWAY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`seed ${SEED}; SLIPWAY_TEST_SEED=${SEED} repeats it`);

/** Returns random numbers that depend on the seed alone. */
export function seededRandom(seed = SEED): SeededRandom {
  return randomOf(seed);
}

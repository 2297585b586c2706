/** Durations in a simulated fleet, drawn from quantiles of recorded ones. */
import type { SeededRandom } from '../helpers/time/random-of.ts';

/** Quantiles in milliseconds, ascending and evenly spaced; values between them are interpolated. */
export type Quantiles = readonly number[];

/** Durations that machines need. */
export interface FleetLengths {
  /** From the worker's process to its first request for work. */
  startMs: Quantiles;
  /** Pull of an image that is missing. */
  pullMs: Quantiles;
  runMs: Quantiles;
  /** Speed relative to the recorded ones. The start timeout of the agent scales with it. */
  speed: number;
}

/**
 * Shapes of cold starts (Python, its packages, a model from disk) and of pulls (some GB from a nearby registry): a
 * narrow bulk and a long tail, which scaling must handle. A hundredth of real durations, so that a test takes seconds.
 * `npm run fleet -- --starts FILE --pulls FILE` plays recorded ones.
 */
export const HUNDREDTHS: FleetLengths = {
  startMs: [60, 110, 140, 170, 190, 220, 260, 320, 420, 700, 1_600],
  pullMs: [100, 220, 300, 380, 450, 540, 660, 850, 1_200, 2_000, 4_000],
  runMs: [10, 20, 35, 50, 70, 95, 125, 165, 230, 340, 600],
  speed: 100,
};

/** Draws a duration. */
export function draw(quantiles: Quantiles, random: SeededRandom): number {
  const at = random.fraction() * (quantiles.length - 1);
  const below = quantiles[Math.floor(at)]!;
  return below + (quantiles[Math.min(Math.floor(at) + 1, quantiles.length - 1)]! - below) * (at % 1);
}

/** Reads recorded durations: one in milliseconds per line, in any order. */
export function quantilesOf(text: string): Quantiles {
  const all = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(Number)
    .sort((a, b) => a - b);
  if (all.length === 0 || all.some((ms) => !(ms >= 0)))
    throw new Error('lengths must be numbers of milliseconds, one a line');
  return Array.from({ length: 21 }, (_, n) => all[Math.round((n / 20) * (all.length - 1))]!);
}

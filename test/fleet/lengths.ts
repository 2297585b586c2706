/** How long things take in a simulated fleet: drawn from quantiles, as they were recorded of real ones. */
import type { SeededRandom } from '../helpers/random-of.ts';

/** Lengths in milliseconds, the shortest first, at even steps of their share: drawn in between them. */
export type Quantiles = readonly number[];

/** What machines need. */
export interface FleetLengths {
  /** From the worker's process to its first question for work. */
  startMs: Quantiles;
  /** Of an image that the machine has not. */
  pullMs: Quantiles;
  runMs: Quantiles;
  /** So many times as fast as they were recorded: what an agent itself allows a start goes along. */
  speed: number;
}

/**
 * Shapes of cold starts (Python, its packages, a model from disk) and pulls (some GB from a registry near by): a narrow bulk and a long tail, which is what
 * scaling must bear. Each figure is a hundredth of the real one, so that a test takes seconds.
 * `npm run fleet -- --starts FILE --pulls FILE` plays recorded ones.
 */
export const HUNDREDTHS: FleetLengths = {
  startMs: [60, 110, 140, 170, 190, 220, 260, 320, 420, 700, 1_600], pullMs: [100, 220, 300, 380, 450, 540, 660, 850, 1_200, 2_000, 4_000],
  runMs: [10, 20, 35, 50, 70, 95, 125, 165, 230, 340, 600],
  speed: 100,
};

/** One of them. */
export function draw(quantiles: Quantiles, random: SeededRandom): number {
  const at = random.fraction() * (quantiles.length - 1);
  const below = quantiles[Math.floor(at)]!;
  return below + (quantiles[Math.min(Math.floor(at) + 1, quantiles.length - 1)]! - below) * (at % 1);
}

/** Reads recorded lengths: one in milliseconds a line, in any order. */
export function quantilesOf(text: string): Quantiles {
  const all = text.split('\n').map((line) => line.trim()).filter((line) => line !== '').map(Number).sort((a, b) => a - b);
  if (all.length === 0 || all.some((ms) => !(ms >= 0))) throw new Error('lengths must be numbers of milliseconds, one a line');
  return Array.from({ length: 21 }, (_, n) => all[Math.round((n / 20) * (all.length - 1))]!);
}

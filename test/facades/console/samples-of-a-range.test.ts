/** Samples of the chosen range of a chart, which begins where the range does. */
import type { Sample } from '@slipway/facades/console/views';
import { since } from '@slipway/facades/console/views-of-times';
import t from 'tap';

const SAMPLES: readonly Sample[] = [
  [100, 1, 2, 3],
  [200, null, null, null],
  [300, 4, 5, 6],
];

for (const [what, fromMs, first, length] of [
  ['before all samples: unknown', 50, [50, null, null, null], 4],
  ['between two: what held then', 150, [150, 1, 2, 3], 3],
  ['in a gap: unknown', 250, [250, null, null, null], 2],
  ['at a sample', 300, [300, 4, 5, 6], 1],
  ['after all: the last ones hold', 400, [400, 4, 5, 6], 1],
] as const)
  t.test(what, async (t) => {
    const samples = since(SAMPLES, fromMs);
    t.same(samples[0], first);
    t.equal(samples.length, length);
  });

t.test('no samples', async (t) => {
  t.same(since([], 50), []);
});

/** Number of jobs that a worker prefetches, over many random measurements. */

import {
  MEASURED_MAX,
  MEASURED_MIN,
  PREFETCH_MAX,
  PREFETCH_MS,
  prefetchCount,
  SHORT_MS_MAX,
} from '@slipway/core/domain/jobs/prefetch';
import t from 'tap';
import { seededRandom } from '../../../helpers/time/seeded-random.ts';

const all = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

t.test('examples', async (t) => {
  const table: [string, number[], number, boolean, number][] = [
    ['nothing is known', [], 1, false, 0],
    ['too little is known', all(MEASURED_MIN - 1, 5), 1, false, 0],
    ['the first guess risks little', all(MEASURED_MIN, 5), 1, false, 4 * MEASURED_MIN],
    ['half a second of work', all(64, 6), 1, false, 99],
    ['each slot has its share', all(64, 60), 4, false, 36],
    ['what takes no time at all', all(64, 0), 50, false, PREFETCH_MAX],
    ['longer ones', all(64, 200), 1, false, 2],
    ['no room for two', all(64, 400), 1, false, 0],
    ['long ones', all(64, SHORT_MS_MAX + 1), 1, false, 0],
    ['one long one among short ones', [...all(63, 5), SHORT_MS_MAX + 1], 1, false, 0],
    ['what a dozing worker was given first', [...all(62, 6), 100, 100], 1, false, 99],
    ['another worker stands idle', all(64, 5), 1, true, 0],
  ];
  for (const [name, timesMs, slots, othersIdle, expected] of table)
    t.equal(prefetchCount({ timesMs, slots, othersIdle }), expected, name);
});

t.test('large inputs are not piled up', async (t) => {
  const of = (inputBytes: number): number =>
    prefetchCount({ timesMs: all(64, 5), slots: 100, othersIdle: false, inputBytes });
  t.same([0, 300, 100_000, 20_000_000].map(of), [PREFETCH_MAX, PREFETCH_MAX, 41, 0]);
});

t.test('never more work than intended, whatever was measured', async (t) => {
  const random = seededRandom(12);
  for (let round = 0; round < 2_000; round += 1) {
    const longest = 1 + Math.floor(random.fraction() * 400);
    const timesMs = Array.from({ length: Math.floor(random.fraction() * (MEASURED_MAX + 1)) }, () =>
      Math.floor(random.fraction() * longest),
    );
    const slots = 1 + Math.floor(random.fraction() * 100);
    const ahead = prefetchCount({ timesMs, slots, othersIdle: false });
    const workMs =
      (ahead *
        timesMs
          .toSorted((a, b) => a - b)
          .slice(0, -2)
          .reduce((sum, ms) => sum + ms, 0)) /
      Math.max(timesMs.length - 2, 1);
    const sound =
      Number.isInteger(ahead) &&
      ahead >= 0 &&
      ahead <= PREFETCH_MAX &&
      workMs <= PREFETCH_MS * slots &&
      (ahead === 0 || (timesMs.length >= MEASURED_MIN && Math.max(...timesMs) <= SHORT_MS_MAX));
    if (!sound) t.fail('unsound', { timesMs, slots, ahead });
  }
  t.pass();
});

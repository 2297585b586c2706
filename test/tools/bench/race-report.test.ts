// test: python
/** The race's report of its figures. */

import type { RaceFacts, Result } from '@slipway/tools/bench/peers/race-report';
import { raceReport, verdictsOf } from '@slipway/tools/bench/peers/race-report';
import t from 'tap';

const scenario = 'POST /runsync ×64';
const results: Result[] = [
  {
    scenario,
    contestant: 'Slipway',
    rounds: [
      { rate: 300, p99Ms: 85 },
      { rate: 310, p99Ms: 90 },
      { rate: 900, p99Ms: 10 },
    ],
  },
  {
    scenario,
    contestant: 'BullMQ always (1)',
    rounds: [
      { rate: 100, p99Ms: 100 },
      { rate: 90, p99Ms: 200 },
      { rate: 110, p99Ms: 99 },
    ],
  },
];
const facts: RaceFacts = {
  machine: 'a machine',
  busy: '',
  commit: 'c',
  versions: {},
  settings: {},
  flush: { ms: 0.5, leastMs: 0.4, mostMs: 2 },
  rounds: 3,
  seconds: 1,
  absent: ['Restate: it is not here'],
  contestants: { Slipway: 'as it comes' },
};

t.test('targets are compared with ratios of medians, separately for rates and times', async (t) => {
  t.same(
    verdictsOf(results).map(({ field, ratio, reached }) => ({ field, ratio, reached })),
    [
      { field: 'rate', ratio: 3.1, reached: true },
      { field: 'p99Ms', ratio: 0.85, reached: false },
    ],
  );
});

t.test('the report has the spread of times, the verdicts and absent contestants', async (t) => {
  const text = raceReport(facts, results);
  t.match(
    text,
    '| BullMQ always (1) | 100/s (90/s – 110/s) | 100.0 ms (99.0 ms – 200.0 ms) | 3.10× at a flush of 0.50 ms | ' +
      'rate ≥ 3.00× yes (3.10×), p99 ≤ 0.80× NO (0.85×) |',
  );
  t.match(text, 'a flush (8 KiB, fdatasync) takes 0.50 ms (0.40 – 2.00)');
  t.match(text, '- Slipway: as it comes');
  t.match(text, '- absent: Restate: it is not here');
});

/** Jobs a minute, from what was counted by steps. */

import { ratesOf } from '@slipway/facades/console/web/src/endpoint/rates';
import t from 'tap';

const MINUTE = 60_000;
const rate = (minute: number, arrived: number) => ({
  atMs: minute * MINUTE,
  arrived,
  completed: arrived / 2,
  failed: 0,
});

t.test('each step, also empty ones; the current one by its length so far', async (t) => {
  const rates = [rate(2, 30), rate(4, 12)];
  t.same(ratesOf({ rates, sinceMs: 1.5 * MINUTE, nowMs: 4.5 * MINUTE, stepMs: MINUTE }), {
    times: [1, 2, 3, 4, 4.5].map((minute) => minute * MINUTE),
    arrived: [0, 30, 0, 24, 24],
    completed: [0, 15, 0, 12, 12],
    failed: [0, 0, 0, 0, 0],
  });
});

t.test('a step that has just begun equals the previous one, as its data is not stored yet', async (t) => {
  const { times, arrived } = ratesOf({
    rates: [rate(3, 9), rate(4, 1)],
    sinceMs: 3 * MINUTE,
    nowMs: 4 * MINUTE + 5_000,
    stepMs: MINUTE,
  });
  t.same(times, [3 * MINUTE, 4 * MINUTE + 5_000]);
  t.same(arrived, [9, 9]);
});

t.test('steps of other lengths, and rare jobs', async (t) => {
  const { arrived } = ratesOf({
    rates: [{ atMs: 0, arrived: 3, completed: 0, failed: 0 }],
    sinceMs: 0,
    nowMs: 12 * MINUTE + 30_000,
    stepMs: 12 * MINUTE,
  });
  t.same(arrived, [0.3, 0, 0]);
});

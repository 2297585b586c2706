/** The limits of docs/reference/api.md#rate-limits as decisions. */

import type { LimitedOperation } from '@slipway/facades/plugins/limits/rate-limit-rules';
import { decideRate, effectiveLimit, RATE_RULES } from '@slipway/facades/plugins/limits/rate-limit-rules';
import t from 'tap';

const PER_WORKER = { rate: 100, concurrency: 20 };
const SAMPLE = { inWindow: 1, inFlight: 1, windowLeftMs: 4_200, workersRunning: 0 };

t.test('every row of the table', async (t) => {
  const rows: [LimitedOperation, number, number | undefined][] = [
    ['runsync', 2_000, 400],
    ['run', 1_000, 200],
    ['status', 2_000, 400],
    ['stream', 2_000, 400],
    ['cancel', 100, 20],
    ['purge-queue', 2, undefined],
    ['openai', 2_000, 400],
    ['models', 20_000, 2_000],
    ['requests', 10, 2],
  ];
  for (const [operation, rate, concurrency] of rows) t.same(RATE_RULES[operation], { rate, concurrency }, operation);
});

t.test('the last request of the window passes, the next does not', async (t) => {
  t.same(decideRate(RATE_RULES.cancel, { ...SAMPLE, inWindow: 100 }, PER_WORKER), { allowed: true });
  t.same(decideRate(RATE_RULES.cancel, { ...SAMPLE, inWindow: 101 }, PER_WORKER), {
    allowed: false,
    cause: 'rate',
    limit: 100,
    retryAfterSeconds: 5,
  });
});

t.test('Retry-After is at least one second', async (t) => {
  t.match(decideRate(RATE_RULES.cancel, { ...SAMPLE, inWindow: 101, windowLeftMs: 0 }, PER_WORKER), {
    retryAfterSeconds: 1,
  });
});

t.test('requests at a time', async (t) => {
  t.same(decideRate(RATE_RULES.requests, { ...SAMPLE, inFlight: 2 }, PER_WORKER), { allowed: true });
  t.same(decideRate(RATE_RULES.requests, { ...SAMPLE, inFlight: 3 }, PER_WORKER), {
    allowed: false,
    cause: 'concurrency',
    limit: 2,
    retryAfterSeconds: 1,
  });
  t.same(
    decideRate(RATE_RULES['purge-queue'], { ...SAMPLE, inFlight: 1_000 }, PER_WORKER),
    { allowed: true },
    'not applicable',
  );
});

t.test('dynamic limit: the higher of the base and running workers x requests per worker', async (t) => {
  t.equal(effectiveLimit(100, 0, 100), 100);
  t.equal(effectiveLimit(100, 1, 100), 100);
  t.equal(effectiveLimit(100, 7, 100), 700);
  t.same(decideRate(RATE_RULES.cancel, { ...SAMPLE, inWindow: 700, inFlight: 140, workersRunning: 7 }, PER_WORKER), {
    allowed: true,
  });
  t.match(decideRate(RATE_RULES.cancel, { ...SAMPLE, inWindow: 701, workersRunning: 7 }, PER_WORKER), {
    cause: 'rate',
    limit: 700,
  });
  t.match(decideRate(RATE_RULES.cancel, { ...SAMPLE, inFlight: 141, workersRunning: 7 }, PER_WORKER), {
    cause: 'concurrency',
    limit: 140,
  });
});

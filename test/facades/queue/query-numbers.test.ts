/** Numbers of query strings (docs/reference/api.md#submit, docs/reference/api.md#status). */

import {
  boundedNumber,
  runsyncWaitMs,
  STREAM_HOLD_MS,
  statusSyncWaitMs,
  statusTtlMs,
  streamWaitMs,
} from '@slipway/facades/queue/query-numbers';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

t.test('/runsync wait | 1000 to 300000, default 90000, everything else is refused', async (t) => {
  t.equal(runsyncWaitMs({}), 90_000);
  t.equal(runsyncWaitMs({ wait: '1000' }), 1_000);
  t.equal(runsyncWaitMs({ wait: '300000' }), 300_000);
  for (const wait of [
    '999',
    '300001',
    '0',
    '-1000',
    '1e4',
    '1000.0',
    '',
    ' 1000',
    'x',
    '99999999999999999999',
    ['1000', '2000'],
  ]) {
    t.equal(
      reasonOf(() => runsyncWaitMs({ wait })),
      'INVALID_REQUEST',
      JSON.stringify(wait),
    );
  }
});

t.test('/status-sync wait is clamped', async (t) => {
  t.equal(statusSyncWaitMs({}), 90_000);
  t.equal(statusSyncWaitMs({ wait: '0' }), 0);
  t.equal(statusSyncWaitMs({ wait: '-7' }), 0);
  t.equal(statusSyncWaitMs({ wait: '999999' }), 300_000);
  t.equal(
    reasonOf(() => statusSyncWaitMs({ wait: 'soon' })),
    'INVALID_REQUEST',
  );
});

t.test('/stream holds a little without wait', async (t) => {
  t.equal(streamWaitMs({}), STREAM_HOLD_MS);
  t.ok(STREAM_HOLD_MS < 10_000, 'less than the Python client waits');
  t.equal(streamWaitMs({ wait: '90000' }), 90_000);
});

t.test('/status ttl is any positive whole number', async (t) => {
  t.equal(statusTtlMs({}), 0);
  t.equal(statusTtlMs({ ttl: '6000' }), 6_000);
  for (const ttl of ['0', '-1', '1.5', 'x', ''])
    t.equal(
      reasonOf(() => statusTtlMs({ ttl })),
      'INVALID_REQUEST',
      ttl,
    );
});

t.test('bounded numbers', async (t) => {
  t.equal(boundedNumber({}, 'limit', 100, { min: 1, max: 1_000 }), 100);
  t.equal(boundedNumber({ limit: '1000' }, 'limit', 100, { min: 1, max: 1_000 }), 1_000);
  for (const limit of ['0', '1001', 'x'])
    t.equal(
      reasonOf(() => boundedNumber({ limit }, 'limit', 100, { min: 1, max: 1_000 })),
      'INVALID_REQUEST',
      limit,
    );
});

/** Event ids of the live feed. */

import { chunkId, LOG_START, parseChunkId } from '@slipway/facades/jobs/chunk-id';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

t.test('an id names the place it was made from', async (t) => {
  t.equal(chunkId({ attempt: 2, number: 17 }), '2-17');
  t.same(parseChunkId('2-17'), { attempt: 2, number: 17 });
  t.same(parseChunkId(' 2-17 '), { attempt: 2, number: 17 });
});

t.test('without one the feed starts at the beginning', async (t) => {
  t.same(parseChunkId(undefined), LOG_START);
  t.same(parseChunkId(''), LOG_START);
});

t.test('anything else is refused', async (t) => {
  for (const text of ['1', '1-', '-1', 'a-b', '1-2-3', '1.5-2', '9999999999-1', '1--2']) {
    t.equal(
      reasonOf(() => parseChunkId(text)),
      'INVALID_REQUEST',
      text,
    );
  }
  t.equal(
    reasonOf(() => parseChunkId(['1-1', '1-2'])),
    'INVALID_REQUEST',
    'given twice',
  );
});

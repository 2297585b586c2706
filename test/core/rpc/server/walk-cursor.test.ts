/** Cursors of calls that change many jobs: what they give back, and that nothing else is taken for one. */

import { cursorOf, walkFrom } from '@slipway/core/rpc/server/walk-cursor';
import type { JobWalk } from '@slipway/core/store/jobs/job-walk';
import t from 'tap';

const WALK: JobWalk = {
  endpointId: 'ep1234567890ab',
  move: 'cancel',
  states: ['IN_QUEUE', 'IN_PROGRESS'],
  submitted: { fromMs: 0, untilMs: 253_402_300_799_999 },
  range: { low: 0, high: Number.MAX_SAFE_INTEGER },
  begunUs: 1_790_000_000_000_000,
  part: 2,
  left: { low: 7, high: 90 },
  hasMoved: true,
};
const RETRIED: JobWalk = { ...WALK, move: 'retry', states: ['TIMED_OUT'], part: 0 };
const fields = (walk: JobWalk): unknown[] =>
  JSON.parse(Buffer.from(cursorOf(walk), 'base64url').toString()) as unknown[];
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

t.test('a cursor survives encoding', async (t) => {
  const walks: JobWalk[] = [
    WALK,
    { ...WALK, submitted: undefined, hasMoved: false },
    { ...WALK, submitted: { fromMs: undefined, untilMs: 5 } },
    RETRIED,
    { ...RETRIED, ended: { fromMs: 5, errorGroup: undefined } },
    { ...RETRIED, ended: { fromMs: undefined, errorGroup: '0123456789abcdef' } },
    { ...RETRIED, ended: { fromMs: 253_402_300_799_999, errorGroup: '0123456789abcdef' } },
  ];
  for (const walk of walks) t.same(walkFrom(cursorOf(walk), walk.endpointId, walk.move), walk);
  t.equal(cursorOf(undefined), '');
});

t.test('of another endpoint, another kind of call, or made up', async (t) => {
  const refused = (cursor: string, name: string, endpointId = WALK.endpointId, move: JobWalk['move'] = 'cancel') =>
    t.throws(() => walkFrom(cursor, endpointId, move), { reason: 'INVALID_REQUEST', message: /cursor/ }, name);
  refused(cursorOf(WALK), 'of another endpoint', 'ep000000000000');
  refused(cursorOf(WALK), 'of the other call', WALK.endpointId, 'retry');
  refused(cursorOf({ ...WALK, move: 'retry' }), 'states that it cannot leave', WALK.endpointId, 'retry');
  const values = [{}, null, [], 'cancel', 7, fields(WALK).slice(1), [...fields(WALK), 1]];
  for (const text of ['x', '%00', 'MTIz', 'a b', 'A'.repeat(2_000), ...values.map(encoded)])
    refused(text, text.slice(0, 20));
  for (const [place, name] of [
    'endpoint',
    'move',
    'states',
    'from',
    'until',
    'low',
    'high',
    'begun',
    'part',
    'left low',
    'left high',
    'moved',
  ].entries()) {
    for (const value of ['', -1, 0.5, 2 ** 60, {}, [], ['IN_QUEUE', 'GONE'], ['IN_QUEUE', 'IN_QUEUE', 'IN_QUEUE']]) {
      refused(encoded(fields(WALK).with(place, value)), `${name} is ${JSON.stringify(value)}`);
    }
  }
  refused(encoded(fields(WALK).with(8, 3)), 'a part that is not there');
});

t.test('by how jobs ended: without the filter the cursor is compatible with older releases', async (t) => {
  const old = fields(RETRIED);
  t.equal(old.length, 12);
  t.same(walkFrom(encoded(old), WALK.endpointId, 'retry'), RETRIED);
  const refused = (value: unknown[], name: string, move: JobWalk['move'] = 'retry') =>
    t.throws(
      () => walkFrom(encoded(value), WALK.endpointId, move),
      { reason: 'INVALID_REQUEST', message: /cursor/ },
      name,
    );
  const group = '0123456789abcdef';
  refused([...fields(WALK), null, group], 'to cancel', 'cancel');
  for (const more of [
    [null],
    [group],
    [null, group, null],
    [null, ''],
    [null, 'x'],
    [null, 7],
    [null, [group]],
    [-1, group],
    ['5', group],
    [2 ** 60, group],
  ]) {
    refused([...old, ...more], JSON.stringify(more));
  }
});

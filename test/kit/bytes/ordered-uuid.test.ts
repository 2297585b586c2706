/** Identifiers that sort by time. */

import { orderedUuid } from '@slipway/kit/bytes/ordered-uuid';
import { systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';

const at = (ms: number): string => orderedUuid({ clock: { nowMs: () => ms }, random: systemRandom });

t.test('an id is a UUID of version 7', async (t) => {
  t.match(at(Date.UTC(2026, 10, 22)), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.equal(at(0x0123456789ab).slice(0, 13), '01234567-89ab', 'its first 48 bits are the millisecond');
});

t.test('ids sort by millisecond, and two of the same millisecond differ', async (t) => {
  const times = [0, 1, 255, 1_700_000_000_000.75, 1_700_000_000_001, 2 ** 41, 2 ** 47];
  const ids = times.map(at);
  t.same(ids.toSorted(), ids);
  t.not(at(5), at(5));
});

/** Messages from an edge to an activator: only a holder of the edges' key can send them. */

import { activationText, readActivation } from '@slipway/kit/net/activation';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';

const KEY = 'edge-key-of-this-test-0123456789';
const OF = { endpointId: 'abc123', accountId: 'user_1' };

t.test('it is read with the key', async (t) => {
  t.same(readActivation([KEY], activationText(KEY, OF)), OF);
  t.same(readActivation(['another', KEY], activationText(KEY, OF)), OF, 'also with the other one of two');
});

t.test('another key, another endpoint, anything else: rejected', async (t) => {
  const text = activationText(KEY, OF);
  for (const [keys, given] of [
    [['another'], text],
    [[], text],
    [[KEY], text.replace('abc123', 'abc124')],
    [[KEY], text.replace('user_1', 'user_2')],
    [[KEY], ''],
    [[KEY], '..'],
    [[KEY], text.slice(0, -1)],
    [[KEY], `${text}x`],
  ] as const)
    t.equal(readActivation(keys, given), undefined, given);
  fc.assert(
    fc.property(fc.string(), (given) => readActivation([KEY], given) === undefined),
    { seed: SEED },
  );
});

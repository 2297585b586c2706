/** Where keys are found (docs/reference/api.md#keys). */

import { keyOfQueueRequest, keyOfRestRequest } from '@slipway/facades/plugins/credentials';
import t from 'tap';

t.test('queue requests: with or without Bearer in any case, or as a parameter', async (t) => {
  for (const header of ['Bearer abc', 'bearer abc', 'BEARER   abc', 'abc', ' abc '])
    t.equal(keyOfQueueRequest(header, undefined), 'abc', header);
  t.equal(keyOfQueueRequest(undefined, 'abc'), 'abc');
  t.equal(keyOfQueueRequest('', 'abc'), 'abc');
  t.equal(keyOfQueueRequest('Bearer one', 'two'), 'one', 'the header wins');
});

t.test('malformed keys are ignored', async (t) => {
  for (const header of [undefined, '', 'Bearer a b', 'a\u0000b', 'k\u00e9y', 'x'.repeat(513)]) {
    t.equal(keyOfQueueRequest(header, undefined), undefined, JSON.stringify(header));
  }
  t.equal(keyOfQueueRequest(undefined, ['a', 'b']), undefined, 'a parameter given twice');
});

t.test('REST requests: the bearer form only', async (t) => {
  t.equal(keyOfRestRequest('Bearer abc'), 'abc');
  t.equal(keyOfRestRequest('bearer abc'), 'abc');
  for (const header of [undefined, 'abc', 'Basic abc', 'Bearer ', 'Bearer a b'])
    t.equal(keyOfRestRequest(header), undefined, String(header));
});

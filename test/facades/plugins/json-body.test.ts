/** Bodies in a charset other than UTF-8 are rejected with a text that names the cause. */

import { scanObject } from '@slipway/facades/plugins/bodies/json-body';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import t from 'tap';

const TEXT = '{"input":{}}';
const utf16 = Buffer.from(TEXT, 'utf16le');
const utf32 = Buffer.concat([...TEXT].map((character) => Buffer.from([character.charCodeAt(0), 0, 0, 0])));

const scan = (bytes: Buffer): unknown => workNow(scanObject(bytes, ['input']));

for (const [name, bytes, message] of [
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${TEXT}`), /byte order mark \(BOM\): send UTF-8 without one/],
  ['UTF-16, little end first', utf16, /UTF-16 or UTF-32: send UTF-8/],
  ['UTF-16, big end first', Buffer.from(utf16).swap16(), /UTF-16 or UTF-32: send UTF-8/],
  ['UTF-16 with a byte order mark', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]), /UTF-16 or UTF-32: send UTF-8/],
  ['UTF-32', utf32, /UTF-16 or UTF-32: send UTF-8/],
  [
    'Latin-1',
    Buffer.from('{"input":{"name":"Z\u00fcrich"}}', 'latin1'),
    /not valid UTF-8, whatever charset its content type names: send UTF-8/,
  ],
] as const) {
  t.test(name, async (t) => {
    t.throws(() => scan(bytes), { reason: 'INVALID_REQUEST', message });
  });
}

t.test('UTF-8', async (t) => {
  t.match(scan(Buffer.from('{"input":{"name":"Zürich"}}')), { kind: 'object' });
});

/** The console's layout of JSON: it adds nothing but blanks, wherever the text is cut off. */

import { formatJson, stringOf } from '@slipway/facades/console/web/src/lib/format-json';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';

t.test('the formatted text has the same value', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.boolean(), (value, isWide) => {
      const json = JSON.stringify(value, undefined, isWide ? 1 : 0);
      return JSON.stringify(JSON.parse(formatJson(json, Infinity))) === JSON.stringify(JSON.parse(json));
    }),
    { seed: SEED },
  );
});

t.test('truncated anywhere, it is a prefix of the whole', async (t) => {
  const json = '{"a":[1,2],"b":{"c":[],"d":{}},"e":"x, {y} \\"z\\"","f":[[1],[2]]}';
  const whole = formatJson(json, Infinity).replaceAll(/\s/g, '');
  for (let length = 1; length < json.length; length += 1) {
    const part = formatJson(json.slice(0, length), Infinity).replaceAll(/\s/g, '');
    t.ok(whole.startsWith(part) && part.length > 0, `${length} characters`);
  }
});

t.test('lines and rows', async (t) => {
  t.equal(
    formatJson('{"a":1.50,"b":[1,2],"c":[[1],{}],"d":[]}', Infinity),
    '{\n  "a": 1.50,\n  "b": [1, 2],\n  "c": [\n    [1],\n    {}\n  ],\n  "d": []\n}',
  );
  const rows = formatJson(JSON.stringify(Array.from({ length: 300 }, (_, place) => place)), Infinity).split('\n');
  t.ok(rows.length < 20 && rows.every((row) => row.length < 110), 'a list of numbers is no line each');
  t.ok(formatJson('['.repeat(3_000), 10_000).length < 20_000, 'what is nested grows no further than asked');
});

t.test('a document that is one string, also truncated', async (t) => {
  t.equal(stringOf('"a\\nb"'), 'a\nb');
  t.equal(stringOf('"a\\u00'), 'a');
  t.equal(stringOf('"a\\'), 'a');
  t.equal(stringOf('{"a":"b"}'), undefined);
});

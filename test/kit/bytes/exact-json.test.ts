/** JSON that is parsed and written again: numbers keep their digits. */
import { isJsonObject, parseExact } from '@slipway/kit/bytes/exact-json';
import t from 'tap';

t.test('numbers keep their digits', async (t) => {
  const list = '[1.10,-0,1e400,0.1,12345678901234567890]';
  const text = `{"id":9007199254740993,"list":${list},"__proto__":{"a":1},"text":"9007199254740993"}`;
  t.equal(JSON.stringify(parseExact(text)), text);
  t.same(parseExact('{"a":1.5,"b":[2,null,true]}'), { a: 1.5, b: [2, null, true] }, 'usual numbers are numbers');
  t.throws(() => parseExact('{"a":'), SyntaxError);
  t.throws(() => parseExact(`${'['.repeat(50_000)}${']'.repeat(50_000)}`), new SyntaxError('it is nested too deep'));
});

t.test('a number of many digits is no object', async (t) => {
  t.equal(isJsonObject(parseExact('9007199254740993')), false);
  t.equal(isJsonObject(parseExact('{"a":9007199254740993}')), true);
  for (const text of ['null', '[]', '"x"', '1', 'true']) t.equal(isJsonObject(parseExact(text)), false, text);
});

/** Inputs in code samples: literals that mean the same as the JSON. */
import { runInNewContext } from 'node:vm';
import { isRounded, javascriptLiteral, pythonLiteral } from '@slipway/facades/console/web/src/lib/literals';
import { parseExact } from '@slipway/kit/bytes/exact-json';
import t from 'tap';

t.test('literals', async (t) => {
  const value = { prompt: "it's", 'a b': [1, true, null, { deep: 'x\ny' }], none: {}, on: false };
  t.equal(
    pythonLiteral(value),
    '{"prompt": "it\'s", "a b": [1, True, None, {"deep": "x\\ny"}], "none": {}, "on": False}',
  );
  t.equal(
    javascriptLiteral(value),
    '{ prompt: "it\'s", "a b": [1, true, null, { deep: "x\\ny" }], none: {}, on: false }',
  );
  t.same(JSON.parse(JSON.stringify(runInNewContext(`(${javascriptLiteral(value)})`))), value);
  const exact = parseExact('{"id": [9007199254740993, 1.50]}');
  t.equal(pythonLiteral(exact), '{"id": [9007199254740993, 1.50]}', 'numbers keep their digits');
  t.equal(javascriptLiteral(exact), '{ id: [9007199254740993, 1.50] }');
});

t.test('numbers that a JavaScript literal cannot hold', async (t) => {
  for (const text of ['9007199254740993', '{"a":[{"b":-12345678901234567.8}]}', '[1e400]'])
    t.equal(isRounded(parseExact(text)), true, text);
  for (const text of ['{"a":[1.50,-0,1e5,0.000000000000000000001,null,"9007199254740993"]}', '123456789012345', 'null'])
    t.equal(isRounded(parseExact(text)), false, text);
});

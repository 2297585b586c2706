import { elementCount, splitChunk } from '@slipway/gpu-agent/bridge/split-chunk';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import t from 'tap';

const split = (json: string, bytesMax: number): string[] | undefined =>
  workNow(splitChunk(Buffer.from(json), bytesMax))?.map(String);

t.test('small enough', async (t) => {
  for (const json of ['"abc"', '{"a":1}', '[1,2]', '12345', 'null']) t.same(split(json, json.length), [json]);
});

t.test('a text is cut between code points', async (t) => {
  t.same(split('"abcdef"', 5), ['"abc"', '"def"']);
  t.same(split('"abcdefg"', 5), ['"abc"', '"def"', '"g"']);
  // Two bytes each: two fit beside the quotes.
  t.same(split('"éééé"', 6), ['"éé"', '"éé"']);
  t.same(split('"a🦊b🦊"', 6), ['"a"', '"🦊"', '"b"', '"🦊"']);
  t.same(split('"x\\n\\"y"', 5), ['"x\\n"', '"\\"y"']);
  // An escaped pair of surrogates stays whole; half a pair is a unit of its own.
  t.same(split('"ab\\ud83e\\udd8acd"', 14), ['"ab"', '"\\ud83e\\udd8a"', '"cd"']);
  t.same(split('"\\ud83e\\u0041ab"', 8), ['"\\ud83e"', '"\\u0041"', '"ab"']);
});

t.test('a long text comes back whole', async (t) => {
  const text = 'é\n🦊"\\ zwölf\u0000'.repeat(5_000);
  const pieces = split(JSON.stringify(text), 1_000)!;
  t.ok(pieces.every((piece) => Buffer.byteLength(piece) <= 1_000));
  t.equal(pieces.map((piece) => JSON.parse(piece) as string).join(''), text);
});

t.test('an array is cut between its elements', async (t) => {
  t.same(split('[1,2,3,4]', 5), ['[1,2]', '[3,4]']);
  t.same(split('[11,2,33]', 5), ['[11]', '[2]', '[33]']);
  t.same(split('[[1,2],{"a":"],"},"x,y"]', 12), ['[[1,2]]', '[{"a":"],"}]', '["x,y"]']);
  t.same(split('[ 1 , 2 ]', 6), ['[ 1 ]', '[ 2 ]']);
});

t.test('what cannot be cut', async (t) => {
  t.equal(split('{"a":"bbbbbbbb"}', 8), undefined);
  t.equal(split('1234567890', 8), undefined);
  t.equal(split('[1,"too long for it"]', 8), undefined);
  t.equal(split('["too long for it",1]', 8), undefined);
});

t.test('elements are counted, as far as asked', async (t) => {
  const count = (text: string, most = 99): number => workNow(elementCount(Buffer.from(text), most));
  t.same(
    ['[]', '[ ]', '[1]', '[[],[]]', '[",",{"a":[1,2]} ]', '{"a":1}', '"[1,2]"', 'null', ''].map((text) => count(text)),
    [0, 0, 1, 2, 2, 0, 0, 0, 0],
  );
  t.equal(count('[1,2,3]', 2), 2);
});

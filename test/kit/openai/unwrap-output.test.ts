/** The one answer inside a job's output. */

import { workNow } from '@slipway/kit/bytes/sliced-work';
import { unwrapOutput } from '@slipway/kit/openai/unwrap-output';
import t from 'tap';

const unwrap = (text: string): string | undefined => workNow(unwrapOutput(Buffer.from(text)))?.toString();

t.test('a list of one is unwrapped, byte for byte', async (t) => {
  t.equal(unwrap('[{"a": 1.00}]'), '{"a": 1.00}');
  t.equal(unwrap(' [ \n{"a":[1,"]"]} ] '), '{"a":[1,"]"]}');
});

t.test('anything else stays as it is', async (t) => {
  for (const text of ['{"a":1}', '[1,2]', '"x"', '0', 'false']) t.equal(unwrap(text), text);
});

t.test('empty outputs', async (t) => {
  for (const text of ['', 'null', '[]']) t.equal(unwrap(text), undefined, text);
  t.equal(workNow(unwrapOutput(undefined)), undefined);
});

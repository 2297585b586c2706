/** Output of a container is put together from frames, however these are cut on their way. */

import { OutputFrames } from '@slipway/gpu-agent/executors/container/output-frames';
import t from 'tap';

function frame(text: string, stream = 1): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

t.test('pieces of any size give the same output', async (t) => {
  const texts = ['one\n', '', 'two\n', 'x'.repeat(1_000), 'é\n'];
  const all = Buffer.concat(texts.map((text, index) => frame(text, (index % 2) + 1)));
  for (const size of [1, 2, 3, 7, 8, 9, 100, all.length]) {
    const taken: Buffer[] = [];
    const frames = new OutputFrames((bytes) => taken.push(bytes));
    for (let at = 0; at < all.length; at += size) frames.write(all.subarray(at, at + size));
    t.equal(Buffer.concat(taken).toString(), texts.join(''), `${size} bytes at a time`);
  }
});

/** Where frames of a WebSocket end, however their bytes come. */

import { closeFrame, FrameEnds } from '@slipway/facades/activator/socket-frames';
import t from 'tap';

function frame(bytes: number, isMasked: boolean): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt8(0x82, 0);
  const longLength = bytes < 65_536 ? 126 : 127;
  const length = bytes < 126 ? bytes : longLength;
  head.writeUInt8(length | (isMasked ? 0x80 : 0), 1);
  if (length === 126) head.writeUInt16BE(bytes, 2);
  if (length === 127) head.writeBigUInt64BE(BigInt(bytes), 2);
  const headBytes = { 126: 4, 127: 10 }[length] ?? 2;
  return Buffer.concat([
    head.subarray(0, headBytes),
    Buffer.from(isMasked ? [1, 2, 3, 4] : []),
    Buffer.alloc(bytes, 'x'),
  ]);
}

const LENGTHS = [0, 1, 125, 126, 127, 65_535, 65_536, 100_000];

t.test('frames of every length, whole and in pieces', async (t) => {
  const frames = LENGTHS.flatMap((length) => [frame(length, false), frame(length, true)]);
  const ends = frames.map((_, index) => Buffer.concat(frames.slice(0, index + 1)).length);
  const all = Buffer.concat(frames);
  for (const size of [1, 2, 3, 1_000, 65_536, all.length]) {
    const follow = new FrameEnds();
    const seen: number[] = [];
    let isRight = true;
    for (let at = 0; at < all.length; at += size) {
      const end = follow.pass(all.subarray(at, at + size));
      if (end > 0) seen.push(at + end);
      isRight &&= follow.isBetween === ends.includes(Math.min(at + size, all.length));
    }
    t.ok(isRight, 'it knows whether it is between two frames');
    const expected: number[] = [];
    for (let at = 0; at < all.length; at += size) {
      const last = ends.findLast((end) => end > at && end <= at + size);
      if (last !== undefined) expected.push(last);
    }
    t.same(seen, expected, `pieces of ${size} bytes`);
  }
});

t.test('a close frame is one frame', async (t) => {
  const follow = new FrameEnds();
  const bytes = closeFrame(1008, 'no');
  t.equal(follow.pass(bytes), bytes.length);
  t.same([...bytes], [0x88, 4, 0x03, 0xf0, 0x6e, 0x6f]);
});

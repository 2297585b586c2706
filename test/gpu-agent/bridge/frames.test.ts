/** Frames of the link: however they are split on their way, they arrive unchanged. */

import type { NewFrame } from 'slipway-worker/frames';
import { FrameKind, FrameReader, FrameWriter } from 'slipway-worker/frames';
import t from 'tap';
import { seededRandom } from '../../helpers/time/seeded-random.ts';

/** Frames as they travel. */
async function written(frames: readonly NewFrame[], times = 1): Promise<Buffer> {
  const writes: Uint8Array[] = [];
  const writer = new FrameWriter(
    {
      write: (bytes, done) => {
        writes.push(bytes);
        done();
      },
    },
    (work) => {
      queueMicrotask(work);
    },
  );
  for (const frame of frames) writer.add(frame);
  await Promise.resolve();
  if (writes.length !== times) t.fail(`${writes.length} writes`);
  return Buffer.concat(writes);
}

t.test('cut anywhere', async (t) => {
  const random = seededRandom(7);
  const upTo = (most: number): number => Math.floor(random.fraction() * (most + 1));
  for (let round = 0; round < 300; round += 1) {
    const frames = Array.from({ length: 1 + upTo(8) }, (_, call) => ({
      call,
      kind: FrameKind.RESULT,
      flag: upTo(1),
      name: 'ä-'.repeat(upTo(20)),
      body: Buffer.alloc(upTo(200), upTo(255)),
    }));
    // A body in pieces arrives as one.
    const bytes = await written(
      frames.map(({ body, ...rest }) => ({ ...rest, body: [body.subarray(0, 50), body.subarray(50)] })),
    );
    const reader = new FrameReader();
    const found = [];
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + 1 + upTo(60));
      found.push(...reader.push(bytes.subarray(at, end)));
      at = end;
    }
    if (!t.same(found, frames)) return;
  }
});

t.test('a malformed or oversized frame is refused before it is read', async (t) => {
  const [name, body] = ['job', Buffer.alloc(2_000)];
  const long = await written([{ call: 1, kind: FrameKind.RESULT, flag: 0, name, body: [body] }]);
  t.throws(() => new FrameReader(1_000).push(long.subarray(0, 12)));
  t.throws(
    () => new FrameReader().push(Buffer.from('GET / HTTP/1.1\r\nhost: here\r\n\r\n')),
    "its name would be longer than a job's",
  );
  t.throws(
    () => new FrameReader().push(Buffer.from([0, 0, 0, 8, 0, 0, 0, 1, 2, 0, 0, 9])),
    'its name would be longer than itself',
  );
});

t.test('large pieces are written as they are, small ones around them together', async (t) => {
  const [large, small] = [Buffer.alloc(200_000, 'l'), Buffer.from('s')];
  const frames = [
    { call: 1, kind: FrameKind.ANSWER, body: [small, large, large, small] },
    { call: 2, kind: FrameKind.ANSWER, body: [small] },
  ];
  const found = new FrameReader().push(await written(frames, 4));
  t.same(
    found.map(({ call }) => call),
    [1, 2],
  );
  t.ok(found[0]!.body.equals(Buffer.concat([small, large, large, small])));
  t.equal(String(found[1]!.body), 's');
});

/** Pieces of any sizes give the same bytes, and the smallest take no more memory than large ones. */

import { BytePieces, takeRoomBefore } from '@slipway/kit/bytes/byte-pieces';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';

const size = fc.oneof(
  fc.integer({ min: 0, max: 3 }),
  fc.integer({ min: 4_000, max: 5_000 }),
  fc.integer({ min: 60_000, max: 70_000 }),
);
const sizes = fc.array(size, { maxLength: 60 });

t.test('whatever the sizes, all bytes in order', async () => {
  fc.assert(
    fc.property(sizes, sizes, fc.boolean(), (first, second, isAnnounced) => {
      const pieces = new BytePieces(isAnnounced ? first.reduce((sum, next) => sum + next, 0) : 0);
      for (const list of [first, second]) {
        const whole = Buffer.from(
          Array.from({ length: list.reduce((sum, next) => sum + next, 0) }, (_, at) => at % 251),
        );
        let at = 0;
        for (const next of list) pieces.add(whole.subarray(at, (at += next)));
        if (
          pieces.bytes !== whole.length ||
          pieces.held > 18 + whole.length / 4_096 ||
          !pieces.take().equals(whole) ||
          pieces.held !== 0
        )
          return false;
      }
      return true;
    }),
    { seed: SEED, numRuns: 50 },
  );
});

t.test('a million pieces of one byte, and none', async (t) => {
  const pieces = new BytePieces();
  for (let at = 0; at < 1_000_000; at += 1) pieces.add(Buffer.of(at % 256));
  t.ok(pieces.held <= 17 + 16, `${pieces.held} pieces of memory`);
  const all = pieces.take();
  t.equal(all.length, 1_000_000);
  t.equal(all[999_999], 999_999 % 256);
  for (let at = 0; at < 1_000; at += 1) pieces.add(Buffer.alloc(0));
  t.ok(pieces.held <= 18, 'empty pieces take nothing');
  t.equal(pieces.take().length, 0);
});

t.test('announced bytes are allocated in one piece, with free memory before them', async (t) => {
  for (const left of [0, 10]) {
    const pieces = new BytePieces(200_000 + left);
    for (let at = 0; at < 4; at += 1) {
      pieces.add(Buffer.alloc(50_000, at));
      t.equal(pieces.held, 1);
    }
    const all = pieces.take();
    t.same([all.length, all[0], all[199_999]], [200_000, 0, 3]);
    t.ok(all.buffer.byteLength <= 205_000, `${all.buffer.byteLength} bytes`);
    const part = all.subarray(100_000);
    const room = takeRoomBefore(part)!;
    t.ok(room.length >= 104_000 && room.buffer === all.buffer);
    t.equal(room.byteOffset + room.length, part.byteOffset);
    t.equal(takeRoomBefore(part), undefined, 'once');
  }
  t.equal(takeRoomBefore(Buffer.alloc(10)), undefined);
});

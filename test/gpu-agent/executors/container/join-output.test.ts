/** Joining a log with a stream that overlap: against the plain way, and in time on the worst of bytes. */

import { withoutOverlap } from '@slipway/gpu-agent/executors/container/join-output';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../../helpers/time/seeded-random.ts';

/** Returns the same, by trying all lengths. */
function plainly(log: Buffer, stream: Buffer): Buffer {
  for (let length = Math.min(log.length, stream.length); length > 0; length -= 1) {
    if (log.subarray(-length).equals(stream.subarray(0, length))) return stream.subarray(length);
  }
  return stream;
}

t.test('any bytes: as by trying all lengths', async (t) => {
  // Few different bytes, so that much repeats.
  const bytes = fc.array(fc.constantFrom(10, 97, 98), { maxLength: 60 }).map((list) => Buffer.from(list));
  fc.assert(
    fc.property(bytes, bytes, (log, stream) => withoutOverlap(log, stream).equals(plainly(log, stream))),
    { seed: SEED, numRuns: 3_000 },
  );
  fc.assert(
    fc.property(bytes, bytes, bytes, (before, shared, after) => {
      const [log, stream] = [Buffer.concat([before, shared]), Buffer.concat([shared, after])];
      return withoutOverlap(log, stream).equals(plainly(log, stream));
    }),
    { seed: SEED, numRuns: 3_000 },
  );
  t.pass('held');
});

t.test('2 MB of equal bytes with another in the middle: no quadratic search', async (t) => {
  const log = Buffer.alloc(2_000_000, 'a');
  const stream = Buffer.alloc(2_000_000, 'a');
  stream[1_000_000] = 98;
  t.equal(withoutOverlap(log, stream).length, 1_000_000);
});

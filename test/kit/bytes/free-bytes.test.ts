/** Memory that is freed at once: only that of large bytes, and never that of other bytes beside them. */

import { countSends, freeBytes, freeSentBytes } from '@slipway/kit/bytes/free-bytes';
import t from 'tap';

const BYTES = 10_000_000;

t.test('large bytes are freed at once, and every view of them is empty', async (t) => {
  const bytes = Buffer.alloc(BYTES, 1);
  const view = bytes.subarray(20);
  const before = process.memoryUsage().arrayBuffers;
  freeBytes(view);
  t.ok(before - process.memoryUsage().arrayBuffers >= BYTES);
  t.same([bytes.length, view.length], [0, 0]);
  freeBytes(view);
  t.equal(view.length, 0, 'twice');
});

t.test('small bytes, and a part of other bytes, stay', async (t) => {
  const small = Buffer.alloc(1_000, 1);
  freeBytes(small);
  t.equal(small.length, 1_000);
  const all = Buffer.alloc(BYTES, 1);
  const part = all.subarray(0, BYTES / 4);
  freeBytes(part);
  t.same([part.length, all.length, all[BYTES - 1]], [BYTES / 4, BYTES, 1]);
  const shared = Buffer.from(new SharedArrayBuffer(BYTES));
  freeBytes(shared);
  t.equal(shared.length, BYTES);
});

t.test('bytes that a socket may hold are freed only if they were sent once', async (t) => {
  for (const sends of [0, 1, 2]) {
    const bytes = Buffer.alloc(BYTES, 1);
    const sent: Buffer & { sends?: number } = bytes.subarray(1);
    countSends(sent);
    sent.sends = sends;
    freeBytes(bytes);
    t.equal(bytes.length, BYTES);
    freeSentBytes(sent);
    t.equal(bytes.length, sends === 1 ? 0 : BYTES);
  }
  const uncounted = Buffer.alloc(BYTES);
  freeSentBytes(uncounted);
  t.equal(uncounted.length, BYTES);
});

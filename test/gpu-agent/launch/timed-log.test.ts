/** A log that knows when its parts arrived, and continues where an earlier one ended. */

import { TimedLog } from '@slipway/gpu-agent/launch/timed-log';
import t from 'tap';

/** Returns a log, and what writes to it at an instant. */
function logOf(bytesMax = 100) {
  let now = 0;
  const log = new TimedLog(bytesMax, { monotonicMs: () => now, nowMs: () => 1_000_000 + now });
  return {
    log,
    write: (atMs: number, text: string) => {
      now = atMs;
      log.write(Buffer.from(text));
    },
  };
}
const stamp = (at: number, atMs: number) => ({ at, monotonicMs: atMs, wallMs: 1_000_000 + atMs });

t.test('output within a millisecond has one time', async (t) => {
  const { log, write } = logOf();
  write(1, 'ab');
  write(1.5, 'c');
  write(2, 'd');
  t.same(log.kept(), { bytes: Buffer.from('abcd'), start: 0, stamps: [stamp(0, 1), stamp(3, 2)] });
});

t.test('an earlier log comes first: its bytes count, with or without new output', async (t) => {
  const previous = logOf(4);
  previous.write(1, 'ab');
  previous.write(2, 'cdef');
  const kept = previous.log.kept();
  t.same(kept, { bytes: Buffer.from('cdef'), start: 2, stamps: [stamp(0, 1), stamp(2, 2)] });
  for (const first of ['', 'gh']) {
    const { log, write } = logOf();
    if (first !== '') write(5, first);
    log.precede(kept);
    write(9, 'i');
    const own = first === '' ? [] : [stamp(6, 5)];
    t.same(log.kept(), {
      bytes: Buffer.from(`cdef${first}i`),
      start: 2,
      stamps: [...kept.stamps, ...own, stamp(6 + first.length, 9)],
    });
  }
  const small = logOf(4);
  small.write(5, 'gh');
  small.log.precede(kept);
  t.match(small.log.kept(), { bytes: Buffer.from('efgh'), start: 4 }, 'the oldest make room');
});

t.test('lines of the system are marked; hidden ones are not in the plain text', async (t) => {
  const { log, write } = logOf();
  log.note('pulling', { hidden: false });
  log.note('Started.', { hidden: true });
  write(2, 'own');
  log.note('It ended\nbadly.', { hidden: true });
  const { bytes, system } = log.kept();
  t.equal(bytes.toString(), 'pulling\nStarted.\nown\nIt ended badly.\n');
  t.same(
    system!.map(({ at, to }) => bytes.toString('utf8', at, to)),
    ['pulling\n', 'Started.\n', 'It ended badly.\n'],
  );
  t.equal(log.tail(100).toString(), 'pulling\nown');
  t.equal(log.tail(2).toString(), 'wn');
  const next = logOf();
  next.log.note('Started.', { hidden: true });
  next.log.precede(log.kept());
  t.same([next.log.kept().system!.at(-1)!.at, next.log.tail(100).toString()], [bytes.length, 'pulling\nown']);
  const small = logOf(20);
  small.log.note('Started.', { hidden: true });
  small.write(3, 'x'.repeat(15));
  t.equal(small.log.tail(100).toString(), 'x'.repeat(15), 'one that is half gone is left out, too');
});

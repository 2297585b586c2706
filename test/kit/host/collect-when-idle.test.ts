/** Garbage is collected once the process is idle, not before, and again when there is more. */
import type { EventLoopUtilization } from 'node:perf_hooks';
import { collectWhenIdle } from '@slipway/kit/host/collect-when-idle';
import t from 'tap';

const MIB = 1024 * 1024;
/** Objects of 50 MiB in all. */
const OBJECTS = 600_000;

/** Begins to look. `shares`: what the looks read. Returns the looks that are due. */
function look(shares: number[], heapBytesMax: number): (() => void)[] {
  const due: (() => void)[] = [];
  const clock = {
    after: (_ms: number, look: () => void) => {
      due.push(look);
      return { cancel: () => undefined };
    },
  };
  const read = (since?: EventLoopUtilization): EventLoopUtilization => ({
    idle: 0,
    active: 0,
    utilization: since === undefined ? 0 : shares.shift()!,
  });
  collectWhenIdle({ clock, read, heapBytesMax });
  return due;
}

const objects = (): object[] => Array.from({ length: OBJECTS }, (_, place) => ({ place, next: [place] }));

t.test('a large heap is left to V8', async (t) => {
  const heapBytesMax = process.memoryUsage().heapUsed + 20 * MIB;
  const shares = [0.01, 0.01];
  const due = look(shares, heapBytesMax);
  let left = objects();
  left = left.slice(0, 1);
  const before = process.memoryUsage().heapUsed;
  t.ok(before > heapBytesMax);
  due.shift()!();
  t.ok(process.memoryUsage().heapUsed > before - 5 * MIB, 'no pause');
  due.shift()!();
  t.equal(due.length, 1, 'it is looked at again');
  t.same([shares.length, left.length], [1, 1]);
});

t.test('not while the loop is busy, and again after growth', async (t) => {
  const shares = [0.5, 0.01, 0.01];
  let left = objects();
  const due = look(shares, Infinity);
  left = left.slice(0, 1);
  const before = process.memoryUsage().heapUsed;
  due.shift()!();
  t.ok(process.memoryUsage().heapUsed > before - 5 * MIB, 'a busy process is left alone');
  due.shift()!();
  t.ok(process.memoryUsage().heapUsed < before - 30 * MIB, 'the garbage is gone');
  due.shift()!();
  t.equal(shares.length, 1, 'a heap that has not grown is left alone');
  left = objects();
  const grown = process.memoryUsage().heapUsed;
  due.shift()!();
  left = left.slice(0, 1);
  due.shift()!();
  t.ok(process.memoryUsage().heapUsed < grown - 30 * MIB, 'later garbage is gone');
  t.same([due.length, shares, left.length], [1, [], 1]);
});

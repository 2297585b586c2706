/** Garbage is collected once the process is idle, not before, and again when there is more. */
import type { EventLoopUtilization } from 'node:perf_hooks';
import { collectWhenIdle } from '@slipway/kit/host/collect-when-idle';
import t from 'tap';

const MIB = 1024 * 1024;
/** Objects of 50 MiB in all. */
const OBJECTS = 600_000;

t.test('not while the loop is busy, and again after growth', async (t) => {
  const due: (() => void)[] = [];
  const clock = {
    after: (_ms: number, look: () => void) => {
      due.push(look);
      return { cancel: () => undefined };
    },
  };
  const shares = [0.5, 0.01, 0.01];
  const read = (since?: EventLoopUtilization): EventLoopUtilization => ({
    idle: 0,
    active: 0,
    utilization: since === undefined ? 0 : shares.shift()!,
  });
  const objects = (): object[] => Array.from({ length: OBJECTS }, (_, place) => ({ place, next: [place] }));
  let left = objects();
  collectWhenIdle(clock, read);
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

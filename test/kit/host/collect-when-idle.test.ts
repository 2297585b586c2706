/** The garbage of a start is collected once the process is idle, and not before. */
import type { EventLoopUtilization } from 'node:perf_hooks';
import { collectWhenIdle } from '@slipway/kit/host/collect-when-idle';
import t from 'tap';

const MIB = 1024 * 1024;
/** Objects of 50 MiB in all. */
const OBJECTS = 600_000;

t.test('not while the loop is busy, then once', async (t) => {
  const due: (() => void)[] = [];
  const clock = {
    after: (_ms: number, look: () => void) => {
      due.push(look);
      return { cancel: () => undefined };
    },
  };
  const shares = [0.5, 0.01];
  const read = (since?: EventLoopUtilization): EventLoopUtilization => ({
    idle: 0,
    active: 0,
    utilization: since === undefined ? 0 : shares.shift()!,
  });
  let left: object[] | undefined = Array.from({ length: OBJECTS }, (_, place) => ({ place, next: [place] }));
  collectWhenIdle(clock, read);
  left = left.slice(0, 1);
  const before = process.memoryUsage().heapUsed;
  due.shift()!();
  t.ok(process.memoryUsage().heapUsed > before - 5 * MIB, 'a busy process is left alone');
  due.shift()!();
  t.ok(process.memoryUsage().heapUsed < before - 30 * MIB, 'the garbage is gone');
  t.same([due, shares, left.length], [[], [], 1], 'and it looks no more');
});

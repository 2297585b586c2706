/** Who leaves a GPU for host memory, and who ends: properties over any standby workers and budgets. */

import { expectedOffloadMs, expectedRestoreMs } from '@slipway/core/domain/machines/standby';
import { evictedForBudget } from '@slipway/core/domain/machines/standby-budget';
import { freedStandbys } from '@slipway/core/domain/scaling/standby/standby-offload';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../../helpers/time/seeded-random.ts';

const offloaded = fc.uniqueArray(
  fc.record({ workerId: fc.stringMatching(/^h[0-9]{1,3}$/), bytes: fc.nat(100), offloadedMs: fc.nat(1_000) }),
  { selector: ({ workerId }) => workerId, maxLength: 6 },
);
const budget = fc.record({ limitBytes: fc.nat(300), offloaded }).map((some) => ({
  ...some,
  usedBytes: some.offloaded.reduce((sum, { bytes }) => sum + bytes, 0),
}));
const standby = fc.record(
  {
    instanceId: fc.constant(''),
    frozenMs: fc.nat(1_000),
    offloadBytes: fc.nat(100),
    running: fc.constant(true as const),
  },
  { requiredKeys: ['instanceId', 'frozenMs'] },
);

t.test('a budget never overflows, and the longest offloaded go first, no more than needed', async () => {
  fc.assert(
    fc.property(budget, fc.nat(200), ({ limitBytes, usedBytes, offloaded: there }, bytes) => {
      const evicted = evictedForBudget({ limitBytes, usedBytes }, there, bytes);
      if (!evicted) return Math.max(bytes, 1) > limitBytes;
      const order = there.toSorted((a, b) => b.offloadedMs - a.offloadedMs || (a.workerId < b.workerId ? -1 : 1));
      const freed = order.slice(0, evicted.length);
      const before = usedBytes - freed.slice(0, -1).reduce((sum, one) => sum + one.bytes, 0);
      const after = usedBytes - freed.reduce((sum, one) => sum + one.bytes, 0);
      const isLeast = evicted.length === 0 || before + Math.max(bytes, 1) > limitBytes;
      return freed.map(({ workerId }) => workerId).join() === evicted.join() && after + bytes <= limitBytes && isLeast;
    }),
    { seed: SEED },
  );
});

t.test('each worker that leaves goes to host memory or ends, and the one that resumes is kept', async () => {
  fc.assert(
    fc.property(fc.array(standby, { maxLength: 4 }), budget, (some, offload) => {
      const standbys = some.map((one, index) => ({ ...one, workerId: `s${index}`, gpuUuids: [`g${index}`] }));
      const ids = standbys.map(({ workerId }) => workerId);
      const uuids = standbys.flatMap(({ gpuUuids }) => gpuUuids);
      const keep = offload.offloaded[0]?.workerId;
      const freed = freedStandbys({ standbys, offload }, ids, uuids, keep);
      if (!freed) return standbys.some(({ running }) => running === true);
      const bytesOf = (workerId: string): number =>
        [...standbys, ...offload.offloaded.map((one) => ({ ...one, offloadBytes: one.bytes }))].find(
          (one) => one.workerId === workerId,
        )?.offloadBytes ?? 0;
      const used =
        offload.usedBytes +
        freed.offloaded.reduce((sum, id) => sum + bytesOf(id), 0) -
        freed.evicted.filter((id) => id.startsWith('h')).reduce((sum, id) => sum + bytesOf(id), 0);
      const each = ids.every((id) => freed.offloaded.includes(id) !== freed.evicted.includes(id));
      const isKept = keep === undefined || !freed.evicted.includes(keep);
      return each && isKept && (freed.offloaded.length === 0 || used <= offload.limitBytes);
    }),
    { seed: SEED },
  );
});

t.test('expected durations: assumed first, then as measured, in proportion to the bytes', async (t) => {
  const gib = 2 ** 30;
  t.equal(expectedOffloadMs(8 * gib), 4_400);
  t.equal(expectedRestoreMs(8 * gib), 1_950);
  t.equal(expectedOffloadMs(2 * gib, { bytes: gib, ms: 700 }), 1_400);
  t.equal(expectedRestoreMs(0, { bytes: gib, ms: 700 }), 700, 'unknown bytes: as the last time');
});

/** Slots of an endpoint that batches may use beside normal requests. */
import type { SlotUse } from '@slipway/core/domain/batches/slot-use';
import { spareSlots, surplusJobs } from '@slipway/core/domain/batches/slot-use';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../../helpers/time/seeded-random.ts';

const QUIET: SlotUse = { slots: 4, normal: 0, low: 0, arrived: 0, executionMs: 200 };
const spare = (use: Partial<SlotUse>): number => spareSlots({ ...QUIET, ...use });

t.test('without normal requests lately a batch has no bound', (t) => {
  t.equal(spare({}), Infinity);
  t.equal(spare({ slots: 0, low: 50 }), Infinity);
  t.end();
});

t.test('one slot stays free for the next normal request, more where they come in bursts', (t) => {
  t.equal(spare({ arrived: 120 }), 3, 'one at a time');
  t.equal(spare({ arrived: 120, normal: 1 }), 2, 'one runs, and another may come');
  t.equal(spare({ arrived: 120, low: 2 }), 1, 'jobs of batches count');
  t.equal(spare({ arrived: 120, low: 9 }), 0);
  t.equal(spare({ slots: 10, arrived: 600 }), 7, '2 slots on average');
  t.equal(spare({ slots: 10, arrived: 5, executionMs: 0 }), 9, 'no execution is known');
  t.end();
});

t.test('where normal requests may need every slot, a batch advances job by job while none is there', (t) => {
  t.equal(spare({ slots: 1, arrived: 120 }), 1);
  t.equal(spare({ slots: 1, arrived: 120, low: 1 }), 0);
  t.equal(spare({ slots: 1, arrived: 120, normal: 1 }), 0);
  t.equal(spare({ slots: 0, arrived: 1 }), 1, 'no worker is ready');
  t.end();
});

t.test('jobs beyond what batches may use are too many', (t) => {
  const surplus = (use: Partial<SlotUse>): number => surplusJobs({ ...QUIET, ...use });
  t.equal(surplus({ low: 200 }), 0, 'nothing else uses the endpoint');
  t.equal(surplus({ low: 200, normal: 1 }), 198);
  t.equal(surplus({ low: 2, normal: 1 }), 0);
  t.equal(surplus({ low: 5, normal: 3, slots: 0 }), 5, 'no worker is ready');
  t.end();
});

t.test('more normal requests never give a batch more slots', (t) => {
  const count = fc.nat(50);
  const use = fc.record({ slots: count, normal: count, low: count, arrived: count, executionMs: fc.nat(5_000) });
  fc.assert(
    fc.property(use, fc.nat(5), (some, more) => {
      const free = spareSlots(some);
      return (
        free >= spareSlots({ ...some, normal: some.normal + more }) &&
        free >= spareSlots({ ...some, arrived: some.arrived + more })
      );
    }),
    { seed: SEED },
  );
  t.end();
});

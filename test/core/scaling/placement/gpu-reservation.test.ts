/** Reservations for workers that need several GPUs of one machine. */
import type { LargeWaiter } from '@slipway/core/domain/scaling/gpu-reservation';
import { reservableFor, reserveForLarge } from '@slipway/core/domain/scaling/gpu-reservation';
import { bestOf, occupied } from '@slipway/core/domain/scaling/placement';
import type { PlacementMachine } from '@slipway/core/domain/scaling/placement-machine';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../../helpers/time/seeded-random.ts';
import { asked, freeOf, large, machine } from './scarce-machines.ts';

const KEPT: [
  what: string,
  machines: PlacementMachine[],
  waiter: LargeWaiter,
  own: [gpus: number, sinceMs: number, weight?: number],
  theirs: number,
  free: number,
][] = [
  [
    'what is free of the machine with most is kept',
    [machine('a', 4, 2), machine('b', 4, 1)],
    large(4),
    [0, 1_000],
    0,
    2,
  ],
  ['no more than it needs', [machine('a', 4)], large(2), [0, 1_000], 0, 2],
  ['not for one that needs as many', [machine('a', 1)], large(1), [0, 1_000], 0, 1],
  ['not of a machine that has too few in all', [machine('a', 2)], large(4), [0, 1_000], 0, 2],
  ['not of another type', [machine('a', 2, 0, 'NVIDIA A40')], large(2), [0, 1_000], 0, 2],
  ['not from one that was given a worker longer ago', [machine('a', 2)], large(2), [0, 3_000], 0, 2],
  ['not for longer than ten minutes', [machine('a', 2)], large(2, 600_000), [0, 1_000], 0, 2],
  ['again in the next half hour', [machine('a', 2)], large(2, 1_800_000), [0, 1_000], 0, 0],
  ['for another account that has as much', [machine('a', 2)], large(2, 2_000, 'other'), [1, 1_000], 1, 0],
  ['not for another account that has more', [machine('a', 2)], large(2, 2_000, 'other'), [1, 1_000], 2, 2],
  [
    'not for another account that has as much and less weight',
    [machine('a', 2)],
    large(2, 2_000, 'other'),
    [1, 1_000, 2],
    1,
    2,
  ],
];
for (const [what, machines, waiter, [gpus, sinceMs, weight = 1], theirs, free] of KEPT) {
  t.test(`reserved for larger workers: ${what}`, async (t) => {
    const own = { accountId: 'own', gpus, weight, sinceMs };
    const back = reserveForLarge(machines, asked(), own, [waiter], [{ accountId: 'other', gpus: theirs, weight: 1 }]);
    t.equal(freeOf(back.machines), free);
    t.equal(back.gpuUuids.length, freeOf(machines) - free);
    t.equal(
      reserveForLarge(machines, asked(0), own, [waiter], []).gpuUuids.length,
      0,
      'a worker without a GPU loses nothing',
    );
  });
}

t.test(
  'a worker with several GPUs is placed despite any number of smaller ones, once each of those has ended',
  async (t) => {
    const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 });
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(
          sizes,
          fc.integer({ min: 2, max: 4 }),
          fc.infiniteStream(fc.nat(1_000)),
          (counts, gpuCount, chance) => {
            if (Math.max(...counts) < gpuCount) return true;
            let machines = counts.map((count, index) => machine(`m${index}`, count, count));
            const end = (uuid: string): void => {
              machines = machines.map((each) => ({
                ...each,
                gpus: each.gpus.map((gpu) => (gpu.uuid === uuid ? { ...gpu, used: false } : gpu)),
              }));
            };
            let kept = 0;
            for (let round = 0; round < counts.length; round += 1) {
              for (const uuid of machines
                .flatMap(({ gpus }) => gpus.map((gpu) => gpu.uuid))
                .toSorted(() => (chance.next().value % 2) - 0.5)) {
                end(uuid);
                // The smaller workers are always placed first, and take what they may.
                let left = reserveForLarge(
                  machines,
                  asked(),
                  { accountId: 'own', gpus: 0, weight: 1, sinceMs: 0 },
                  [large(gpuCount, 1)],
                  [],
                ).machines;
                for (let place = bestOf(left, asked()); place; place = bestOf(left, asked())) {
                  const given = place;
                  [left, machines] = [left, machines].map((all) =>
                    all.map((each) => (each.id === given.machineId ? occupied(each, given) : each)),
                  ) as [PlacementMachine[], PlacementMachine[]];
                }
                if (bestOf(machines, asked(gpuCount))) return true;
                const now = reservableFor(machines, asked(gpuCount))?.gpuUuids.length ?? 0;
                if (now < kept) return false;
                kept = now;
              }
            }
            return false;
          },
        ),
        { seed: SEED, numRuns: 200 },
      ),
    );
  },
);

/** Fair shares: free GPUs are reserved for accounts that have fewer for their weight. */
import type { GpuContention } from '@slipway/core/domain/scaling/fair-share';
import { reserveForOthers } from '@slipway/core/domain/scaling/fair-share';
import { reserveForLarge } from '@slipway/core/domain/scaling/gpu-reservation';
import { bestOf, occupied } from '@slipway/core/domain/scaling/placement';
import type { PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../../helpers/time/seeded-random.ts';
import { asked, freeOf, large, machine } from './scarce-machines.ts';

type Other = [gpus: number, waiting: number, weight?: number, request?: PlacementRequest];
const contention = (own: [gpus: number, weight?: number], ...others: Other[]): GpuContention => ({
  own: { accountId: 'own', gpus: own[0], weight: own[1] ?? 1 },
  others: others.map(([gpus, , weight = 1], index) => ({ accountId: `a${index}`, gpus, weight })),
  rivals: others.map(([, waiting, , request = asked()], index) => ({ accountId: `a${index}`, request, waiting })),
});

const CASES: [
  what: string,
  machines: PlacementMachine[],
  request: PlacementRequest,
  wanted: number,
  contention: GpuContention | undefined,
  free: number,
][] = [
  ['nobody else waits', [machine('a', 2)], asked(), 2, undefined, 2],
  ['one that has less goes first', [machine('a', 1)], asked(), 1, contention([3], [0, 1]), 0],
  ['one that has as much does not', [machine('a', 1)], asked(), 1, contention([1], [1, 1]), 1],
  ['one that has more does not', [machine('a', 1)], asked(), 1, contention([0], [2, 5]), 1],
  ['weights count', [machine('a', 1)], asked(), 1, contention([3, 10], [1, 1]), 1],
  ['no more GPUs are reserved than workers wait', [machine('a', 4)], asked(), 4, contention([3], [0, 1]), 3],
  ['in turns, as they come to have equally much', [machine('a', 6)], asked(), 6, contention([2], [0, 9]), 2],
  ['only what the other can use', [machine('a', 1)], asked(), 1, contention([3], [0, 1, 1, asked(1, 'NVIDIA A40')]), 1],
  ['not for one that fits nowhere', [machine('a', 1)], asked(), 1, contention([3], [0, 1, 1, asked(2)]), 1],
  ['a CPU worker waits for nobody', [machine('a', 1)], asked(0), 1, contention([3], [0, 1]), 1],
];
for (const [what, machines, request, wanted, given, free] of CASES) {
  t.test(what, async (t) => {
    const aside = reserveForOthers(machines, request, wanted, given);
    t.equal(freeOf(aside.machines), free);
    t.equal(aside.slots > 0, request.gpuCount > 0 && free === 0, 'it says so where that leaves no place');
    t.ok(
      aside.machines.every(({ siblings }) => siblings === 0),
      'reserved GPUs count as no sibling of this endpoint',
    );
  });
}

t.test('no GPU is reserved on machines where the workers of an endpoint are paused after a crash', async (t) => {
  const { own, others, rivals } = contention([3], [0, 2]);
  const paused = (...ids: string[]): GpuContention => ({
    own,
    others,
    rivals: rivals.map((rival) => ({ ...rival, paused: ids })),
  });
  const machines = [machine('a', 1), machine('b', 1)];
  const left = (given: GpuContention) =>
    reserveForOthers(machines, asked(), 2, given)
      .machines.filter((each) => freeOf([each]) > 0)
      .map(({ id }) => id);
  t.same(left(paused()), []);
  t.same(left(paused('a')), ['a'], 'one that waits gets the other');
  t.same(left(paused('a', 'b')), ['a', 'b']);
  const back = (ids: string[]) =>
    freeOf(
      reserveForLarge([machine('a', 2)], asked(), { ...own, sinceMs: 0 }, [{ ...large(2), paused: ids }], others)
        .machines,
    );
  t.same([back([]), back(['b']), back(['a'])], [0, 0, 2]);
});

t.test('in any order: no account gets a GPU while a waiting one has fewer for its weight', async (t) => {
  const account = fc.record({ weight: fc.integer({ min: 1, max: 4 }), wants: fc.nat(8) });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        fc.array(account, { minLength: 2, maxLength: 4 }),
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.nat(3), { minLength: 40, maxLength: 40 }),
        (accounts, count, turns) => {
          const state = accounts.map(({ weight, wants }, index) => ({
            accountId: `a${index}`,
            weight,
            waiting: wants,
            gpus: 0,
          }));
          let machines = [machine('m', count)];
          // A random order may leave out an account. So each one is reconciled after it, as often as there are GPUs.
          const rounds = Array.from({ length: count }, () => state.keys().toArray()).flat();
          for (const turn of [...turns, ...rounds]) {
            const own = state[turn % state.length]!;
            const others = state.filter((each) => each !== own);
            const rivals = others.map(({ accountId, waiting }) => ({ accountId, waiting, request: asked() }));
            let left = reserveForOthers(machines, asked(), own.waiting, { own, others, rivals }).machines;
            for (let place = bestOf(left, asked()); place && own.waiting > 0; place = bestOf(left, asked())) {
              const given = place;
              [left, machines] = [left, machines].map((all) => all.map((each) => occupied(each, given))) as [
                PlacementMachine[],
                PlacementMachine[],
              ];
              own.gpus += 1;
              own.waiting -= 1;
            }
          }
          const fair = state.every((has) =>
            state.every((lacks) => lacks.waiting === 0 || has.gpus / has.weight <= (lacks.gpus + 1) / lacks.weight),
          );
          return fair && (freeOf(machines) === 0 || state.every(({ waiting }) => waiting === 0));
        },
      ),
      { seed: SEED, numRuns: 100 },
    ),
  );
});

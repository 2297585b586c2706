/** GPUs that are short go to who has least for its weight: the rule over made-up accounts, and two accounts at a real core. */
import fc from 'fast-check';
import t from 'tap';
import { bestOf, occupied } from '../../../core/domain/placement.ts';
import { setAside } from '../../../core/domain/fair-share.ts';
import type { GpuContest } from '../../../core/domain/fair-share.ts';
import type { PlacementMachine, PlacementRequest } from '../../../core/domain/placement-filters.ts';
import { startReplicas } from '../../helpers/core-replicas.ts';
import { call } from '../../helpers/grpc-clients.ts';
import { SEED } from '../../helpers/seeded-random.ts';
import { waitFor } from '../../helpers/wait-for.ts';

t.setTimeout(120_000);

const L4 = 'NVIDIA L4';
const machine = (id: string, count: number, used = 0, name = L4): PlacementMachine => ({
  id, name: id, connected: true, gone: false, cordoned: false, locations: [], cpuSlots: 0, cpuSlotsUsed: 0, cudaVersion: '', siblings: 0, vcpus: 0,
  vcpusUsed: 0, memoryGb: 0, memoryGbUsed: 0, standbys: [], standbyMax: 0, runsCommands: true, engine: undefined, noEngineReason: '', hasImage: false,
  gpus: Array.from({ length: count }, (_, n) => ({ uuid: `${id}-${n}`, name, migProfile: '', used: n < used, standby: false, unhealthy: '' })),
});
const asked = (gpuCount = 1, type = L4): PlacementRequest => (
  { gpuIds: [type], gpuCount, imageName: '', instanceIds: [], locations: [], allowedCudaVersions: [], dataCenterIds: [] }
);
type Other = [gpus: number, waiting: number, weight?: number, request?: PlacementRequest];
const contest = (own: [gpus: number, weight?: number], ...others: Other[]): GpuContest => ({
  own: { accountId: 'own', gpus: own[0], weight: own[1] ?? 1 },
  others: others.map(([gpus, , weight = 1], index) => ({ accountId: `a${index}`, gpus, weight })),
  rivals: others.map(([, waiting, , request = asked()], index) => ({ accountId: `a${index}`, request, waiting })),
});
const freeOf = (machines: readonly PlacementMachine[]) => machines.flatMap(({ gpus }) => gpus).filter(({ used }) => !used).length;

const CASES: [what: string, machines: PlacementMachine[], request: PlacementRequest, wanted: number, contest: GpuContest | undefined, free: number][] = [
  ['nobody else waits', [machine('a', 2)], asked(), 2, undefined, 2],
  ['one that has less goes first', [machine('a', 1)], asked(), 1, contest([3], [0, 1]), 0],
  ['one that has as much does not', [machine('a', 1)], asked(), 1, contest([1], [1, 1]), 1],
  ['one that has more does not', [machine('a', 1)], asked(), 1, contest([0], [2, 5]), 1],
  ['weights count', [machine('a', 1)], asked(), 1, contest([3, 10], [1, 1]), 1],
  ['no more is set aside than waits', [machine('a', 4)], asked(), 4, contest([3], [0, 1]), 3],
  ['in turns, as they come to have equally much', [machine('a', 6)], asked(), 6, contest([2], [0, 9]), 2],
  ['only what the other can use', [machine('a', 1)], asked(), 1, contest([3], [0, 1, 1, asked(1, 'NVIDIA A40')]), 1],
  ['not for one that fits nowhere', [machine('a', 1)], asked(), 1, contest([3], [0, 1, 1, asked(2)]), 1],
  ['a CPU worker waits for nobody', [machine('a', 1)], asked(0), 1, contest([3], [0, 1]), 1],
];
for (const [what, machines, request, wanted, given, free] of CASES) {
  t.test(what, async (t) => {
    const aside = setAside(machines, request, wanted, given);
    t.equal(freeOf(aside.machines), free);
    t.equal(aside.places > 0, request.gpuCount > 0 && free === 0, 'it says so where that leaves no place');
  });
}

t.test('whoever has the first turn: nobody gets one more while another that waits has less for its weight', async (t) => {
  const account = fc.record({ weight: fc.integer({ min: 1, max: 4 }), wants: fc.nat(8) });
  t.doesNotThrow(() => fc.assert(fc.property(fc.array(account, { minLength: 2, maxLength: 4 }), fc.integer({ min: 1, max: 12 }),
    fc.array(fc.nat(3), { minLength: 40, maxLength: 40 }), (accounts, count, turns) => {
      const state = accounts.map(({ weight, wants }, index) => ({ accountId: `a${index}`, weight, waiting: wants, gpus: 0 }));
      let machines = [machine('m', count)];
      for (const turn of turns) {
        const own = state[turn % state.length]!;
        const others = state.filter((each) => each !== own);
        const rivals = others.map(({ accountId, waiting }) => ({ accountId, waiting, request: asked() }));
        let left = setAside(machines, asked(), own.waiting, { own, others, rivals }).machines;
        for (let place = bestOf(left, asked()); place && own.waiting > 0; place = bestOf(left, asked())) {
          const given = place;
          [left, machines] = [left, machines].map((all) => all.map((each) => occupied(each, given))) as [PlacementMachine[], PlacementMachine[]];
          own.gpus += 1;
          own.waiting -= 1;
        }
      }
      const fair = state.every((has) => state.every((lacks) => lacks.waiting === 0 || has.gpus / has.weight <= (lacks.gpus + 1) / lacks.weight));
      return fair && (freeOf(machines) === 0 || state.every(({ waiting }) => waiting === 0));
    }), { seed: SEED, numRuns: 100 }));
});

t.test('at a real core: a GPU that comes free goes to the account that has none, until the operator weighs otherwise', async (t) => {
  const core = await startReplicas(t);
  const gpus = [1, 2, 3].map((n) => ({ uuid: `GPU-${n}`, name: L4, memoryMib: 24_576, migProfile: '' }));
  await core.joinAgent({ gpus });
  const small = await core.newKey(undefined, [], await core.newAccount('small'));
  const fields = { gpuIds: [L4], workersMin: 1, workersMax: 1 };
  const first = await core.createEndpoint({ ...fields, workersMin: 3, workersMax: 3 });
  await core.ready(first, 3);
  const greedy = await Promise.all([1, 2, 3, 4].map(() => core.createEndpoint(fields)));
  const throttled = async (count: number) => (await core.sql`SELECT FROM scale_decision WHERE throttled > 0`).length === count;
  await waitFor('them to wait', () => throttled(4));
  const poor = [await core.createEndpoint(fields, small), await core.createEndpoint(fields, small)];
  await waitFor('all to wait', () => throttled(6));
  await core.updateEndpoint(first, { workersMin: 2, workersMax: 2 });
  await waitFor('one of the small account\'s', async () => (await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${poor})`).length === 1);
  t.equal((await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${greedy})`).length, 0);
  const quota = { workers: undefined, gpus: undefined, queuedJobs: undefined, requests: undefined, gpuWeight: 10 };
  const { account } = await call(core.clients.access, 'setQuota', { accountId: core.accountId, quota }, core.rootKey);
  t.equal(account!.quota!.gpuWeight, 10);
  await core.updateEndpoint(first, { workersMin: 1, workersMax: 1 });
  await waitFor('one of the heavy account\'s', async () => (await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${greedy})`).length === 1);
  t.equal((await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${poor})`).length, 1);
});

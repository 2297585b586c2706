// test: postgres, 10 s
/**
 * Scarce GPUs: fair shares, reservations for workers with several GPUs, and preemption. As rules, and with a real core.
 */

import type { GpuContention } from '@slipway/core/domain/scaling/fair-share';
import { reserveForOthers } from '@slipway/core/domain/scaling/fair-share';
import type { LargeWaiter } from '@slipway/core/domain/scaling/gpu-reservation';
import { reservableFor, reserveForLarge } from '@slipway/core/domain/scaling/gpu-reservation';
import { bestOf, occupied } from '@slipway/core/domain/scaling/placement';
import type { PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';
import type { PreemptibleWorker } from '@slipway/core/domain/scaling/preemption';
import { preemptibleWorkers, workersToPreempt } from '@slipway/core/domain/scaling/preemption';
import type { WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { nextBatch } from '@slipway/core/scaling/work-queue';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import fc from 'fast-check';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { SEED } from '../../../helpers/time/seeded-random.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(120_000);

const L4 = 'NVIDIA L4';
const A40 = 'NVIDIA A40';
const A5000 = 'NVIDIA RTX A5000';
const machine = (id: string, count: number, used = 0, name = L4): PlacementMachine => ({
  id,
  name: id,
  connected: true,
  gone: false,
  cordoned: false,
  locations: [],
  cpuSlots: 0,
  cpuSlotsUsed: 0,
  cudaVersion: '',
  siblings: 0,
  vcpus: 0,
  vcpusUsed: 0,
  memoryGb: 0,
  memoryGbUsed: 0,
  standbys: [],
  standbyMax: 0,
  runsCommands: true,
  engine: undefined,
  noEngineReason: '',
  hasImage: false,
  gpus: Array.from({ length: count }, (_, n) => ({
    uuid: `${id}-${n}`,
    name,
    migProfile: '',
    used: n < used,
    standby: false,
    unhealthy: '',
  })),
});
const asked = (gpuCount = 1, type = L4): PlacementRequest => ({
  gpuIds: [type],
  gpuCount,
  imageName: '',
  instanceIds: [],
  locations: [],
  allowedCudaVersions: [],
  dataCenterIds: [],
});
type Other = [gpus: number, waiting: number, weight?: number, request?: PlacementRequest];
const contention = (own: [gpus: number, weight?: number], ...others: Other[]): GpuContention => ({
  own: { accountId: 'own', gpus: own[0], weight: own[1] ?? 1 },
  others: others.map(([gpus, , weight = 1], index) => ({ accountId: `a${index}`, gpus, weight })),
  rivals: others.map(([, waiting, , request = asked()], index) => ({ accountId: `a${index}`, request, waiting })),
});
const large = (gpuCount: number, sinceMs = 2_000, accountId = 'own'): LargeWaiter => ({
  accountId,
  request: asked(gpuCount),
  sinceMs,
});
const freeOf = (machines: readonly PlacementMachine[]) =>
  machines.flatMap(({ gpus }) => gpus).filter(({ used }) => !used).length;

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

const leaving = (
  id: string,
  machineId: string,
  gpuUuids: string[],
  draining = false,
  accountId = 'own',
): PreemptibleWorker => ({ id, accountId, machineId, gpuUuids, draining });
const PREEMPTIONS: [
  what: string,
  machines: PlacementMachine[],
  gpuCount: number,
  wanted: number,
  workers: PreemptibleWorker[],
  asked: string[],
][] = [
  ['one for one', [machine('a', 1, 1)], 1, 1, [leaving('w', 'a', ['a-0'])], ['w']],
  [
    'no more than are wanted',
    [machine('a', 2, 2)],
    1,
    1,
    [leaving('w', 'a', ['a-0']), leaving('v', 'a', ['a-1'])],
    ['w'],
  ],
  ['none while a GPU is free', [machine('a', 2, 1)], 1, 1, [leaving('w', 'a', ['a-0'])], []],
  [
    'none while another goes already',
    [machine('a', 2, 2)],
    1,
    1,
    [leaving('w', 'a', ['a-0']), leaving('v', 'a', ['a-1'], true)],
    [],
  ],
  [
    'several of one machine for one large',
    [machine('a', 2, 2)],
    2,
    1,
    [leaving('w', 'a', ['a-0']), leaving('v', 'a', ['a-1'])],
    ['w', 'v'],
  ],
  [
    'of the machine where the fewest must go',
    [machine('a', 2, 2), machine('b', 2, 1)],
    2,
    1,
    [leaving('w', 'a', ['a-0']), leaving('v', 'a', ['a-1']), leaving('u', 'b', ['b-0'])],
    ['u'],
  ],
  ['none where that makes no room', [machine('a', 2, 2)], 2, 1, [leaving('w', 'a', ['a-0'])], []],
  ['none that has another type', [machine('a', 1, 1, A40)], 1, 1, [leaving('w', 'a', ['a-0'])], []],
  ['none of an account that has less', [machine('a', 1, 1)], 1, 1, [leaving('w', 'a', ['a-0'], false, 'poor')], []],
  ['one of an account that has more', [machine('a', 1, 1)], 1, 1, [leaving('w', 'a', ['a-0'], false, 'rich')], ['w']],
  [
    'none of an account that has more and a greater weight',
    [machine('a', 1, 1)],
    1,
    1,
    [leaving('w', 'a', ['a-0'], false, 'heavy')],
    [],
  ],
  [
    'none that goes already, for one more',
    [machine('a', 2, 2)],
    1,
    2,
    [leaving('w', 'a', ['a-0'], true), leaving('v', 'a', ['a-1'])],
    ['v'],
  ],
  ['none for a worker without a GPU', [machine('a', 1, 1)], 0, 1, [leaving('w', 'a', ['a-0'])], []],
];
for (const [what, machines, gpuCount, wanted, workers, expected] of PREEMPTIONS) {
  t.test(`preemption: ${what}`, async (t) => {
    const others = [
      { accountId: 'poor', gpus: 2, weight: 1 },
      { accountId: 'rich', gpus: 9, weight: 1 },
      { accountId: 'heavy', gpus: 9, weight: 9 },
    ];
    t.same(
      workersToPreempt(machines, asked(gpuCount), wanted, {
        own: { accountId: 'own', gpus: 2, weight: 1 },
        others,
        workers,
      }),
      expected,
    );
  });
}

t.test('preemption evaluates few machines for each of 400 workers, as others wait meanwhile', async (t) => {
  const machines = Array.from({ length: 200 }, (_, index) => machine(`m${index}`, 8, 8));
  const workers = machines.flatMap(({ id, gpus }) => gpus.map(({ uuid }) => leaving(uuid, id, [uuid])));
  let evaluations = 0;
  const request = {
    ...asked(1),
    get gpuCount() {
      evaluations += 1;
      return 1;
    },
  };
  const asks = workersToPreempt(machines, request, 400, {
    own: { accountId: 'own', gpus: 1_600, weight: 1 },
    others: [],
    workers,
  });
  t.ok(evaluations < 50_000, `evaluated ${evaluations} times`);
  t.same(
    asks,
    workers.slice(0, 400).map(({ id }) => id),
    'whole machines',
  );
});

t.test('only workers with low-priority jobs are preemptible, beyond the minimum', async (t) => {
  const worker = {
    machineId: 'a',
    desired: 'RUN',
    state: 'READY',
    gpus: 1,
    reachable: true,
    version: 1,
    held: 1,
    idleMs: 0,
    ageMs: 0,
    failures: 0,
    retryDue: false,
  } as const;
  const [low, busy] = [{ ...worker, id: 'low', lowOnly: true } as const, { ...worker, id: 'busy' }];
  const ids = (queued: number, workersMin: number, workers: readonly WorkerSample[]) =>
    preemptibleWorkers({ queued, oldestWaitMs: 0, running: 1, workers }, { workersMin }).map(({ id }) => id);
  t.same(ids(0, 0, [low, busy]), ['low']);
  t.same(ids(0, 1, [low, busy]), ['low']);
  t.same(ids(0, 2, [low, busy]), [], 'workersMin keeps it');
  t.same(ids(1, 0, [low, busy]), [], 'a job of normal priority comes to it next');
  t.same(
    ids(0, 0, [
      { ...low, gpus: 0 },
      { ...low, state: 'DRAINING', desired: 'DRAIN' },
    ]),
    [],
    'it has nothing to give, or goes',
  );
});

t.test('batches: a flood of one account delays no other, and endpoints without workers come first', async (t) => {
  const due = (id: string, accountId: string, workers: number) => ({
    endpoint: { id, accountId },
    sample: { demand: { workers: Array.from({ length: workers }, () => ({ desired: 'RUN' as const })) } },
  });
  const flood = Array.from({ length: 20 }, (_, n) => due(`flood${n}`, 'flood', 0));
  t.same(nextBatch([...flood, due('a', 'one', 0), due('b', 'one', 0), due('c', 'two', 0)]).slice(0, 5), [
    'flood0',
    'a',
    'c',
    'flood1',
    'b',
  ]);
  t.same(nextBatch([due('more', 'one', 3), due('first', 'one', 0)]), ['first', 'more']);
  const growing = Array.from({ length: 20 }, (_, n) => due(`more${n}`, 'one', 3));
  const next = nextBatch([...growing, ...flood, ...flood.map(({ endpoint: { id } }) => due(`${id} too`, 'flood', 0))]);
  t.same(
    [next.length, next.filter((id) => id.startsWith('flood')).length],
    [24, 18],
    'first workers do not starve scale-ups',
  );
  t.equal(nextBatch([...growing, due('first', 'one', 0)]).length, 21);
});

const core = await startReplicas(t);

t.test(
  'with a real core: a freed GPU goes to the account without GPUs, unless the weights say otherwise',
  async (t) => {
    const gpus = [1, 2, 3].map((n) => ({ uuid: `GPU-${n}`, name: L4, memoryMib: 24_576, migProfile: '' }));
    await core.joinAgent({ gpus });
    const small = await core.newKey(undefined, [], await core.newAccount('small'));
    const fields = { gpuIds: [L4], workersMin: 1, workersMax: 1 };
    const first = await core.createEndpoint({ ...fields, workersMin: 3, workersMax: 3 });
    await core.ready(first, 3);
    const greedy = await Promise.all([1, 2, 3, 4].map(() => core.createEndpoint(fields)));
    const throttled = async (count: number) =>
      (await core.sql`SELECT FROM scale_decision WHERE throttled > 0`).length === count;
    await waitFor('them to wait', () => throttled(4));
    const poor = [await core.createEndpoint(fields, small), await core.createEndpoint(fields, small)];
    await waitFor('all to wait', () => throttled(6));
    await core.updateEndpoint(first, { workersMin: 2, workersMax: 2 });
    await waitFor(
      "one of the small account's",
      async () => (await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${poor})`).length === 1,
    );
    t.equal((await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${greedy})`).length, 0);
    const quota = { workers: undefined, gpus: undefined, queuedJobs: undefined, requests: undefined, gpuWeight: 10 };
    const { account } = await call(core.clients.access, 'setQuota', { accountId: core.accountId, quota }, core.rootKey);
    t.equal(account!.quota!.gpuWeight, 10);
    await core.updateEndpoint(first, { workersMin: 1, workersMax: 1 });
    await waitFor(
      "one of the heavy account's",
      async () => (await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${greedy})`).length === 1,
    );
    t.equal((await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${poor})`).length, 1);
  },
);

t.test('with a real core: a freed GPU is reserved for a worker that needs two, and both owners see why', async (t) => {
  await core.joinAgent({
    gpus: [1, 2].map((n) => ({ uuid: `GPU-A${n}`, name: A40, memoryMib: 46_068, migProfile: '' })),
  });
  const endpoint = (gpuCount: number) => core.createEndpoint({ gpuIds: [A40], gpuCount, workersMin: 1, workersMax: 1 });
  const why = async (endpointId: string) =>
    (await call(core.clients.endpoints, 'explain', { endpointId }, core.key)).explanation!;
  const limited = (endpointId: string, limit: string) =>
    waitFor(limit, async () => (await why(endpointId)).limits.some((each) => each.limit === limit), 30_000, 200);
  const running = [await endpoint(1), await endpoint(1)];
  for (const id of running) await core.ready(id, 1);
  const two = await endpoint(2);
  await limited(two, 'NO_PLACE');
  const one = await endpoint(1);
  await limited(one, 'NO_PLACE');
  await core.updateEndpoint(running[0]!, { workersMin: 0, workersMax: 0 });
  await limited(one, 'KEPT_GPUS');
  t.match(
    (await why(one)).summary,
    /free GPUs are reserved for a worker that needs 2 of one machine and has waited longer/,
  );
  await waitFor(
    'it to be told',
    async () => /1 of the 2 is free on one machine and reserved for it/.test((await why(two)).summary),
    30_000,
    200,
  );
  await core.updateEndpoint(running[1]!, { workersMin: 0, workersMax: 0 });
  await core.ready(two, 1);
  t.equal((await core.sql`SELECT FROM worker WHERE endpoint_id = ${one}`).length, 0, 'the smaller one has had none');
});

t.test('with a real core: a worker with only low-priority jobs is preempted, and finishes its job', async (t) => {
  const agent = await core.joinAgent({
    gpus: [{ uuid: 'GPU-B', name: A5000, memoryMib: 24_564, migProfile: '' }],
    onAssignment: () => undefined,
  });
  const given = (index: number) => waitFor(`assignment ${index}`, () => agent.assignments[index]);
  const endpoint = () => core.createEndpoint({ gpuIds: [A5000], workersMin: 0, workersMax: 1 });
  const low = await endpoint();
  await core.submit(low);
  const first = await given(0);
  const [running, waiting] = [await core.submit(low, {}, true), await core.submit(low, {}, true)];
  agent.finish(first.ref!);
  const second = await given(1);
  t.equal(second.ref!.jobId, running.id);
  const normal = await endpoint();
  await core.submit(normal);
  const [worker] = await waitFor('it to be asked to go', async () => {
    const rows = await core.sql`SELECT id FROM worker WHERE endpoint_id = ${low} AND desired = 'DRAIN'`;
    return rows.length > 0 && rows;
  });
  const logged =
    await core.sql`SELECT FROM scale_log WHERE endpoint_id = ${normal} AND actions @> ${core.sql.json([{ do: 'PREEMPT', workerId: worker!.id }])}`;
  t.equal(logged.length, 1, 'the log tells who had to go');
  const { decisions } = await call(
    core.clients.endpoints,
    'listDecisions',
    { endpointId: normal, pageSize: 0, beforeId: 0 },
    core.key,
  );
  t.match(
    decisions.find(({ actions }) => actions.length > 0)?.actions,
    [{ kind: 'PREEMPT', workerId: '' }],
    'its owner is not told whose worker it was',
  );
  const why = async (endpointId: string) =>
    (await call(core.clients.endpoints, 'explain', { endpointId }, core.key)).explanation!;
  t.match(
    (await why(normal)).summary,
    /; a worker with only low-priority jobs is preempted after its current jobs\. To change that: free 1 GPU/,
  );
  const needed = new RegExp(`endpoint ${normal} of this account need`);
  t.match(
    (await why(low)).workers,
    [{ state: 'DRAINING', reason: needed }],
    "and the worker's owner who needs its GPU",
  );
  await core.sql`UPDATE endpoint SET account_id = ${await core.newAccount('other')} WHERE id = ${normal}`;
  const { limits, workers } = await why(low);
  t.match(
    limits.find(({ limit }) => limit === 'GAVE_WAY'),
    { cut: 1, text: /because another account that has fewer GPUs for its weight needed the GPUs/ },
  );
  t.notMatch(JSON.stringify({ limits, workers }), new RegExp(normal), "but nothing of another account's endpoint");
  await core.sql`UPDATE endpoint SET account_id = ${core.accountId} WHERE id = ${normal}`;
  agent.finish(second.ref!);
  t.equal((await given(2)).ref!.endpointId, normal, 'its GPU goes to the job of normal priority');
  t.match(await core.wait(low, running.id), { state: JobState.COMPLETED, attempt: 1 });
  t.match(await core.get(low, waiting.id), { state: JobState.IN_QUEUE });
});

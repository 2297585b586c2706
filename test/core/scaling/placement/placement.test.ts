/** Placement of a worker, and the reasons of other machines. */

import { shortMemoryGb } from '@slipway/core/domain/machines/gpu-facts';
import { cannotRun, occupied, place, placeWorker } from '@slipway/core/domain/scaling/placement';
import type { PlacementGpu, PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';
import t from 'tap';

const gpu = (uuid: string, name = 'NVIDIA L4', given: Partial<PlacementGpu> = {}): PlacementGpu => ({
  uuid,
  name,
  migProfile: '',
  used: false,
  standby: false,
  unhealthy: '',
  ...given,
});
const machine = (id: string, given: Partial<PlacementMachine> = {}): PlacementMachine => ({
  id,
  name: id,
  connected: true,
  gone: false,
  cordoned: false,
  gpus: [],
  locations: [],
  cpuSlots: 4,
  cpuSlotsUsed: 0,
  cudaVersion: '12.8',
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
  ...given,
});
const asked = (given: Partial<PlacementRequest> = {}): PlacementRequest => ({
  imageName: '',
  gpuIds: [],
  gpuCount: 0,
  instanceIds: [],
  locations: [],
  allowedCudaVersions: [],
  dataCenterIds: [],
  ...given,
});
const L4 = asked({ gpuIds: ['NVIDIA L4'], gpuCount: 1 });

const engine = { gpuHandover: 'CDI' } as const;

const PLACED: [
  what: string,
  machines: PlacementMachine[],
  asked: PlacementRequest,
  machineId: string,
  gpuUuids: string[],
][] = [
  ['no GPU wanted: any machine with a slot', [machine('a')], asked(), 'a', []],
  ['a type by name', [machine('a', { gpus: [gpu('g1')] })], L4, 'a', ['g1']],
  [
    'a type by its pool',
    [machine('a', { gpus: [gpu('g1')] })],
    asked({ gpuIds: ['AMPERE_24'], gpuCount: 1 }),
    'a',
    ['g1'],
  ],
  [
    'the preferred type wins over the emptier machine',
    [machine('a', { gpus: [gpu('g1'), gpu('g2')] }), machine('b', { gpus: [gpu('g3', 'NVIDIA A40')] })],
    asked({ gpuIds: ['NVIDIA A40', 'NVIDIA L4'], gpuCount: 1 }),
    'b',
    ['g3'],
  ],
  [
    'within a pool the order of the pool counts',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA GeForce RTX 3090'), gpu('g2', 'NVIDIA L4')] })],
    asked({ gpuIds: ['AMPERE_24'], gpuCount: 1 }),
    'a',
    ['g2'],
  ],
  [
    'the next type when the first is taken',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA A40', { used: true }), gpu('g2')] })],
    asked({ gpuIds: ['NVIDIA A40', 'NVIDIA L4'], gpuCount: 1 }),
    'a',
    ['g2'],
  ],
  [
    'several GPUs of one type',
    [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA A40'), gpu('g3')] })],
    asked({ gpuIds: ['AMPERE_24', 'AMPERE_48'], gpuCount: 2 }),
    'a',
    ['g1', 'g3'],
  ],
  [
    'any GPU when none is named',
    [machine('a'), machine('b', { gpus: [gpu('g1', 'Own Card')] })],
    asked({ gpuCount: 1 }),
    'b',
    ['g1'],
  ],
  [
    'any GPU but an excluded one',
    [machine('a', { gpus: [gpu('g1')] }), machine('b', { gpus: [gpu('g2', 'Tesla T4')] })],
    asked({ gpuIds: ['-NVIDIA L4'], gpuCount: 1 }),
    'b',
    ['g2'],
  ],
  [
    'a type excluded from its pool',
    [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA RTX A5000')] })],
    asked({ gpuIds: ['AMPERE_24', '-NVIDIA L4'], gpuCount: 1 }),
    'a',
    ['g2'],
  ],
  [
    'the doubled blank of the public list',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA A30')] })],
    asked({ gpuIds: ['NVIDIA  A30'], gpuCount: 1 }),
    'a',
    ['g1'],
  ],
  ['fewest siblings', [machine('a', { siblings: 1 }), machine('b')], asked(), 'b', []],
  ['then most room', [machine('a', { cpuSlotsUsed: 2 }), machine('b', { cpuSlotsUsed: 1 })], asked(), 'b', []],
  [
    'then most GPUs that nobody has',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { used: true })] }), machine('b', { gpus: [gpu('g2')] })],
    asked(),
    'b',
    [],
  ],
  [
    'spread before packed',
    [
      machine('a', { gpus: [gpu('g1'), gpu('g2')], siblings: 1 }),
      machine('b', { gpus: [gpu('g3'), gpu('g4'), gpu('g5')] }),
    ],
    L4,
    'b',
    ['g3'],
  ],
  [
    'packed: a large block stays whole',
    [machine('a', { gpus: [gpu('g1'), gpu('g2'), gpu('g3')] }), machine('b', { gpus: [gpu('g4')] })],
    L4,
    'b',
    ['g4'],
  ],
  [
    'packed: GPUs of other kinds stay together too',
    [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA A40')] }), machine('b', { gpus: [gpu('g3')] })],
    L4,
    'b',
    ['g3'],
  ],
  [
    'packed: of any type the kind of which least is left',
    [machine('a', { gpus: [gpu('g1'), gpu('g2'), gpu('g3', 'NVIDIA A40')] })],
    asked({ gpuCount: 1 }),
    'a',
    ['g3'],
  ],
  [
    'no frozen worker goes for tightness',
    [machine('a', { gpus: [gpu('g1'), gpu('g2'), gpu('g3', 'NVIDIA A40', { standby: true })] })],
    asked({ gpuCount: 1 }),
    'a',
    ['g1'],
  ],
  [
    'a location of several',
    [machine('a', { locations: ['US'] }), machine('b', { locations: ['CZ', 'EU-CZ-1'] })],
    asked({ locations: ['EU-CZ-1', 'FR'] }),
    'b',
    [],
  ],
  [
    'a hosted place on a machine that takes any of them',
    [machine('a', { locations: ['rack'] }), machine('b', { locations: ['local', '*'] })],
    asked({ locations: ['US-CA-2', 'EUR-NO-1'] }),
    'b',
    [],
  ],
  [
    'a hosted country there',
    [machine('a', { locations: ['CZ'] }), machine('b', { locations: ['*'] })],
    asked({ locations: ['US'] }),
    'b',
    [],
  ],
  [
    "a place of the operator's own is no hosted one",
    [machine('a', { locations: ['*'] }), machine('b', { locations: ['rack'] })],
    asked({ locations: ['rack'] }),
    'b',
    [],
  ],
  [
    'where one of the volumes is',
    [machine('a', { locations: ['US'] }), machine('b', { locations: ['CZ', 'EU-CZ-1'] })],
    asked({ dataCenterIds: ['EU-CZ-1', 'EU-FR-1'] }),
    'b',
    [],
  ],
  [
    'an image where an engine is',
    [machine('a'), machine('b', { engine, runsCommands: false, siblings: 9 })],
    asked({ imageName: 'i' }),
    'b',
    [],
  ],
  [
    'a command where they are allowed',
    [machine('a', { engine, runsCommands: false }), machine('b', { siblings: 9 })],
    asked(),
    'b',
    [],
  ],
  [
    'where the image is, as long as no more than one worker is there',
    [machine('a', { engine }), machine('b', { engine, hasImage: true, siblings: 1 })],
    asked({ imageName: 'i' }),
    'b',
    [],
  ],
  [
    'elsewhere when two are there: the image is pulled for the spread',
    [machine('a', { engine }), machine('b', { engine, hasImage: true, siblings: 2 })],
    asked({ imageName: 'i' }),
    'a',
    [],
  ],
  [
    'a machine whose disk has room comes before one that lacks it and has fewer siblings',
    [machine('a', { engine, lacksRoom: true }), machine('b', { engine, siblings: 2 })],
    asked({ imageName: 'i' }),
    'b',
    [],
  ],
  [
    'a full disk is no matter where the image is already',
    [machine('a', { engine, hasImage: true, lacksRoom: true }), machine('b', { engine })],
    asked({ imageName: 'i' }),
    'a',
    [],
  ],
  [
    'spread over those that have the image',
    [
      machine('a', { engine, hasImage: true, siblings: 1 }),
      machine('b', { engine, hasImage: true }),
      machine('c', { engine }),
    ],
    asked({ imageName: 'i' }),
    'b',
    [],
  ],
  [
    'the preferred GPU before the image',
    [
      machine('a', { engine, hasImage: true, gpus: [gpu('g1')] }),
      machine('b', { engine, gpus: [gpu('g2', 'NVIDIA A40')] }),
    ],
    asked({ imageName: 'i', gpuIds: ['NVIDIA A40', 'NVIDIA L4'], gpuCount: 1 }),
    'b',
    ['g2'],
  ],
  [
    'virtual GPUs need no hand-over',
    [machine('a', { engine: { gpuHandover: 'VIRTUAL' }, gpus: [gpu('g1')] })],
    { ...L4, imageName: 'i' },
    'a',
    ['g1'],
  ],
  [
    'an older CUDA version than the driver has',
    [machine('a', { cudaVersion: '12.8' })],
    asked({ allowedCudaVersions: ['12.4'] }),
    'a',
    [],
  ],
];

for (const [what, machines, given, machineId, gpuUuids] of PLACED) {
  t.test(`placed: ${what}`, async (t) => {
    t.same(place(machines, given), { machineId, gpuUuids, instanceId: '', evicted: [] });
  });
}

const REFUSED: [what: string, machines: PlacementMachine[], asked: PlacementRequest, why: RegExp][] = [
  ['no machine', [], asked(), /no machine has joined/],
  ['not connected', [machine('a', { connected: false })], asked(), /a: its agent is not connected/],
  ['no GPU', [machine('a')], L4, /a: it has no GPU/],
  ['other GPUs', [machine('a', { gpus: [gpu('g1', 'Tesla T4')] })], L4, /none of its GPUs \(Tesla T4\) is asked for/],
  ['cordoned', [machine('a', { cordoned: true })], asked(), /a: its operator wants nothing new there/],
  [
    'a GPU that is not well',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { unhealthy: 'ECC' })] })],
    L4,
    /a: 1 of its GPUs are not well: g1 \(ECC\)/,
  ],
  [
    'one that is well and taken beside it',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { unhealthy: 'ECC' }), gpu('g2', 'NVIDIA L4', { used: true })] })],
    L4,
    /1 of one type are needed and 0/,
  ],
  [
    'taken GPUs',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { used: true })] })],
    L4,
    /1 of one type are needed and 0/,
  ],
  [
    'too few of one type',
    [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA A40')] })],
    asked({ gpuIds: ['AMPERE_24', 'AMPERE_48'], gpuCount: 2 }),
    /2 of one type are needed and it has fewer/,
  ],
  [
    'a slice is no card',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { migProfile: '1g.6gb' })] })],
    L4,
    /none of its GPUs/,
  ],
  ['slots taken', [machine('a', { cpuSlotsUsed: 4 })], asked(), /all of its 4 slots/],
  ['elsewhere', [machine('a', { locations: ['US'] })], asked({ locations: ['CZ'] }), /it is in US, not in CZ/],
  [
    'away from the volumes',
    [machine('a', { locations: ['US'] })],
    asked({ dataCenterIds: ['EU-CZ-1', 'EU-FR-1'] }),
    /a: it is in US, and the network volumes are in EU-CZ-1, EU-FR-1/,
  ],
  [
    'nowhere in particular',
    [machine('a')],
    asked({ dataCenterIds: ['EU-CZ-1'] }),
    /a: it is in no location \(.*SLIPWAY_AGENT_LOCATIONS\), and the network volumes are in EU-CZ-1/,
  ],
  [
    'in the location, but away from the volumes',
    [machine('a', { locations: ['CZ'] })],
    asked({ locations: ['CZ'], dataCenterIds: ['EU-CZ-1'] }),
    /and the network volumes are in EU-CZ-1/,
  ],
  [
    'old driver',
    [machine('a', { cudaVersion: '11.8' })],
    asked({ allowedCudaVersions: ['12.4'] }),
    /CUDA 11.8, not 12.4/,
  ],
  [
    'a driver that is a little older',
    [machine('a', { cudaVersion: '12.2' })],
    asked({ allowedCudaVersions: ['12.4'] }),
    /CUDA 12.2, not 12.4/,
  ],
  [
    'the only slot after one was placed there',
    [occupied(machine('a', { cpuSlots: 1 }), { machineId: 'a', gpuUuids: [], instanceId: '', evicted: [] })],
    asked(),
    /all of its 1 slots/,
  ],
  [
    'no engine',
    [machine('a', { noEngineReason: 'no socket' })],
    asked({ imageName: 'i' }),
    /^a: it has no container engine \(no socket\)$/,
  ],
  [
    'no commands',
    [machine('a', { runsCommands: false, engine })],
    asked(),
    /^a: its operator allows no commands \(.*--allow-commands\)$/,
  ],
  [
    'no hand-over',
    [machine('a', { engine: { gpuHandover: 'NONE' }, gpus: [gpu('g1')] })],
    { ...L4, imageName: 'i' },
    /cannot hand GPUs to containers/,
  ],
  [
    'every machine says why',
    [machine('a'), machine('b', { connected: false })],
    L4,
    /a: it has no GPU; b: its agent is not connected/,
  ],
];

for (const [what, machines, given, why] of REFUSED) {
  t.test(`refused: ${what}`, async (t) => {
    const placement = place(machines, given);
    t.ok('refusal' in placement && why.test(placement.refusalByMachine), JSON.stringify(placement));
  });
}

t.test('only the operator sees machine names', async (t) => {
  const busy = { gpus: [gpu('g1', 'NVIDIA GeForce RTX 4090', { used: true })] };
  const told = (machines: PlacementMachine[], given: PlacementRequest): string => {
    const placement = place(machines, given);
    return 'refusal' in placement ? placement.refusal : 'placed';
  };
  const others = [
    machine('rack-1', { gpus: [gpu('g1', 'Tesla T4')] }),
    machine('rack-2', { gpus: [gpu('g2', 'NVIDIA A40')] }),
  ];
  const ada = asked({ gpuIds: ['ADA_24'], gpuCount: 1 });
  t.equal(told(others, ada), 'no machine has a free GPU of ADA_24: 2 machines have other GPUs');
  t.equal(
    told([...others, machine('rack-3', busy), machine('rack-4', { connected: false }), machine('vm')], ada),
    'no machine has a free GPU of ADA_24: 1 machine has too few of them free; 2 machines have other GPUs; 1 machine has no GPU; 1 machine is not connected',
  );
  t.equal(told([], ada), 'no machine has joined');
  t.equal(
    told([machine('vm')], asked({ gpuCount: 2 })),
    'no machine has 2 free GPUs of one type: 1 machine has no GPU',
  );
  t.equal(
    told([machine('vm')], asked({ gpuIds: ['-NVIDIA L4'], gpuCount: 1 })),
    'no machine has a free GPU, of those that are not excluded: 1 machine has no GPU',
  );
  t.equal(
    told([machine('vm', { cpuSlotsUsed: 4 })], asked()),
    'no machine has a free slot for it without a GPU: 1 machine has no slot free',
  );
  t.equal(
    told([machine('vm', { vcpus: 1, memoryGb: 1 })], asked({ instanceIds: ['cpu3c-2-4'] })),
    'no machine has room for cpu3c-2-4: 1 machine is too small',
  );
  t.equal(
    told([machine('vm', { locations: ['US'] })], asked({ locations: ['CZ'] })),
    'no machine has a free slot for it without a GPU in CZ: 1 machine is elsewhere (SLIPWAY_AGENT_LOCATIONS)',
  );
  t.equal(
    told(
      [machine('vm', { locations: ['US'] })],
      asked({ gpuIds: ['A'], gpuCount: 1, dataCenterIds: ['EU-1', 'EU-2'] }),
    ),
    'no machine has a free GPU of A where its network volumes are (EU-1 or EU-2): 1 machine is not where the network volumes are (SLIPWAY_AGENT_LOCATIONS)',
  );
  t.equal(
    told(others, asked({ gpuIds: ['A', 'B', 'C', 'D', 'E', 'F'], gpuCount: 1 })).split(':')[0],
    'no machine has a free GPU of A or B or C or D or 2 more',
  );
  for (const [, machines, given] of REFUSED)
    t.notMatch(
      told(
        machines.map((each) => ({ ...each, name: 'secret-host' })),
        given,
      ),
      /secret-host/,
    );
});

const roomy = machine('a', { vcpus: 8, memoryGb: 16 });

t.test('the most preferred free size is used first', async (t) => {
  const sized = asked({ instanceIds: ['cpu3c-4-8', 'cpu3c-2-4'] });
  const given: string[] = [];
  let at = roomy;
  for (let placed = place([at], sized); 'machineId' in placed; placed = place([at], sized)) {
    given.push(placed.instanceId);
    at = occupied(at, placed);
  }
  t.same(given, ['cpu3c-4-8', 'cpu3c-4-8']);
  t.match(place([at], sized), {
    refusalByMachine: 'a: cpu3c-4-8 or cpu3c-2-4 is asked for and 0 of 8 processors and 0 of 16 GB are free',
  });
  t.match(place([at], asked()), { machineId: 'a', instanceId: '' }, 'one without a size needs a slot only');
  const small = { ...roomy, vcpusUsed: 5 };
  t.match(place([small], sized), { instanceId: 'cpu3c-2-4' });
  t.match(place([small, machine('b', { vcpus: 4, memoryGb: 8, siblings: 3 })], sized), {
    machineId: 'b',
    instanceId: 'cpu3c-4-8',
  });
  t.match(place([{ ...roomy, memoryGbUsed: 14 }], sized), {
    refusalByMachine: /8 of 8 processors and 2 of 16 GB are free/,
  });
  t.match(place([machine('a')], sized), { instanceId: 'cpu3c-4-8' }, 'what a machine does not say is never short');
});

t.test('a worker without a GPU type runs without a GPU only if there is none', async (t) => {
  const any = asked({ gpuCount: 1 });
  const bare = machine('a');
  t.match(placeWorker([bare], any), { machineId: 'a', gpuUuids: [] });
  t.match(placeWorker([bare, machine('b', { gpus: [gpu('g1')] })], any), { machineId: 'b', gpuUuids: ['g1'] });
  for (const busy of [{ gpus: [gpu('g1', 'NVIDIA L4', { used: true })] }, { gpus: [gpu('g1')], connected: false }]) {
    t.match(
      placeWorker([bare, machine('b', busy)], any),
      { refusalByMachine: /a: it has no GPU; b: / },
      'it waits for the one there is',
    );
  }
  const elsewhere = machine('b', { gpus: [gpu('g1')], locations: ['US'] });
  t.match(placeWorker([machine('a', { locations: ['CZ'] }), elsewhere], { ...any, locations: ['CZ'] }), {
    machineId: 'a',
    gpuUuids: [],
  });
  t.match(placeWorker([bare], L4), { refusalByMachine: /it has no GPU/ }, 'a type that was asked for is needed');
  t.match(place([bare], any), { refusalByMachine: /it has no GPU/ }, 'pods are meant as they say');
  const gone = machine('b', { gpus: [gpu('g1')], connected: false, gone: true });
  t.match(placeWorker([bare, gone], any), { machineId: 'a', gpuUuids: [] }, 'one that left for good holds nobody up');
  t.match(
    placeWorker([bare, gone, machine('c', { gpus: [gpu('g2')], connected: false })], any),
    { refusalByMachine: /c: its agent/ },
    'one that is away does',
  );
});

t.test('lasting refusals are named, temporary ones are not', async (t) => {
  const why = (machines: PlacementMachine[], request: PlacementRequest): string =>
    cannotRun(machines, request)?.refusal ?? 'waits';
  const image = asked({ imageName: 'i' });
  t.equal(why([], image), 'no machine has joined');
  t.equal(why([machine('a', { gone: true, connected: false })], image), 'no machine is connected, and none was lately');
  t.equal(
    why([machine('a'), machine('b')], image),
    'no machine can run it, which needs a container engine for its image: 2 machines have no container engine',
  );
  t.equal(
    why([machine('a', { runsCommands: false })], L4),
    'no machine can run it, which needs a machine that allows commands and a GPU of NVIDIA L4: 1 machine allows no commands',
  );
  t.equal(cannotRun([machine('a')], image)?.refusalByMachine, 'a: it has no container engine');
  t.equal(
    why([machine('a', { engine }), machine('b', { gone: true, gpus: [gpu('g')] })], { ...L4, imageName: 'i' }),
    'no machine can run it, which needs a container engine for its image and a GPU of NVIDIA L4: 1 machine has no GPU',
    'one that left counts for nothing',
  );
  t.equal(
    why([machine('a', { gpus: [gpu('g')] })], { ...L4, gpuCount: 2 }),
    'no machine can run it, which needs a machine that allows commands and 2 GPUs of one type of NVIDIA L4: 1 machine has too few of them',
  );
  t.match(why([machine('a', { cpuSlots: 0 })], asked()), /1 machine takes nothing without a GPU/);
  t.match(
    why([machine('a', { vcpus: 1, memoryGb: 1 })], asked({ instanceIds: ['cpu3c-2-4'] })),
    /and room for cpu3c-2-4: 1 machine is too small/,
  );
  t.match(
    why([machine('a', { locations: ['US'] })], asked({ dataCenterIds: ['EU-1'] })),
    /1 machine is not where the network volumes are/,
  );
  t.match(
    why([machine('a', { gpus: [gpu('g')] }), machine('b', { engine })], asked({ imageName: 'i', gpuCount: 1 })),
    /waits/,
    'any GPU, and none where engines are',
  );
  for (const waits of [
    { connected: false },
    { cordoned: true },
    { cpuSlotsUsed: 4 },
    { gpus: [gpu('g', 'NVIDIA L4', { used: true })] },
    { gpus: [gpu('g', 'NVIDIA L4', { unhealthy: 'ECC' })] },
  ]) {
    t.equal(why([machine('a', waits)], waits.gpus ? L4 : asked()), 'waits', JSON.stringify(waits));
  }
});

t.test('any machines: placed, refused for good by all, or waiting for one that could', async (t) => {
  const pick = <Value>(seed: number, ...values: Value[]): Value => values[seed % values.length]!;
  for (let seed = 0; seed < 3_000; seed += 1) {
    const machines = Array.from({ length: seed % 3 }, (_, i) => {
      const n = Math.imul(seed * 7 + i * 13 + 1, 2_654_435_761) >>> 3;
      return machine(String(i), {
        connected: pick(n, true, true, false),
        cpuSlots: pick(n >> 2, 0, 1),
        cpuSlotsUsed: pick(n >> 4, 0, 1),
        runsCommands: pick(n >> 5, true, false),
        engine: pick<PlacementMachine['engine']>(n >> 7, undefined, engine, { gpuHandover: 'NONE' }),
        gpus: pick(n >> 9, [], [gpu('g', 'NVIDIA L4', { used: n % 2 === 0 })]),
      });
    });
    const request = asked({
      imageName: pick(seed, '', 'i'),
      gpuCount: pick(seed >> 1, 0, 1, 2),
      gpuIds: pick(seed >> 3, [], ['NVIDIA L4']),
    });
    const placed = placeWorker(machines, request);
    const never = cannotRun(machines, request);
    if ('machineId' in placed && never) return t.fail(`${seed}: placed and impossible`);
    const idle = machines.map((each) => ({
      ...each,
      connected: true,
      cpuSlotsUsed: 0,
      gpus: each.gpus.map((card) => ({ ...card, used: false })),
    }));
    if ('machineId' in placeWorker(idle, request) === (never !== undefined))
      return t.fail(`${seed}: impossible is what even idle machines refuse`);
  }
  t.pass('3,000 made-up installations');
});

t.test('a card with much less memory than its type does not count as that type', async (t) => {
  const any = asked({ gpuCount: 1 });
  const request = { ...any, gpuIds: ['AMPERE_80'] };
  const card = (memoryMib: number) => ({ name: 'NVIDIA A100 80GB PCIe', migProfile: '', memoryMib });
  const short = gpu('g1', 'NVIDIA A100 80GB PCIe', { shortGb: shortMemoryGb(card(40_960))! });
  t.same(
    [81_920, 76_000, 0].map((mib) => shortMemoryGb(card(mib))),
    [undefined, undefined, undefined],
    'what error correction takes is not missing',
  );
  t.equal(shortMemoryGb({ ...card(9_856), migProfile: '1g.10gb' }), undefined, 'a slice is a type of its own');
  const refusalByMachine = 'a: its NVIDIA A100 80GB PCIe has 40 GB of memory, and the type has 80';
  t.match(placeWorker([machine('a', { gpus: [short] })], request), { refusalByMachine });
  const whole = machine('b', { gpus: [gpu('g2', 'NVIDIA A100 80GB PCIe')] });
  t.match(placeWorker([machine('a', { gpus: [short] }), whole], request), { machineId: 'b' });
  t.match(placeWorker([machine('a', { gpus: [short] })], any), { machineId: 'a' }, 'whoever takes any type takes it');
  t.match(cannotRun([machine('a', { gpus: [short] })], request), {
    refusal: /1 machine has them with less memory than their type has/,
  });
});

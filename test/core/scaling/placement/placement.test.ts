/** The machine, the GPUs and the size that a worker or a pod gets. */
import { shortMemoryGb } from '@slipway/core/domain/machines/gpu-facts';
import { cannotRun, occupied, place, placeWorker } from '@slipway/core/domain/scaling/placement';
import type { PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';
import t from 'tap';
import { asked, engine, gpu, L4, machine } from './placement-inputs.ts';

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

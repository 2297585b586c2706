/** Where a worker goes, and why not elsewhere. */
import t from 'tap';
import { occupied, place, placeWorker } from '../../../core/domain/placement.ts';
import type { PlacementGpu, PlacementMachine, PlacementRequest } from '../../../core/domain/placement.ts';

const gpu = (uuid: string, name = 'NVIDIA L4', given: Partial<PlacementGpu> = {}): PlacementGpu => (
  { uuid, name, migProfile: '', used: false, standby: false, ...given }
);
const machine = (id: string, given: Partial<PlacementMachine> = {}): PlacementMachine => ({
  id, name: id, connected: true, gone: false, gpus: [], locations: [], cpuSlots: 4, cpuSlotsUsed: 0, cudaVersion: '12.8', siblings: 0,
  vcpus: 0, vcpusUsed: 0, memoryGb: 0, memoryGbUsed: 0, standbys: [], ...given,
});
const asked = (given: Partial<PlacementRequest> = {}): PlacementRequest => ({
  gpuIds: [], gpuCount: 0, instanceIds: [], locations: [], allowedCudaVersions: [], dataCenterIds: [], ...given,
});
const L4 = asked({ gpuIds: ['NVIDIA L4'], gpuCount: 1 });

const PLACED: [what: string, machines: PlacementMachine[], asked: PlacementRequest, machineId: string, gpuUuids: string[]][] = [
  ['no GPU wanted: any machine with a slot', [machine('a')], asked(), 'a', []],
  ['a type by name', [machine('a', { gpus: [gpu('g1')] })], L4, 'a', ['g1']],
  ['a type by its pool', [machine('a', { gpus: [gpu('g1')] })], asked({ gpuIds: ['AMPERE_24'], gpuCount: 1 }), 'a', ['g1']],
  ['the preferred type wins over the emptier machine',
    [machine('a', { gpus: [gpu('g1'), gpu('g2')] }), machine('b', { gpus: [gpu('g3', 'NVIDIA A40')] })],
    asked({ gpuIds: ['NVIDIA A40', 'NVIDIA L4'], gpuCount: 1 }), 'b', ['g3']],
  ['within a pool the order of the pool counts',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA GeForce RTX 3090'), gpu('g2', 'NVIDIA L4')] })], asked({ gpuIds: ['AMPERE_24'], gpuCount: 1 }), 'a', ['g2']],
  ['the next type when the first is taken',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA A40', { used: true }), gpu('g2')] })], asked({ gpuIds: ['NVIDIA A40', 'NVIDIA L4'], gpuCount: 1 }), 'a', ['g2']],
  ['several GPUs of one type', [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA A40'), gpu('g3')] })],
    asked({ gpuIds: ['AMPERE_24', 'AMPERE_48'], gpuCount: 2 }), 'a', ['g1', 'g3']],
  ['any GPU when none is named', [machine('a'), machine('b', { gpus: [gpu('g1', 'Own Card')] })], asked({ gpuCount: 1 }), 'b', ['g1']],
  ['any GPU but an excluded one',
    [machine('a', { gpus: [gpu('g1')] }), machine('b', { gpus: [gpu('g2', 'Tesla T4')] })], asked({ gpuIds: ['-NVIDIA L4'], gpuCount: 1 }), 'b', ['g2']],
  ['a type excluded from its pool',
    [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA RTX A5000')] })], asked({ gpuIds: ['AMPERE_24', '-NVIDIA L4'], gpuCount: 1 }), 'a', ['g2']],
  ['the doubled blank of the public list', [machine('a', { gpus: [gpu('g1', 'NVIDIA A30')] })], asked({ gpuIds: ['NVIDIA  A30'], gpuCount: 1 }), 'a', ['g1']],
  ['fewest siblings', [machine('a', { siblings: 1 }), machine('b')], asked(), 'b', []],
  ['then most room', [machine('a', { cpuSlotsUsed: 2 }), machine('b', { cpuSlotsUsed: 1 })], asked(), 'b', []],
  ['a location of several', [machine('a', { locations: ['US'] }), machine('b', { locations: ['CZ', 'EU-CZ-1'] })],
    asked({ locations: ['EU-CZ-1', 'FR'] }), 'b', []],
  ['where one of the volumes is', [machine('a', { locations: ['US'] }), machine('b', { locations: ['CZ', 'EU-CZ-1'] })],
    asked({ dataCenterIds: ['EU-CZ-1', 'EU-FR-1'] }), 'b', []],
  ['an older CUDA version than the driver has', [machine('a', { cudaVersion: '12.8' })], asked({ allowedCudaVersions: ['12.4'] }), 'a', []],
];

for (const [what, machines, given, machineId, gpuUuids] of PLACED) {
  t.test(`placed: ${what}`, async (t) => { t.same(place(machines, given), { machineId, gpuUuids, instanceId: '', evicted: [] }); });
}

const REFUSED: [what: string, machines: PlacementMachine[], asked: PlacementRequest, why: RegExp][] = [
  ['no machine', [], asked(), /no machine has joined/],
  ['not connected', [machine('a', { connected: false })], asked(), /a: its agent is not connected/],
  ['no GPU', [machine('a')], L4, /a: it has no GPU/],
  ['other GPUs', [machine('a', { gpus: [gpu('g1', 'Tesla T4')] })], L4, /none of its GPUs \(Tesla T4\) is asked for/],
  ['taken GPUs', [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { used: true })] })], L4, /1 of one type are needed and 0/],
  ['too few of one type', [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA A40')] })],
    asked({ gpuIds: ['AMPERE_24', 'AMPERE_48'], gpuCount: 2 }), /2 of one type are needed and 2/],
  ['a slice is no card', [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { migProfile: '1g.6gb' })] })], L4, /none of its GPUs/],
  ['slots taken', [machine('a', { cpuSlotsUsed: 4 })], asked(), /all of its 4 slots/],
  ['elsewhere', [machine('a', { locations: ['US'] })], asked({ locations: ['CZ'] }), /it is in US, not in CZ/],
  ['away from the volumes', [machine('a', { locations: ['US'] })], asked({ dataCenterIds: ['EU-CZ-1', 'EU-FR-1'] }),
    /a: it is in US, and the network volumes are in EU-CZ-1, EU-FR-1/],
  ['nowhere in particular', [machine('a')], asked({ dataCenterIds: ['EU-CZ-1'] }), /a: it is in no location, and the network volumes are in EU-CZ-1/],
  ['in the location, but away from the volumes', [machine('a', { locations: ['CZ'] })], asked({ locations: ['CZ'], dataCenterIds: ['EU-CZ-1'] }),
    /and the network volumes are in EU-CZ-1/],
  ['old driver', [machine('a', { cudaVersion: '11.8' })], asked({ allowedCudaVersions: ['12.4'] }), /CUDA 11.8, not 12.4/],
  ['every machine says why', [machine('a'), machine('b', { connected: false })], L4, /a: it has no GPU; b: its agent is not connected/],
];

for (const [what, machines, given, why] of REFUSED) {
  t.test(`refused: ${what}`, async (t) => {
    const placement = place(machines, given);
    t.ok('refusal' in placement && why.test(placement.refusalByMachine), JSON.stringify(placement));
  });
}

t.test('whoever is not the operator learns why, and no machine', async (t) => {
  const busy = { gpus: [gpu('g1', 'NVIDIA GeForce RTX 4090', { used: true })] };
  const told = (machines: PlacementMachine[], given: PlacementRequest): string => {
    const placement = place(machines, given);
    return 'refusal' in placement ? placement.refusal : 'placed';
  };
  const others = [machine('rack-1', { gpus: [gpu('g1', 'Tesla T4')] }), machine('rack-2', { gpus: [gpu('g2', 'NVIDIA A40')] })];
  const ada = asked({ gpuIds: ['ADA_24'], gpuCount: 1 });
  t.equal(told(others, ada), 'no machine has a free GPU of ADA_24: 2 machines have other GPUs');
  t.equal(told([...others, machine('rack-3', busy), machine('rack-4', { connected: false }), machine('vm')], ada),
    'no machine has a free GPU of ADA_24: 1 machine has too few of them free; 2 machines have other GPUs; 1 machine has no GPU; 1 machine is not connected');
  t.equal(told([], ada), 'no machine has joined');
  t.equal(told([machine('vm')], asked({ gpuCount: 2 })), 'no machine has 2 free GPUs of one type: 1 machine has no GPU');
  t.equal(told([machine('vm')], asked({ gpuIds: ['-NVIDIA L4'], gpuCount: 1 })),
    'no machine has a free GPU, of those that are not excluded: 1 machine has no GPU');
  t.equal(told([machine('vm', { cpuSlotsUsed: 4 })], asked()), 'no machine has a free slot for it without a GPU: 1 machine has no slot free');
  t.equal(told([machine('vm', { vcpus: 1, memoryGb: 1 })], asked({ instanceIds: ['cpu3c-2-4'] })),
    'no machine has room for cpu3c-2-4: 1 machine has too few processors or too little memory free');
  t.equal(told([machine('vm', { locations: ['US'] })], asked({ locations: ['CZ'] })),
    'no machine has a free slot for it without a GPU: 1 machine is elsewhere');
  t.equal(told(others, asked({ gpuIds: ['A', 'B', 'C', 'D', 'E', 'F'], gpuCount: 1 })).split(':')[0],
    'no machine has a free GPU of A or B or C or D or 2 more');
  for (const [, machines, given] of REFUSED) t.notMatch(told(machines.map((each) => ({ ...each, name: 'secret-host' })), given), /secret-host/);
});

const roomy = machine('a', { vcpus: 8, memoryGb: 16 });

t.test('sizes are shared out, the most preferred that is free first', async (t) => {
  const sized = asked({ instanceIds: ['cpu3c-4-8', 'cpu3c-2-4'] });
  const given: string[] = [];
  let at = roomy;
  for (let placed = place([at], sized); 'machineId' in placed; placed = place([at], sized)) {
    given.push(placed.instanceId);
    at = occupied(at, placed);
  }
  t.same(given, ['cpu3c-4-8', 'cpu3c-4-8']);
  t.match(place([at], sized), { refusalByMachine: 'a: cpu3c-4-8 or cpu3c-2-4 is asked for and 0 of 8 processors and 0 of 16 GB are free' });
  t.match(place([at], asked()), { machineId: 'a', instanceId: '' }, 'one without a size needs a slot only');
  const small = { ...roomy, vcpusUsed: 5 };
  t.match(place([small], sized), { instanceId: 'cpu3c-2-4' });
  t.match(place([small, machine('b', { vcpus: 4, memoryGb: 8, siblings: 3 })], sized), { machineId: 'b', instanceId: 'cpu3c-4-8' });
  t.match(place([{ ...roomy, memoryGbUsed: 14 }], sized), { refusalByMachine: /8 of 8 processors and 2 of 16 GB are free/ });
  t.match(place([machine('a')], sized), { instanceId: 'cpu3c-4-8' }, 'what a machine does not say is never short');
});

t.test('a worker of any type runs without a GPU only where there is none', async (t) => {
  const any = asked({ gpuCount: 1 });
  const bare = machine('a');
  t.match(placeWorker([bare], any), { machineId: 'a', gpuUuids: [] });
  t.match(placeWorker([bare, machine('b', { gpus: [gpu('g1')] })], any), { machineId: 'b', gpuUuids: ['g1'] });
  for (const busy of [{ gpus: [gpu('g1', 'NVIDIA L4', { used: true })] }, { gpus: [gpu('g1')], connected: false }]) {
    t.match(placeWorker([bare, machine('b', busy)], any), { refusalByMachine: /a: it has no GPU; b: / }, 'it waits for the one there is');
  }
  const elsewhere = machine('b', { gpus: [gpu('g1')], locations: ['US'] });
  t.match(placeWorker([machine('a', { locations: ['CZ'] }), elsewhere], { ...any, locations: ['CZ'] }), { machineId: 'a', gpuUuids: [] });
  t.match(placeWorker([bare], L4), { refusalByMachine: /it has no GPU/ }, 'a type that was asked for is needed');
  t.match(place([bare], any), { refusalByMachine: /it has no GPU/ }, 'pods are meant as they say');
  const gone = machine('b', { gpus: [gpu('g1')], connected: false, gone: true });
  t.match(placeWorker([bare, gone], any), { machineId: 'a', gpuUuids: [] }, 'one that left for good holds nobody up');
  t.match(placeWorker([bare, gone, machine('c', { gpus: [gpu('g2')], connected: false })], any), { refusalByMachine: /c: its agent/ }, 'one that is away does');
});

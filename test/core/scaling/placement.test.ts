/** Where a worker goes, and why not elsewhere. */
import t from 'tap';
import { occupied, place, placeWorker } from '../../../core/domain/placement.ts';
import type { PlacementGpu, PlacementMachine, PlacementWish } from '../../../core/domain/placement.ts';

const gpu = (uuid: string, name = 'NVIDIA L4', given: Partial<PlacementGpu> = {}): PlacementGpu => ({ uuid, name, migProfile: '', used: false, ...given });
const machine = (id: string, given: Partial<PlacementMachine> = {}): PlacementMachine => ({
  id, name: id, connected: true, gpus: [], locations: [], cpuSlots: 4, cpuSlotsUsed: 0, cudaVersion: '12.8', siblings: 0,
  vcpus: 0, vcpusUsed: 0, memoryGb: 0, memoryGbUsed: 0, ...given,
});
const wish = (given: Partial<PlacementWish> = {}): PlacementWish => ({
  gpuIds: [], gpuCount: 0, instanceIds: [], locations: [], allowedCudaVersions: [], dataCenterIds: [], ...given,
});
const L4 = wish({ gpuIds: ['NVIDIA L4'], gpuCount: 1 });

const PLACED: [what: string, machines: PlacementMachine[], wish: PlacementWish, machineId: string, gpuUuids: string[]][] = [
  ['no GPU wanted: any machine with a slot', [machine('a')], wish(), 'a', []],
  ['a type by name', [machine('a', { gpus: [gpu('g1')] })], L4, 'a', ['g1']],
  ['a type by its pool', [machine('a', { gpus: [gpu('g1')] })], wish({ gpuIds: ['AMPERE_24'], gpuCount: 1 }), 'a', ['g1']],
  ['the preferred type wins over the emptier machine',
    [machine('a', { gpus: [gpu('g1'), gpu('g2')] }), machine('b', { gpus: [gpu('g3', 'NVIDIA A40')] })],
    wish({ gpuIds: ['NVIDIA A40', 'NVIDIA L4'], gpuCount: 1 }), 'b', ['g3']],
  ['within a pool the order of the pool counts',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA GeForce RTX 3090'), gpu('g2', 'NVIDIA L4')] })], wish({ gpuIds: ['AMPERE_24'], gpuCount: 1 }), 'a', ['g2']],
  ['the next type when the first is taken',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA A40', { used: true }), gpu('g2')] })], wish({ gpuIds: ['NVIDIA A40', 'NVIDIA L4'], gpuCount: 1 }), 'a', ['g2']],
  ['several GPUs of one type', [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA A40'), gpu('g3')] })],
    wish({ gpuIds: ['AMPERE_24', 'AMPERE_48'], gpuCount: 2 }), 'a', ['g1', 'g3']],
  ['any GPU when none is named', [machine('a'), machine('b', { gpus: [gpu('g1', 'Own Card')] })], wish({ gpuCount: 1 }), 'b', ['g1']],
  ['any GPU but an excluded one',
    [machine('a', { gpus: [gpu('g1')] }), machine('b', { gpus: [gpu('g2', 'Tesla T4')] })], wish({ gpuIds: ['-NVIDIA L4'], gpuCount: 1 }), 'b', ['g2']],
  ['a type excluded from its pool',
    [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA RTX A5000')] })], wish({ gpuIds: ['AMPERE_24', '-NVIDIA L4'], gpuCount: 1 }), 'a', ['g2']],
  ['the doubled blank of the public list', [machine('a', { gpus: [gpu('g1', 'NVIDIA A30')] })], wish({ gpuIds: ['NVIDIA  A30'], gpuCount: 1 }), 'a', ['g1']],
  ['fewest siblings', [machine('a', { siblings: 1 }), machine('b')], wish(), 'b', []],
  ['then most room', [machine('a', { cpuSlotsUsed: 2 }), machine('b', { cpuSlotsUsed: 1 })], wish(), 'b', []],
  ['a location of several', [machine('a', { locations: ['US'] }), machine('b', { locations: ['CZ', 'EU-CZ-1'] })],
    wish({ locations: ['EU-CZ-1', 'FR'] }), 'b', []],
  ['where one of the volumes is', [machine('a', { locations: ['US'] }), machine('b', { locations: ['CZ', 'EU-CZ-1'] })],
    wish({ dataCenterIds: ['EU-CZ-1', 'EU-FR-1'] }), 'b', []],
  ['an older CUDA version than the driver has', [machine('a', { cudaVersion: '12.8' })], wish({ allowedCudaVersions: ['12.4'] }), 'a', []],
];

for (const [what, machines, given, machineId, gpuUuids] of PLACED) {
  t.test(`placed: ${what}`, async (t) => { t.same(place(machines, given), { machineId, gpuUuids, instanceId: '' }); });
}

const REFUSED: [what: string, machines: PlacementMachine[], wish: PlacementWish, why: RegExp][] = [
  ['no machine', [], wish(), /no machine has joined/],
  ['not connected', [machine('a', { connected: false })], wish(), /a: its agent is not connected/],
  ['no GPU', [machine('a')], L4, /a: it has no GPU/],
  ['other GPUs', [machine('a', { gpus: [gpu('g1', 'Tesla T4')] })], L4, /none of its GPUs \(Tesla T4\) is asked for/],
  ['taken GPUs', [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { used: true })] })], L4, /1 of one type are needed and 0/],
  ['too few of one type', [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA A40')] })],
    wish({ gpuIds: ['AMPERE_24', 'AMPERE_48'], gpuCount: 2 }), /2 of one type are needed and 2/],
  ['a slice is no card', [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { migProfile: '1g.6gb' })] })], L4, /none of its GPUs/],
  ['slots taken', [machine('a', { cpuSlotsUsed: 4 })], wish(), /all of its 4 slots/],
  ['elsewhere', [machine('a', { locations: ['US'] })], wish({ locations: ['CZ'] }), /it is in US, not in CZ/],
  ['away from the volumes', [machine('a', { locations: ['US'] })], wish({ dataCenterIds: ['EU-CZ-1', 'EU-FR-1'] }),
    /a: it is in US, and the network volumes are in EU-CZ-1, EU-FR-1/],
  ['nowhere in particular', [machine('a')], wish({ dataCenterIds: ['EU-CZ-1'] }), /a: it is in no location, and the network volumes are in EU-CZ-1/],
  ['in the location, but away from the volumes', [machine('a', { locations: ['CZ'] })], wish({ locations: ['CZ'], dataCenterIds: ['EU-CZ-1'] }),
    /and the network volumes are in EU-CZ-1/],
  ['old driver', [machine('a', { cudaVersion: '11.8' })], wish({ allowedCudaVersions: ['12.4'] }), /CUDA 11.8, not 12.4/],
  ['every machine says why', [machine('a'), machine('b', { connected: false })], L4, /a: it has no GPU; b: its agent is not connected/],
];

for (const [what, machines, given, why] of REFUSED) {
  t.test(`refused: ${what}`, async (t) => {
    const placement = place(machines, given);
    t.ok('refusal' in placement && why.test(placement.refusal), JSON.stringify(placement));
  });
}

const roomy = machine('a', { vcpus: 8, memoryGb: 16 });

t.test('sizes are shared out, the most preferred that is free first', async (t) => {
  const sized = wish({ instanceIds: ['cpu3c-4-8', 'cpu3c-2-4'] });
  const given: string[] = [];
  let at = roomy;
  for (let placed = place([at], sized); 'machineId' in placed; placed = place([at], sized)) {
    given.push(placed.instanceId);
    at = occupied(at, placed);
  }
  t.same(given, ['cpu3c-4-8', 'cpu3c-4-8']);
  t.match(place([at], sized), { refusal: 'a: cpu3c-4-8 or cpu3c-2-4 is asked for and 0 of 8 processors and 0 of 16 GB are free' });
  t.match(place([at], wish()), { machineId: 'a', instanceId: '' }, 'one without a size needs a slot only');
  const small = { ...roomy, vcpusUsed: 5 };
  t.match(place([small], sized), { instanceId: 'cpu3c-2-4' });
  t.match(place([small, machine('b', { vcpus: 4, memoryGb: 8, siblings: 3 })], sized), { machineId: 'b', instanceId: 'cpu3c-4-8' });
  t.match(place([{ ...roomy, memoryGbUsed: 14 }], sized), { refusal: /8 of 8 processors and 2 of 16 GB are free/ });
  t.match(place([machine('a')], sized), { instanceId: 'cpu3c-4-8' }, 'what a machine does not say is never short');
});

t.test('a worker of any type runs without a GPU only where there is none', async (t) => {
  const any = wish({ gpuCount: 1 });
  const bare = machine('a');
  t.match(placeWorker([bare], any), { machineId: 'a', gpuUuids: [] });
  t.match(placeWorker([bare, machine('b', { gpus: [gpu('g1')] })], any), { machineId: 'b', gpuUuids: ['g1'] });
  for (const busy of [{ gpus: [gpu('g1', 'NVIDIA L4', { used: true })] }, { gpus: [gpu('g1')], connected: false }]) {
    t.match(placeWorker([bare, machine('b', busy)], any), { refusal: /a: it has no GPU; b: / }, 'it waits for the one there is');
  }
  const elsewhere = machine('b', { gpus: [gpu('g1')], locations: ['US'] });
  t.match(placeWorker([machine('a', { locations: ['CZ'] }), elsewhere], { ...any, locations: ['CZ'] }), { machineId: 'a', gpuUuids: [] });
  t.match(placeWorker([bare], L4), { refusal: /it has no GPU/ }, 'a type that was asked for is needed');
  t.match(place([bare], any), { refusal: /it has no GPU/ }, 'pods are meant as they say');
});

/** The machine, the GPUs and the size that a worker or a pod gets. */
import { shortMemoryGb } from '@slipway/core/domain/machines/gpu-facts';
import { cannotRun, occupied, place, placeWorker } from '@slipway/core/domain/scaling/placement';
import t from 'tap';
import { asked, engine, gpu, L4, machine } from './placement-inputs.ts';
import { PLACED } from './placement-rows.ts';

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

t.test('an image that no registry has runs where it is, as soon as a machine reports it', async (t) => {
  const local = asked({ imageName: 'localhost/ocr:1' });
  const [without, full] = [machine('a', { engine }), machine('b', { engine, hasImage: true, cpuSlotsUsed: 4 })];
  t.match(placeWorker([without, full], local), {
    refusal: /: 1 machine has no slot free; 1 machine lacks its image, which no registry has$/,
    refusalByMachine: /a: it lacks the image localhost\/ocr:1, which no registry has; b: all of its 4 slots/,
  });
  t.match(placeWorker([without, { ...full, cpuSlotsUsed: 0, siblings: 9 }], local), { machineId: 'b' });
  t.match(placeWorker([without], local), { machineId: 'a' }, 'while none reports it, any may have it');
  t.match(placeWorker([without, { ...full, gone: true }], local), { machineId: 'a' }, 'a removed machine counts not');
  const pulled = { ...local, imageName: 'me/ocr:1' };
  t.match(placeWorker([without, full], pulled), { machineId: 'a' }, 'an image of a registry is pulled');
  const port = { ...local, imageName: 'localhost:5000/me/ocr:1' };
  t.match(placeWorker([without, full], port), { machineId: 'a' }, 'a registry of this host is one');
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

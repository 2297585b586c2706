/** Requests that no machine of the fleet can ever run, apart from those that only wait. */
import { cannotRun, placeWorker } from '@slipway/core/domain/scaling/placement';
import type { PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';
import t from 'tap';
import { asked, engine, gpu, L4, machine } from './placement-inputs.ts';

t.test('lasting refusals are named, temporary ones are not', async (t) => {
  const why = (machines: PlacementMachine[], request: PlacementRequest): string =>
    cannotRun(machines, request)?.refusal ?? 'waits';
  const image = asked({ imageName: 'i' });
  t.equal(why([], image), 'no machine has joined');
  t.equal(why([machine('a', { gone: true, connected: false })], image), 'no machine is connected, and none was lately');
  t.equal(
    why([machine('a'), machine('b')], image),
    'no machine can run it, as it needs a container engine for its image: 2 machines have no container engine',
  );
  t.equal(
    why([machine('a', { runsCommands: false })], L4),
    'no machine can run it, as it needs a machine that allows commands and a GPU of NVIDIA L4: 1 machine ' +
      'allows no commands',
  );
  t.equal(cannotRun([machine('a')], image)?.refusalByMachine, 'a: it has no container engine');
  t.equal(
    why([machine('a', { engine }), machine('b', { gone: true, gpus: [gpu('g')] })], { ...L4, imageName: 'i' }),
    'no machine can run it, as it needs a container engine for its image and a GPU of NVIDIA L4: 1 machine has no GPU',
    'one that left counts for nothing',
  );
  t.equal(
    why([machine('a', { gpus: [gpu('g')] })], { ...L4, gpuCount: 2 }),
    'no machine can run it, as it needs a machine that allows commands and 2 GPUs of one type of NVIDIA L4: 1 ' +
      'machine has too few of them',
  );
  t.match(why([machine('a', { cpuSlots: 0 })], asked()), /1 machine has no slots for workers without a GPU/);
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

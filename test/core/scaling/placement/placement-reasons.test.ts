/** Why a worker is placed on none of the machines: for the operator with machine names, for others without. */
import { occupied, place } from '@slipway/core/domain/scaling/placement';
import type { PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';
import t from 'tap';
import { asked, engine, gpu, L4, machine } from './placement-inputs.ts';

const REFUSED: [what: string, machines: PlacementMachine[], asked: PlacementRequest, why: RegExp][] = [
  ['no machine', [], asked(), /no machine has joined/],
  ['not connected', [machine('a', { connected: false })], asked(), /a: its agent is not connected/],
  ['no GPU', [machine('a')], L4, /a: it has no GPU/],
  ['other GPUs', [machine('a', { gpus: [gpu('g1', 'Tesla T4')] })], L4, /none of its GPUs \(Tesla T4\) is asked for/],
  ['cordoned', [machine('a', { cordoned: true })], asked(), /a: its operator cordoned it/],
  [
    'a GPU that is not well',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { unhealthy: 'ECC' })] })],
    L4,
    /a: 1 of its GPUs are unhealthy: g1 \(ECC\)/,
  ],
  [
    'one that is well and taken beside it',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { unhealthy: 'ECC' }), gpu('g2', 'NVIDIA L4', { used: true })] })],
    L4,
    /1 GPU is needed, and 0/,
  ],
  ['taken GPUs', [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { used: true })] })], L4, /1 GPU is needed, and 0/],
  [
    'a GPU that a program outside Slipway holds',
    [machine('a', { gpus: [gpu('g1', 'NVIDIA L4', { used: true, occupiedBy: 'Pod ml/train' })] })],
    L4,
    /1 GPU is needed, and 0 .*; 1 is held outside Slipway, by Pod ml\/train/,
  ],
  [
    'too few of one type',
    [machine('a', { gpus: [gpu('g1'), gpu('g2', 'NVIDIA A40')] })],
    asked({ gpuIds: ['AMPERE_24', 'AMPERE_48'], gpuCount: 2 }),
    /2 GPUs of one type are needed, and it has fewer/,
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
    'no machine has a free GPU of ADA_24: 1 machine has too few of them free; 2 machines have other GPUs; 1 ' +
      'machine has no GPU; 1 machine is not connected',
  );
  t.equal(told([], ada), 'no machine has joined');
  t.equal(
    told([machine('vm')], asked({ gpuCount: 2 })),
    'no machine has 2 free GPUs of one type: 1 machine has no GPU',
  );
  t.equal(
    told([machine('vm')], asked({ gpuIds: ['-NVIDIA L4'], gpuCount: 1 })),
    'no machine has a free GPU, without the excluded types: 1 machine has no GPU',
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
    'no machine has a free GPU of A where its network volumes are (EU-1 or EU-2): 1 machine is not where the ' +
      'network volumes are (SLIPWAY_AGENT_LOCATIONS)',
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

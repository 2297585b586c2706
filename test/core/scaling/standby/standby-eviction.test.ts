/** Standby workers are evicted as far as their resources are needed, and no further. */

import { occupied, place } from '@slipway/core/domain/scaling/placement';
import type { PlacementGpu, PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';
import type { PlacementStandby } from '@slipway/core/domain/scaling/standby/standby-eviction';
import t from 'tap';

const gpu = (uuid: string, given: Partial<PlacementGpu> = {}): PlacementGpu => ({
  uuid,
  name: 'NVIDIA L4',
  migProfile: '',
  used: false,
  standby: false,
  unhealthy: '',
  ...given,
});
const standby = (workerId: string, given: Partial<PlacementStandby> = {}): PlacementStandby => ({
  workerId,
  gpuUuids: [],
  instanceId: '',
  frozenMs: 1_000,
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
  cpuSlots: 2,
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

const OLD = standby('old', { frozenMs: 9_000 });
const NEW = standby('new');
const withGpu = (workerId: string, uuid: string, frozenMs = 1_000): PlacementStandby =>
  standby(workerId, { gpuUuids: [uuid], frozenMs });
const sized = (workerId: string, instanceId: string, frozenMs = 1_000): PlacementStandby =>
  standby(workerId, { instanceId, frozenMs });

const ROWS: [
  what: string,
  machines: PlacementMachine[],
  asked: PlacementRequest,
  machineId: string,
  evicted: string[],
][] = [
  ['nobody goes while there is a slot', [machine('a', { standbys: [OLD] })], asked(), 'a', []],
  ['the longest frozen goes for a slot', [machine('a', { standbys: [NEW, OLD] })], asked(), 'a', ['old']],
  [
    'a machine where nobody must go comes first',
    [machine('a', { standbys: [NEW, OLD] }), machine('b')],
    asked(),
    'b',
    [],
  ],
  [
    'who has a GPU is not asked for a slot',
    [machine('a', { cpuSlots: 1, gpus: [gpu('g', { standby: true })], standbys: [withGpu('x', 'g')] })],
    asked(),
    'a',
    [],
  ],
  [
    'a GPU that nobody has comes first',
    [machine('a', { gpus: [gpu('g1', { standby: true }), gpu('g2')], standbys: [withGpu('x', 'g1')] })],
    asked({ gpuCount: 1 }),
    'a',
    [],
  ],
  [
    'who has the GPU goes',
    [
      machine('a', {
        gpus: [gpu('g1', { standby: true }), gpu('g2', { used: true })],
        standbys: [OLD, withGpu('x', 'g1')],
      }),
    ],
    asked({ gpuCount: 1 }),
    'a',
    ['x'],
  ],
  [
    'of two GPUs only the one that is missing',
    [
      machine('a', {
        gpus: [gpu('g1', { standby: true }), gpu('g2'), gpu('g3', { standby: true })],
        standbys: [withGpu('x', 'g1'), withGpu('y', 'g3')],
      }),
    ],
    asked({ gpuCount: 2 }),
    'a',
    ['x'],
  ],
  [
    'one who has both goes once',
    [
      machine('a', {
        gpus: [gpu('g1', { standby: true }), gpu('g2', { standby: true })],
        standbys: [standby('x', { gpuUuids: ['g1', 'g2'] })],
      }),
    ],
    asked({ gpuCount: 2 }),
    'a',
    ['x'],
  ],
  [
    'a size has room beside them',
    [machine('a', { vcpus: 8, memoryGb: 16, standbys: [sized('x', 'cpu3c-2-4')] })],
    asked({ instanceIds: ['cpu3c-4-8'] }),
    'a',
    [],
  ],
  [
    'of sizes the longest frozen, until it fits',
    [
      machine('a', {
        cpuSlots: 9,
        vcpus: 8,
        memoryGb: 16,
        standbys: [sized('x', 'cpu3c-2-4', 1), sized('y', 'cpu3c-2-4', 3), sized('z', 'cpu3c-2-4', 2)],
      }),
    ],
    asked({ instanceIds: ['cpu3c-4-8'] }),
    'a',
    ['y'],
  ],
];

for (const [what, machines, request, machineId, evicted] of ROWS) {
  t.test(what, async (t) => {
    const placed = place(machines, request);
    t.match(placed, { machineId });
    t.same('evicted' in placed && placed.evicted, evicted);
  });
}

t.test('an evicted worker is not evicted twice', async (t) => {
  const before = machine('a', { standbys: [NEW, OLD] });
  const first = place([before], asked());
  if (!('evicted' in first)) throw new Error('it found no place');
  const second = place([occupied(before, first)], asked());
  t.same('evicted' in second && second.evicted, ['new']);
});

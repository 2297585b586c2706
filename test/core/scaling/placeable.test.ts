/** Freed capacity: as many unplaced endpoints are reconciled as can be placed. */

import type { PlacementMachine } from '@slipway/core/domain/scaling/placement-machine';
import { placeableTogether } from '@slipway/core/scaling/reconcile';
import type { EndpointSample } from '@slipway/core/store/scaling/scale-samples';
import t from 'tap';

const machine = (id: string, used: readonly boolean[]): PlacementMachine => ({
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
  gpus: used.map((isUsed, n) => ({
    uuid: `${id}-${n}`,
    name: 'NVIDIA L4',
    migProfile: '',
    used: isUsed,
    standby: false,
    unhealthy: '',
  })),
});
const refused = (id: string, gpuIds = ['NVIDIA L4']): EndpointSample => {
  const settings = {
    workersMin: 1,
    workersMax: 3,
    idleTimeoutSeconds: 5,
    scalerType: 'QUEUE_DELAY',
    scalerValue: 4,
    flashBoot: false,
    version: 0,
    imageName: '',
    gpuIds,
    gpuCount: 1,
    instanceIds: [],
    locations: [],
    allowedCudaVersions: [],
    dataCenterIds: [],
  } as const;
  return {
    endpoint: { ...settings, id, accountId: 'a', type: 'QB' },
    previous: undefined,
    sample: { demand: { queued: 0, oldestWaitMs: 0, running: 0, workers: [] }, settings },
    released: 0,
    rollout: undefined,
  };
};
const idsOf = (all: readonly EndpointSample[]): string[] => all.map(({ endpoint }) => endpoint.id);
const machines = [machine('m', [true, false]), machine('n', [false, true])];

t.test('the first in order; one that does not fit delays nobody', async (t) => {
  const all = [refused('first'), refused('other', ['NVIDIA A40']), refused('second'), refused('third')];
  t.same(idsOf(placeableTogether(all, machines, new Map())), ['first', 'second']);
});

t.test('not on a machine during its back-off', async (t) => {
  const crashes = new Map([
    ['first', ['m', 'n'].map((machineId) => ({ machineId, failures: 1, retryMs: 500, workerId: 'w', exitCode: 1 }))],
  ]);
  t.same(idsOf(placeableTogether([refused('first'), refused('second'), refused('third')], machines, crashes)), [
    'second',
    'third',
  ]);
});

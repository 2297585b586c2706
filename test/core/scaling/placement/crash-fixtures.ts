/** Machines without a GPU, and crashes on them. */

import type { MachineCrashes } from '@slipway/core/domain/scaling/machine-crashes';
import type { PlacementMachine } from '@slipway/core/domain/scaling/placement-machine';

export const CPU = {
  imageName: '',
  gpuIds: [],
  gpuCount: 0,
  instanceIds: [],
  locations: [],
  allowedCudaVersions: [],
  dataCenterIds: [],
};
export const machine = (id: string, siblings = 0): PlacementMachine => ({
  id,
  name: id,
  connected: true,
  gone: false,
  cordoned: false,
  gpus: [],
  locations: [],
  cpuSlots: 4,
  cpuSlotsUsed: 0,
  cudaVersion: '',
  siblings,
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
});
export const crashed = (machineId: string, failures = 1, retryMs = 0): MachineCrashes => ({
  machineId,
  failures,
  retryMs,
  workerId: 'w',
  exitCode: 3,
});

/** Machines with a few GPUs, some of them used, and requests for GPUs. */
import type { LargeWaiter } from '@slipway/core/domain/scaling/gpu-reservation';
import type { PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';

export const L4 = 'NVIDIA L4';
export const machine = (id: string, count: number, used = 0, name = L4): PlacementMachine => ({
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
  gpus: Array.from({ length: count }, (_, n) => ({
    uuid: `${id}-${n}`,
    name,
    migProfile: '',
    used: n < used,
    standby: false,
    unhealthy: '',
  })),
});
export const asked = (gpuCount = 1, type = L4): PlacementRequest => ({
  gpuIds: [type],
  gpuCount,
  imageName: '',
  instanceIds: [],
  locations: [],
  allowedCudaVersions: [],
  dataCenterIds: [],
});
export const large = (gpuCount: number, sinceMs = 2_000, accountId = 'own'): LargeWaiter => ({
  accountId,
  request: asked(gpuCount),
  sinceMs,
});
export const freeOf = (machines: readonly PlacementMachine[]) =>
  machines.flatMap(({ gpus }) => gpus).filter(({ used }) => !used).length;

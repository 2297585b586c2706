/** Machines, GPUs and requests for tests of placement: each with defaults that place any worker. */
import type { PlacementGpu, PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';

export const gpu = (uuid: string, name = 'NVIDIA L4', given: Partial<PlacementGpu> = {}): PlacementGpu => ({
  uuid,
  name,
  migProfile: '',
  used: false,
  standby: false,
  unhealthy: '',
  ...given,
});
export const machine = (id: string, given: Partial<PlacementMachine> = {}): PlacementMachine => ({
  id,
  name: id,
  connected: true,
  gone: false,
  cordoned: false,
  gpus: [],
  locations: [],
  cpuSlots: 4,
  cpuSlotsUsed: 0,
  cudaVersion: '12.8',
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
export const asked = (given: Partial<PlacementRequest> = {}): PlacementRequest => ({
  imageName: '',
  gpuIds: [],
  gpuCount: 0,
  instanceIds: [],
  locations: [],
  allowedCudaVersions: [],
  dataCenterIds: [],
  ...given,
});
export const L4 = asked({ gpuIds: ['NVIDIA L4'], gpuCount: 1 });

export const engine = { gpuHandover: 'CDI' } as const;

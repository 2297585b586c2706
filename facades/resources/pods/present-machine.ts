/** Converts the machine and the GPU of a pod from the contract to public records. */
import type { Machine } from '@slipway/proto/gen/slipway/v1/machine';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { PodGpu, PodMachine } from './pod-machine.ts';

/** Returns a pod's GPUs. Empty without a GPU. */
export function presentGpu({ gpuTypeId, gpuDisplayName, gpuCount, costPerHour }: Pod): { gpu?: PodGpu } {
  if (gpuTypeId === '') return {};
  return {
    gpu: gpuOf({ id: gpuTypeId, displayName: gpuDisplayName, count: gpuCount }, costPerHour / Math.max(1, gpuCount)),
  };
}

/** Returns a pod's machine. `prices`: US dollars per hour by GPU type. */
export function presentMachine(
  machine: Machine,
  { costPerHour, gpuTypeId }: Pod,
  prices: ReadonlyMap<string, number>,
): PodMachine {
  // The operator sets both in one list; a country code is two capitals.
  const isCountry = (code: string): boolean => /^[A-Z]{2}$/.test(code);
  const card = machine.gpus.find(({ name }) => name === gpuTypeId) ?? machine.gpus[0];
  const price = prices.get(card?.name ?? '') ?? 0;
  const count = machine.gpus.filter(({ name }) => name === card?.name).length;
  return {
    costPerHr: costPerHour,
    cpuCount: machine.cpuCount,
    ...presentCpu(machine),
    cpuTypeId: machine.cpuModel,
    currentPricePerGpu: price,
    dataCenterId: machine.locations.find((code) => !isCountry(code) && code !== '*') ?? '',
    diskThroughputMBps: null,
    gpuAvailable: machine.gpus.length,
    gpuDisplayName: card?.displayName ?? '',
    ...(card === undefined ? {} : { gpuType: gpuOf({ id: card.name, displayName: card.displayName, count }, price) }),
    gpuTypeId: card?.name ?? '',
    location: machine.locations.find(isCountry) ?? '',
    maintenanceEnd: null,
    maintenanceNote: null,
    maintenanceStart: null,
    maxDownloadSpeedMbps: null,
    maxUploadSpeedMbps: null,
    minPodGpuCount: Math.min(1, machine.gpus.length),
    note: machine.name,
    secureCloud: true,
    supportPublicIp: false,
  };
}

function presentCpu({ cpuModel, cpuCount, cpuThreadsPerCore }: Machine): Pick<PodMachine, 'cpuType'> {
  if (cpuModel === '') return {};
  const cores = cpuThreadsPerCore === 0 ? 0 : Math.ceil(cpuCount / cpuThreadsPerCore);
  return { cpuType: { id: cpuModel, displayName: cpuModel, cores, threadsPerCore: cpuThreadsPerCore, groupId: null } };
}

function gpuOf(card: { id: string; displayName: string; count: number }, price: number): PodGpu {
  return {
    ...card,
    securePrice: price,
    communityPrice: price,
    oneWeekPrice: null,
    oneMonthPrice: null,
    threeMonthPrice: null,
    sixMonthPrice: null,
    communitySpotPrice: null,
    secureSpotPrice: null,
  };
}

/** The machine and the GPU of a pod (docs/management.md#pods): their shapes, and what the contract knows of them. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Machine } from '../../../proto/gen/slipway/v1/machine.ts';
import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';

const NO_MARKET = 'Null: one\'s own machines have no terms, discounts or spot market.';
const NOT_MEASURED = 'Null: it is not measured.';
const NOT_PLANNED = 'Null: no maintenance is planned by way of the service.';
const noNumber = (description: string) => Type.Unsafe<number | null>({ type: 'number', nullable: true, description });
const noText = (description: string) => Type.Unsafe<string | null>({ type: 'string', nullable: true, description });

const gpu = {
  id: Type.String({ description: 'GPU type name.' }),
  count: Type.Integer(),
  displayName: Type.String({ description: 'Short name.' }),
  securePrice: Type.Number({ description: 'US dollars an hour for one, by the operator\'s price table.' }),
  communityPrice: Type.Number({ description: 'The same.' }),
  oneWeekPrice: noNumber(NO_MARKET),
  oneMonthPrice: noNumber(NO_MARKET),
  threeMonthPrice: noNumber(NO_MARKET),
  sixMonthPrice: noNumber(NO_MARKET),
  communitySpotPrice: noNumber(NO_MARKET),
  secureSpotPrice: noNumber(NO_MARKET),
};

/** GPUs of a pod. */
export const PodGpu = Type.Object(gpu, { description: 'Missing for a pod without a GPU.' });
type PodGpu = Static<typeof PodGpu>;

const CpuType = Type.Object({
  id: Type.String({ description: 'The product name again.' }),
  displayName: Type.String({ description: 'Product name of the processors.' }),
  cores: Type.Integer({ description: '0: not known.' }),
  threadsPerCore: Type.Integer({ description: '0: not known.' }),
  groupId: noText('Null: processors are in no groups.'),
}, { description: 'Missing when the machine does not tell.' });

/** Machine of a pod. */
export const PodMachine = Type.Object({
  costPerHr: Type.Number({ description: 'What the pod costs there: its own costPerHr.' }),
  cpuCount: Type.Integer({ description: 'Processors. 0: not known.' }),
  cpuType: Type.Optional(CpuType),
  cpuTypeId: Type.String({ description: 'Id of cpuType. Empty: not known.' }),
  currentPricePerGpu: Type.Number({ description: 'US dollars an hour for one GPU of its type, by the operator\'s price table. 0 without a GPU.' }),
  dataCenterId: Type.String({ description: 'Empty: none.' }),
  diskThroughputMBps: noNumber(NOT_MEASURED),
  gpuAvailable: Type.Integer({ description: 'GPUs of the machine, whoever has them now.' }),
  gpuDisplayName: Type.String({ description: 'Empty without a GPU.' }),
  gpuType: Type.Optional(Type.Object(gpu, { description: 'All GPUs of its type. Missing without a GPU.' })),
  gpuTypeId: Type.String({ description: 'Empty without a GPU.' }),
  location: Type.String({ description: 'Country code. Empty: none.' }),
  maintenanceEnd: noText(NOT_PLANNED),
  maintenanceNote: noText(NOT_PLANNED),
  maintenanceStart: noText(NOT_PLANNED),
  maxDownloadSpeedMbps: noNumber(NOT_MEASURED),
  maxUploadSpeedMbps: noNumber(NOT_MEASURED),
  minPodGpuCount: Type.Integer({ description: 'Fewest GPUs of a pod with GPUs: 1, and 0 on a machine without.' }),
  note: Type.String({ description: 'Host name.' }),
  secureCloud: Type.Boolean({ description: 'Always true: it is one\'s own.' }),
  supportPublicIp: Type.Boolean({ description: 'Always false.' }),
});
type PodMachine = Static<typeof PodMachine>;

/** A pod's GPUs; nothing without one. */
export function presentGpu({ gpuTypeId, gpuDisplayName, gpuCount, costPerHour }: Pod): { gpu?: PodGpu } {
  if (gpuTypeId === '') return {};
  return { gpu: gpuOf({ id: gpuTypeId, displayName: gpuDisplayName, count: gpuCount }, costPerHour / Math.max(1, gpuCount)) };
}

/** A pod's machine. `prices`: US dollars an hour by GPU type. */
export function presentMachine(machine: Machine, { costPerHour, gpuTypeId }: Pod, prices: ReadonlyMap<string, number>): PodMachine {
  // The operator sets both in one list; a country code is two capitals.
  const isCountry = (place: string): boolean => /^[A-Z]{2}$/.test(place);
  const card = machine.gpus.find(({ name }) => name === gpuTypeId) ?? machine.gpus[0];
  const price = prices.get(card?.name ?? '') ?? 0;
  const count = machine.gpus.filter(({ name }) => name === card?.name).length;
  return {
    costPerHr: costPerHour,
    cpuCount: machine.cpuCount,
    ...presentCpu(machine),
    cpuTypeId: machine.cpuModel,
    currentPricePerGpu: price,
    dataCenterId: machine.locations.find((place) => !isCountry(place)) ?? '',
    diskThroughputMBps: null,
    gpuAvailable: machine.gpus.length,
    gpuDisplayName: card?.displayName ?? '',
    ...(card === undefined ? {} : { gpuType: gpuOf({ id: card.name, displayName: card.displayName, count }, price) }),
    gpuTypeId: card?.name ?? '',
    location: machine.locations.find(isCountry) ?? '',
    maintenanceEnd: null, maintenanceNote: null, maintenanceStart: null,
    maxDownloadSpeedMbps: null, maxUploadSpeedMbps: null,
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
    ...card, securePrice: price, communityPrice: price, oneWeekPrice: null, oneMonthPrice: null, threeMonthPrice: null, sixMonthPrice: null,
    communitySpotPrice: null, secureSpotPrice: null,
  };
}

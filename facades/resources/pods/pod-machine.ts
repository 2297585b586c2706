/** Shapes of the machine and the GPU of a pod (docs/reference/management.md#pods). */

import type { Static } from 'typebox';
import { Type } from 'typebox';

const NO_MARKET = "Null: one's own machines have no terms, discounts or spot market.";
const NOT_MEASURED = 'Always null: it is not measured.';
const NOT_PLANNED = 'Always null: the service plans no maintenance.';
const noNumber = (description: string) => Type.Unsafe<number | null>({ type: 'number', nullable: true, description });
const noText = (description: string) => Type.Unsafe<string | null>({ type: 'string', nullable: true, description });

const gpu = {
  id: Type.String({ description: 'GPU type name.' }),
  count: Type.Integer(),
  displayName: Type.String({ description: 'Short name.' }),
  securePrice: Type.Number({ description: "US dollars an hour for one, by the operator's price table." }),
  communityPrice: Type.Number({ description: 'The same.' }),
  oneWeekPrice: noNumber(NO_MARKET),
  oneMonthPrice: noNumber(NO_MARKET),
  threeMonthPrice: noNumber(NO_MARKET),
  sixMonthPrice: noNumber(NO_MARKET),
  communitySpotPrice: noNumber(NO_MARKET),
  secureSpotPrice: noNumber(NO_MARKET),
};

/** GPUs of a pod. */
export const PodGpu = Type.Object(gpu, { description: 'GPUs of the pod. Absent for a pod without a GPU.' });
export type PodGpu = Static<typeof PodGpu>;

const CpuType = Type.Object(
  {
    id: Type.String({ description: 'Same text as displayName.' }),
    displayName: Type.String({ description: 'Product name of the processors.' }),
    cores: Type.Integer({ description: 'Number of cores. 0: unknown.' }),
    threadsPerCore: Type.Integer({ description: 'Threads of each core. 0: unknown.' }),
    groupId: noText('Always null: processors have no groups.'),
  },
  { description: 'Absent if the machine does not report it.' },
);

/** Machine of a pod. */
export const PodMachine = Type.Object({
  costPerHr: Type.Number({ description: 'Same value as costPerHr of the pod.' }),
  cpuCount: Type.Integer({ description: 'Number of processors. 0: unknown.' }),
  cpuType: Type.Optional(CpuType),
  cpuTypeId: Type.String({ description: 'Id of cpuType. Empty: unknown.' }),
  currentPricePerGpu: Type.Number({
    description:
      "US dollars an hour for one GPU of its type, by the operator's price table. 0 for a machine without a GPU.",
  }),
  dataCenterId: Type.String({ description: 'Id of its data centre. Empty: none.' }),
  diskThroughputMBps: noNumber(NOT_MEASURED),
  gpuAvailable: Type.Integer({ description: 'All GPUs of the machine, used or free.' }),
  gpuDisplayName: Type.String({ description: 'GPU type of the machine. Empty: it has no GPU.' }),
  gpuType: Type.Optional(
    Type.Object(gpu, { description: 'GPU type of the machine with the number of its GPUs. Absent without a GPU.' }),
  ),
  gpuTypeId: Type.String({ description: 'GPU type of the machine. Empty: it has no GPU.' }),
  location: Type.String({ description: 'Country code. Empty: unknown.' }),
  maintenanceEnd: noText(NOT_PLANNED),
  maintenanceNote: noText(NOT_PLANNED),
  maintenanceStart: noText(NOT_PLANNED),
  maxDownloadSpeedMbps: noNumber(NOT_MEASURED),
  maxUploadSpeedMbps: noNumber(NOT_MEASURED),
  minPodGpuCount: Type.Integer({
    description: 'Fewest GPUs that a pod with GPUs can have: 1. 0 on a machine without a GPU.',
  }),
  note: Type.String({ description: 'Host name of the machine.' }),
  secureCloud: Type.Boolean({ description: 'Always true: machines belong to the operator.' }),
  supportPublicIp: Type.Boolean({ description: 'Always false.' }),
});
export type PodMachine = Static<typeof PodMachine>;

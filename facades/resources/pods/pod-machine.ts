/** Shapes of the machine and the GPU of a pod (docs/reference/management.md#pods). */

import type { Static } from 'typebox';
import { Type } from 'typebox';

const NO_MARKET = "Null: one's own machines have no terms, discounts or spot market.";
const NOT_MEASURED = 'Null: it is not measured.';
const NOT_PLANNED = 'Null: no maintenance is planned by way of the service.';
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
export const PodGpu = Type.Object(gpu, { description: 'Missing for a pod without a GPU.' });
export type PodGpu = Static<typeof PodGpu>;

const CpuType = Type.Object(
  {
    id: Type.String({ description: 'The product name again.' }),
    displayName: Type.String({ description: 'Product name of the processors.' }),
    cores: Type.Integer({ description: '0: not known.' }),
    threadsPerCore: Type.Integer({ description: '0: not known.' }),
    groupId: noText('Null: processors are in no groups.'),
  },
  { description: 'Missing when the machine does not tell.' },
);

/** Machine of a pod. */
export const PodMachine = Type.Object({
  costPerHr: Type.Number({ description: 'What the pod costs there: its own costPerHr.' }),
  cpuCount: Type.Integer({ description: 'Processors. 0: not known.' }),
  cpuType: Type.Optional(CpuType),
  cpuTypeId: Type.String({ description: 'Id of cpuType. Empty: not known.' }),
  currentPricePerGpu: Type.Number({
    description: "US dollars an hour for one GPU of its type, by the operator's price table. 0 without a GPU.",
  }),
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
  secureCloud: Type.Boolean({ description: "Always true: it is one's own." }),
  supportPublicIp: Type.Boolean({ description: 'Always false.' }),
});
export type PodMachine = Static<typeof PodMachine>;

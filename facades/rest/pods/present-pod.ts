/** Contract pod to public record. */
import type { Machine } from '../../../proto/gen/slipway/v1/machine.ts';
import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import type { Template } from '../../../proto/gen/slipway/v1/template_service.ts';
import type { NetworkVolume } from '../../../proto/gen/slipway/v1/volume_service.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { presentTemplate } from '../templates/present-template.ts';
import { presentVolume } from '../volumes/present-volume.ts';
import { desiredStatusOf } from './pod-query.ts';
import type { PodRecord } from './pod-record.ts';
import { statusChange } from './status-change.ts';

/** What is shown with a pod when it is asked for. */
export interface PodCompany {
  machine?: boolean;
  savingsPlans?: boolean;
  template?: Template | undefined;
  networkVolume?: NetworkVolume | undefined;
}

const MIB_OF_GB = 1_024;

/** The public record. A worker's environment may hold what its endpoint's owner shows to nobody, so it stays here. */
export function presentPod(pod: Pod | undefined, accountId: string, company: PodCompany = {}): PodRecord {
  if (pod === undefined) throw new CoreError('INTERNAL', 'core answered without a pod');
  const isWorker = pod.endpointId !== '';
  return {
    id: pod.id,
    name: pod.name,
    image: pod.imageName,
    consumerUserId: accountId,
    desiredStatus: desiredStatusOf(pod),
    lastStatusChange: statusChange(pod.statusText, pod.state, pod.stateChangeTime?.toISOString() ?? null),
    ...(pod.lastStartTime === undefined ? {} : { lastStartedAt: pod.lastStartTime.toISOString() }),
    machineId: pod.machine?.id ?? '',
    endpointId: isWorker ? pod.endpointId : null,
    aiApiId: null,
    ...(isWorker ? { slsVersion: pod.version } : {}),
    memoryInGb: Math.round((pod.machine?.memoryMib ?? 0) / MIB_OF_GB),
    vcpuCount: pod.machine?.cpuCount ?? 0,
    containerDiskInGb: pod.containerDiskGb,
    volumeInGb: pod.volumeGb,
    volumeMountPath: pod.volumeMountPath,
    volumeEncrypted: false,
    dockerEntrypoint: pod.entrypoint,
    dockerStartCmd: pod.startCommand,
    env: isWorker ? {} : pod.env,
    ports: pod.ports,
    portMappings: null,
    publicIp: null,
    interruptible: pod.interruptible,
    locked: pod.locked,
    costPerHr: pod.costPerHour,
    adjustedCostPerHr: pod.costPerHour,
    ...onlyIfThere(pod),
    ...presentCompany(pod, company),
  };
}

function onlyIfThere(pod: Pod): Partial<PodRecord> {
  const price = pod.costPerHour / Math.max(1, pod.gpuCount);
  const gpu = { id: pod.gpuTypeId, count: pod.gpuCount, displayName: pod.gpuTypeId, securePrice: price, communityPrice: price };
  return {
    ...(pod.templateId === '' ? {} : { templateId: pod.templateId }),
    ...(pod.gpuTypeId === '' ? {} : { gpu }),
    ...(pod.registryAuthId === '' ? {} : { containerRegistryAuthId: pod.registryAuthId }),
    ...(pod.workingDirectory === '' ? {} : { workingDirectory: pod.workingDirectory }),
  };
}

function presentCompany({ machine }: Pod, company: PodCompany): Partial<PodRecord> {
  const { template, networkVolume } = company;
  return {
    ...(company.machine && machine ? { machine: presentMachine(machine) } : {}),
    ...(template === undefined ? {} : { template: presentTemplate(template) }),
    ...(networkVolume === undefined ? {} : { networkVolume: presentVolume(networkVolume) }),
    ...(company.savingsPlans ? { savingsPlans: [] } : {}),
  };
}

function presentMachine(machine: Machine): NonNullable<PodRecord['machine']> {
  const gpuTypeId = machine.gpus[0]?.name ?? '';
  // The operator sets both in one list; a country code is two capitals.
  const isCountry = (place: string): boolean => /^[A-Z]{2}$/.test(place);
  return {
    cpuCount: machine.cpuCount,
    dataCenterId: machine.locations.find((place) => !isCountry(place)) ?? '',
    gpuAvailable: machine.gpus.length,
    gpuDisplayName: gpuTypeId,
    gpuTypeId,
    location: machine.locations.find(isCountry) ?? '',
    note: machine.name,
    secureCloud: true,
    supportPublicIp: false,
  };
}

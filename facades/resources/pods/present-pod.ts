/** Contract pod to public record. */
import type { Pod, PublishedPort } from '@slipway/proto/gen/slipway/v1/pod';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { CoreError } from '@slipway/proto/wire/reason';
import { sizeOf } from '../cpu-sizes.ts';
import { restRecord } from '../rest-values.ts';
import { presentTemplate } from '../templates/present-template.ts';
import { presentVolume } from '../volumes/present-volume.ts';
import { desiredStatusOf } from './desired-status.ts';
import type { PodRecord } from './pod-record.ts';
import { POD } from './pod-table.ts';
import { presentGpu, presentMachine } from './present-machine.ts';
import { statusChange } from './status-change.ts';
import { presentMemory } from './worker-memory.ts';

/** Related records that are shown with a pod on request. */
export interface PodRelations {
  /** US dollars an hour by GPU type: its machine is shown. */
  prices?: ReadonlyMap<string, number> | undefined;
  savingsPlans?: boolean;
  template?: Template | undefined;
  networkVolume?: NetworkVolume | undefined;
}

const MIB_OF_GB = 1_024;

/**
 * Returns the public record. A worker's environment is left out, because it may hold secrets of the endpoint's owner.
 */
export function presentPod(pod: Pod | undefined, accountId: string, relations: PodRelations = {}): PodRecord {
  if (pod === undefined) throw new CoreError('INTERNAL', 'core answered without a pod');
  const isWorker = pod.endpointId !== '';
  const size = sizeOf(pod.instanceId);
  return {
    id: pod.id,
    ...restRecord(POD, pod),
    image: pod.imageName,
    consumerUserId: accountId,
    desiredStatus: desiredStatusOf(pod),
    lastStatusChange: statusChange(pod.statusText, pod.state, pod.stateChangeTime?.toISOString() ?? null),
    ...(pod.lastStartTime === undefined ? {} : { lastStartedAt: pod.lastStartTime.toISOString() }),
    machineId: pod.machine?.id ?? '',
    endpointId: isWorker ? pod.endpointId : null,
    aiApiId: null,
    ...(isWorker ? { slsVersion: pod.version } : {}),
    memoryInGb: size?.memoryInGb ?? Math.round((pod.machine?.memoryMib ?? 0) / MIB_OF_GB),
    vcpuCount: size?.vcpuCount ?? pod.machine?.cpuCount ?? 0,
    volumeEncrypted: false,
    env: isWorker ? {} : pod.env,
    ...presentPorts(pod.publishedPorts),
    costPerHr: pod.costPerHour,
    adjustedCostPerHr: pod.costPerHour,
    ...onlyIfThere(pod),
    ...presentMemory(pod),
    ...presentRelations(pod, relations),
  };
}

/** Returns the published ports. All ports of a pod are published at the same host. */
function presentPorts(ports: readonly PublishedPort[]): Pick<PodRecord, 'portMappings' | 'publicIp'> {
  if (ports.length === 0) return { portMappings: null, publicIp: null };
  const portMappings = Object.fromEntries(ports.map(({ port, publicPort }) => [port, publicPort]));
  return { portMappings, publicIp: ports[0]!.host };
}

function onlyIfThere(pod: Pod): Partial<PodRecord> {
  return {
    ...presentGpu(pod),
    ...(pod.instanceId === '' ? {} : { cpuFlavorId: sizeOf(pod.instanceId)!.flavor }),
  };
}

function presentRelations(pod: Pod, relations: PodRelations): Partial<PodRecord> {
  const { template, networkVolume, prices } = relations;
  return {
    ...(prices && pod.machine ? { machine: presentMachine(pod.machine, pod, prices) } : {}),
    ...(template === undefined ? {} : { template: presentTemplate(template) }),
    ...(networkVolume === undefined ? {} : { networkVolume: presentVolume(networkVolume) }),
    ...(relations.savingsPlans ? { savingsPlans: [] } : {}),
  };
}

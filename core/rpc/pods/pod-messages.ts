/** Converts pods between the contract and the domain. */

import type { Pod as PodMessage } from '@slipway/proto/gen/slipway/v1/pod';
import { PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import type { CreatePodRequest } from '@slipway/proto/gen/slipway/v1/pod_service';
import { gpuDisplayName } from '../../domain/machines/gpu-facts.ts';
import type { PodRequest } from '../../domain/pods/pod.ts';
import { POD_SETTINGS } from '../../domain/pods/pod.ts';
import { invalid, snake } from '../../domain/settings/fields.ts';
import { givenEnv, hiddenEnv } from '../../domain/settings/hidden-env.ts';
import type { PodUpdate } from '../../pods/update-pod.ts';
import type { PodView } from '../../store/pods/pod-view-store.ts';
import { machineMessage, standbyToMessage } from '../machines/machine-messages.ts';
import type { FieldReaders } from '../server/update-mask.ts';
import { changeFromMask } from '../server/update-mask.ts';

/** Converts a pod for its owner. `seesValues`: the key may see the values of its variables. */
export function podToMessage(pod: PodView, seesValues: boolean): PodMessage {
  const { machine, desired, state, registryAuthId, networkVolumeId, createdAt, lastStartedAt, stateChangedAt } = pod;
  return {
    ...podRequestOf(pod),
    env: seesValues ? pod.env : hiddenEnv(pod.env),
    id: pod.id,
    registryAuthId: registryAuthId ?? '',
    networkVolumeId: networkVolumeId ?? '',
    desiredStatus: PodStatus[desired],
    state: PodState[state],
    statusText: pod.statusText,
    machine: machineMessage(machine),
    gpuUuids: pod.gpuUuids,
    gpuTypeId: pod.gpuTypeId,
    gpuDisplayName: pod.gpuTypeId === '' ? '' : gpuDisplayName(pod.gpuTypeId),
    instanceId: pod.instanceId,
    endpointId: pod.endpointId,
    version: pod.version,
    costPerHour: pod.costPerHour,
    createTime: createdAt,
    lastStartTime: lastStartedAt,
    stateChangeTime: stateChangedAt,
    publishedPorts: [...pod.publishedPorts],
    ...standbyToMessage(pod),
  };
}

/** Converts a creation. Returns the request and the names of the fields that it sets. */
export function podRequestFromMessage({ pod, volumeGb }: CreatePodRequest): {
  podRequest: PodRequest;
  fields: string[];
} {
  if (!pod) throw invalid('pod is required');
  const chosen = podRequestOf(pod);
  const { registryAuthId, networkVolumeId } = chosen;
  const podRequest = {
    ...chosen,
    env: givenEnv(chosen.env),
    registryAuthId: registryAuthId || null,
    networkVolumeId: networkVolumeId || null,
    volumeGb: volumeGb ?? (chosen.volumeGb === 0 ? undefined : chosen.volumeGb),
  };
  const isSet = (value: unknown): boolean =>
    typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
  return {
    podRequest,
    fields: Object.entries(podRequest)
      .filter(([, value]) => isSet(value))
      .map(([field]) => snake(field)),
  };
}

/** Readers of the fields that an update mask may name. */
const CHANGES: FieldReaders<PodMessage, PodUpdate> = {
  name: ({ name }) => ({ name }),
  locked: ({ locked }) => ({ locked }),
  container_disk_gb: ({ containerDiskGb }) => ({ containerDiskGb }),
  registry_auth_id: ({ registryAuthId }) => ({ registryAuthId: registryAuthId || null }),
  entrypoint: ({ entrypoint }) => ({ entrypoint }),
  start_command: ({ startCommand }) => ({ startCommand }),
  env: ({ env }) => ({ env: givenEnv(env) }),
  image_name: ({ imageName }) => ({ imageName }),
  ports: ({ ports }) => ({ ports }),
  volume_gb: ({ volumeGb }) => ({ volumeGb }),
  volume_mount_path: ({ volumeMountPath }) => ({ volumeMountPath }),
  working_directory: ({ workingDirectory }) => ({ workingDirectory }),
};

/**
 * Converts a change with an update mask. Throws INVALID_REQUEST if the mask is empty or names a field that cannot be
 * changed.
 */
export function podUpdateFromMessage(pod: PodMessage, mask: readonly string[]): PodUpdate {
  return changeFromMask(pod, mask, CHANGES);
}

const FIELDS = Object.keys(POD_SETTINGS) as (keyof PodRequest)[];

/** Returns only the fields that an owner chooses, of a message or of a pod. */
function podRequestOf<Chosen extends Pick<PodMessage, keyof PodRequest> | PodRequest>(
  pod: Chosen,
): Pick<Chosen, keyof PodRequest> {
  return Object.fromEntries(FIELDS.map((field) => [field, pod[field]])) as Pick<Chosen, keyof PodRequest>;
}

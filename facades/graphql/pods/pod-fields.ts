/** Public pod settings of GraphQL to contract fields. */
import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { refused } from '../core-calls.ts';
import { versionsFrom } from '../../resources/cuda-versions.ts';
import { commandOf, environmentOf, listOf } from '../list-text.ts';
import type { EnvironmentVariable } from '../list-text.ts';

/** PodEditJobInput of the public schema, without the pod's id. Null counts as not given. */
export interface PodJobInput {
  imageName?: string | null;
  dockerArgs?: string | null;
  env?: EnvironmentVariable[] | null;
  ports?: string | null;
  containerDiskInGb?: number | null;
  volumeInGb?: number | null;
  volumeMountPath?: string | null;
  containerRegistryAuthId?: string | null;
}

/** The inputs that deploy a pod. Null counts as not given. */
export interface PodInput extends PodJobInput {
  name?: string | null;
  templateId?: string | null;
  gpuTypeId?: string | null;
  instanceId?: string | null;
  gpuTypeIdList?: string[] | null;
  gpuCount?: number | null;
  dataCenterId?: string | null;
  countryCode?: string | null;
  networkVolumeId?: string | null;
  allowedCudaVersions?: string[] | null;
  minCudaVersion?: string | null;
  stopAfter?: string | null;
  terminateAfter?: string | null;
}

/** What the Python package asks for when its caller named no template; it exists nowhere else, and the image is given beside it. */
const TEMPLATE_OF_CLIENT = 'runpod-ubuntu';

/** What an edit names. */
export function podJobFields(input: PodJobInput): FieldChanges<Pod> {
  const fields = noChanges<Pod>();
  change(fields, 'imageName', input.imageName ?? undefined);
  const command = commandOf(input.dockerArgs);
  change(fields, 'startCommand', command?.startCommand);
  change(fields, 'entrypoint', command?.entrypoint);
  change(fields, 'env', input.env ? environmentOf(input.env) : undefined);
  change(fields, 'ports', typeof input.ports === 'string' ? listOf(input.ports) : undefined);
  change(fields, 'containerDiskGb', input.containerDiskInGb ?? undefined);
  change(fields, 'volumeGb', input.volumeInGb ?? undefined);
  change(fields, 'volumeMountPath', input.volumeMountPath ?? undefined);
  change(fields, 'registryAuthId', input.containerRegistryAuthId ?? undefined);
  return fields;
}

/** A pod to create. Throws GraphQLError when it asks for what does not exist here. */
export function newPod(input: PodInput, computeType: 'GPU' | 'CPU'): Partial<Pod> {
  if (input.stopAfter || input.terminateAfter) {
    throw refused('stopAfter and terminateAfter are not available: a pod runs until podStop or podTerminate.');
  }
  const { changes } = podJobFields(input);
  const wanted = input.gpuTypeIdList?.length ? input.gpuTypeIdList : input.gpuTypeId ? [input.gpuTypeId] : [];
  const place = input.dataCenterId || input.countryCode;
  const templateId = input.templateId === TEMPLATE_OF_CLIENT ? '' : input.templateId ?? '';
  const lowest = input.minCudaVersion;
  return {
    ...changes,
    name: input.name ?? '',
    templateId,
    computeType,
    gpuIds: wanted,
    gpuCount: input.gpuCount ?? 0,
    instanceIds: input.instanceId ? [input.instanceId] : [],
    locations: place ? [place] : [],
    networkVolumeId: input.networkVolumeId ?? '',
    allowedCudaVersions: input.allowedCudaVersions?.length ? input.allowedCudaVersions : lowest ? versionsFrom(lowest) : [],
  };
}

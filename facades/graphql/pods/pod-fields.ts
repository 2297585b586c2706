/** Converts public pod settings of GraphQL to contract fields. */
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { versionsFrom } from '../../resources/cuda-versions.ts';
import { changeable } from '../../resources/field.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { POD } from '../../resources/pods/pod-table.ts';
import { refused } from '../core-calls.ts';
import type { EnvironmentVariable } from '../list-text.ts';
import { commandOf, environmentOf, listOf } from '../list-text.ts';
import { inputChanges } from '../table-fields.ts';

/** PodEditJobInput of the public schema without the pod's id, as far as this file reads it. Null counts as absent. */
export interface PodJobInput {
  dockerArgs?: string | null;
  env?: EnvironmentVariable[] | null;
  [setting: string]: unknown;
}

/** Inputs that deploy a pod. Null counts as absent. */
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
  startSsh?: boolean | null;
  startJupyter?: boolean | null;
  minVcpuCount?: number | null;
  minMemoryInGb?: number | null;
}

/**
 * Template that the Python package sends if its caller names none. It does not exist here, and the image is sent
 * separately.
 */
const TEMPLATE_OF_CLIENT = 'runpod-ubuntu';

/** Returns the fields that an edit names. */
export function podJobFields(input: PodJobInput): FieldChanges<Pod> {
  const command = commandOf(input.dockerArgs);
  return inputChanges<Pod>(changeable(POD), input, {
    startCommand: command?.startCommand,
    entrypoint: command?.entrypoint,
    env: input.env ? environmentOf(input.env) : undefined,
  });
}

/** Returns the wishes of a creation that are not fields of the pod. */
export function podWishes({ startSsh, startJupyter, minVcpuCount, minMemoryInGb }: PodInput): object {
  return {
    startSsh: startSsh ?? undefined,
    startJupyter: startJupyter ?? undefined,
    minCpuCount: minVcpuCount ?? undefined,
    minMemoryGb: minMemoryInGb ?? undefined,
  };
}

/** Returns a pod to create. Throws GraphQLError if the input names unavailable features. */
export function newPod(input: PodInput, computeType: 'GPU' | 'CPU'): Partial<Pod> {
  if (input.stopAfter || input.terminateAfter) {
    throw refused('stopAfter and terminateAfter are not available: a pod runs until podStop or podTerminate.');
  }
  const { changes } = podJobFields(input);
  const single = input.gpuTypeId ? [input.gpuTypeId] : [];
  const wanted = input.gpuTypeIdList?.length ? input.gpuTypeIdList : single;
  const templateId = input.templateId === TEMPLATE_OF_CLIENT ? '' : (input.templateId ?? '');
  const fromLowest = input.minCudaVersion ? versionsFrom(input.minCudaVersion) : [];
  return {
    ...changes,
    name: input.name ?? '',
    templateId,
    computeType,
    gpuIds: wanted,
    gpuCount: input.gpuCount ?? 0,
    instanceIds: input.instanceId ? [input.instanceId] : [],
    // SkyPilot writes several data centres as one text.
    locations: listOf(input.dataCenterId || input.countryCode || ''),
    networkVolumeId: input.networkVolumeId ?? '',
    allowedCudaVersions: input.allowedCudaVersions?.length ? input.allowedCudaVersions : fromLowest,
  };
}

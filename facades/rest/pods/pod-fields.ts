/** Public pod settings to contract fields. */
import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { dockerArgsOf } from '../../resources/command-line.ts';
import { instanceIdsOf } from '../../resources/cpu-sizes.ts';
import { versionsFrom } from '../../resources/cuda-versions.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import type { PodCreateInput, PodUpdateInput } from './pod-inputs.ts';
import { usableEnv } from '../../resources/text-map.ts';

/** Ports of a pod that has neither its own nor a template's (docs/management.md#pods). */
const DEFAULT_PORTS = ['8888/http', '22/tcp'];

/** The fields of a new pod. */
export function newPodFields(input: PodCreateInput): Partial<Pod> {
  const fields = podFields(input);
  change(fields, 'templateId', input.templateId);
  change(fields, 'networkVolumeId', input.networkVolumeId);
  change(fields, 'computeType', input.computeType);
  change(fields, 'gpuIds', input.gpuTypeIds);
  // Its default of 1 is there for every pod; without GPUs it says nothing.
  change(fields, 'gpuCount', input.computeType === 'CPU' ? undefined : input.gpuCount);
  if (input.computeType === 'CPU') change(fields, 'instanceIds', instanceIdsOf(input));
  else change(fields, 'instanceIds', input.instanceIds);
  change(fields, 'locations', places(input));
  change(fields, 'allowedCudaVersions', cudaVersions(input));
  change(fields, 'interruptible', input.interruptible);
  if (!input.templateId) change(fields, 'ports', input.ports ?? DEFAULT_PORTS);
  return fields.changes;
}

/** The fields that a body names. */
export function podFields(input: PodUpdateInput): FieldChanges<Pod> {
  const fields = noChanges<Pod>();
  change(fields, 'name', input.name);
  change(fields, 'imageName', input.imageName);
  const command = commandOf(input);
  change(fields, 'startCommand', command.startCommand);
  change(fields, 'entrypoint', command.entrypoint);
  change(fields, 'env', usableEnv(input.env));
  change(fields, 'workingDirectory', input.workingDirectory);
  change(fields, 'containerDiskGb', input.containerDiskInGb);
  change(fields, 'volumeGb', input.volumeInGb);
  change(fields, 'volumeMountPath', input.volumeMountPath);
  change(fields, 'ports', input.ports);
  change(fields, 'registryAuthId', input.containerRegistryAuthId);
  change(fields, 'locked', input.locked);
  return fields;
}

/** Throws CoreError INVALID_REQUEST: the command is given twice, or its text has a quote that is not closed. */
function commandOf({ dockerArgs, dockerStartCmd, dockerEntrypoint }: PodUpdateInput): { startCommand?: string[]; entrypoint?: string[] } {
  // Clients that send every field send an empty text for none.
  if (dockerArgs === undefined || (dockerArgs === '' && dockerStartCmd)) return { startCommand: dockerStartCmd, entrypoint: dockerEntrypoint };
  if (dockerStartCmd?.length) throw new CoreError('INVALID_REQUEST', 'Give dockerArgs or dockerStartCmd, not both.');
  const { startCommand, entrypoint } = dockerArgsOf(dockerArgs);
  return { startCommand, entrypoint: dockerEntrypoint ?? entrypoint };
}

function cudaVersions({ allowedCudaVersions, minCudaVersion }: PodCreateInput): string[] | undefined {
  return minCudaVersion && !allowedCudaVersions?.length ? versionsFrom(minCudaVersion) : allowedCudaVersions;
}

/** The contract has one list of places of which any will do, so the more exact one counts. */
function places({ dataCenterIds = [], countryCodes = [] }: PodCreateInput): string[] {
  return dataCenterIds.length > 0 ? dataCenterIds : countryCodes;
}

/** Converts public pod settings to contract fields: those of the table, and the alternative forms of clients. */
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { CoreError } from '@slipway/proto/wire/reason';
import { dockerArgsOf } from '../../resources/command-line.ts';
import { instanceIdsOf } from '../../resources/cpu-sizes.ts';
import { versionsFrom } from '../../resources/cuda-versions.ts';
import { changeable } from '../../resources/field.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { POD } from '../../resources/pods/pod-table.ts';
import { restChanges } from '../../resources/rest-values.ts';
import type { PodCreateInput, PodUpdateInput } from './pod-inputs.ts';

/** Ports of a pod that has neither its own nor a template's (docs/reference/management.md#pods). */
const DEFAULT_PORTS = ['8888/http', '22/tcp'];

/** Returns the fields of a new pod. */
export function newPodFields(input: PodCreateInput): Partial<Pod> {
  return restChanges<Pod>(POD, input, {
    ...commandOf(input),
    // The default of 1 is set for every pod. It has no meaning without GPUs.
    gpuCount: input.computeType === 'CPU' ? undefined : input.gpuCount,
    instanceIds: input.computeType === 'CPU' ? instanceIdsOf(input) : input.instanceIds,
    locations: places(input),
    allowedCudaVersions: cudaVersions(input),
    ports: input.templateId ? input.ports : (input.ports ?? DEFAULT_PORTS),
  }).changes;
}

/** Returns what the machine of a new pod must have at least. Without GPUs there is no such wish. */
export function hostMinimum(input: PodCreateInput): { minMemoryGb: number; minCpuCount: number } {
  const { computeType, gpuCount, minRAMPerGPU, minVCPUPerGPU } = input;
  const gpus = computeType === 'CPU' ? 0 : (gpuCount ?? 1);
  return { minMemoryGb: (minRAMPerGPU ?? 0) * gpus, minCpuCount: (minVCPUPerGPU ?? 0) * gpus };
}

/** Returns the fields that a change sets. */
export function podFields(input: PodUpdateInput): FieldChanges<Pod> {
  return restChanges<Pod>(changeable(POD), input, commandOf(input));
}

/** Throws CoreError INVALID_REQUEST: the command is given twice, or its text has a quote that is not closed. */
function commandOf({
  dockerArgs,
  dockerStartCmd,
  dockerEntrypoint,
}: PodUpdateInput): Record<'startCommand' | 'entrypoint', string[] | undefined> {
  // Clients that send every field send an empty text for none.
  if (dockerArgs === undefined || (dockerArgs === '' && dockerStartCmd))
    return { startCommand: dockerStartCmd, entrypoint: dockerEntrypoint };
  if (dockerStartCmd?.length) throw new CoreError('INVALID_REQUEST', 'Give dockerArgs or dockerStartCmd, not both.');
  const { startCommand, entrypoint } = dockerArgsOf(dockerArgs);
  return { startCommand, entrypoint: dockerEntrypoint ?? entrypoint };
}

function cudaVersions({ allowedCudaVersions, minCudaVersion }: PodCreateInput): string[] | undefined {
  return minCudaVersion && !allowedCudaVersions?.length ? versionsFrom(minCudaVersion) : allowedCudaVersions;
}

/** Returns the locations. The contract has one list, any of which is accepted, so the more specific one counts. */
function places({ dataCenterIds = [], countryCodes = [] }: PodCreateInput): string[] {
  return dataCenterIds.length > 0 ? dataCenterIds : countryCodes;
}

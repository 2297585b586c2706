/** Converts public endpoint settings to contract fields. */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { instanceIdsOf } from '../../resources/cpu-sizes.ts';
import { versionsFrom } from '../../resources/cuda-versions.ts';
import type { EndpointUpdateInput } from '../../resources/endpoints/endpoint-schemas.ts';
import { ENDPOINT } from '../../resources/endpoints/endpoint-table.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { restChanges } from '../../resources/rest-values.ts';

/** Returns the fields that a body sets. `before`: the current endpoint, where the meaning of the body depends on it. */
export function endpointFields(
  input: EndpointUpdateInput,
  before?: Pick<Endpoint, 'computeType' | 'instanceIds'>,
): FieldChanges<Endpoint> {
  return restChanges<Endpoint>(ENDPOINT, input, {
    // The default of 1 is set for every endpoint. It has no meaning without GPUs.
    gpuCount: input.computeType === 'CPU' ? undefined : input.gpuCount,
    networkVolumeIds: volumes(input),
    allowedCudaVersions: cudaVersions(input),
    instanceIds: sizes(input, before),
  });
}

/** Returns the sizes. Some clients send processors also for endpoints with GPUs, where they have no meaning. */
function sizes(
  input: EndpointUpdateInput,
  before: Pick<Endpoint, 'computeType' | 'instanceIds'> | undefined,
): string[] | undefined {
  const isCpu = (input.computeType ?? before?.computeType) === 'CPU';
  return isCpu ? instanceIdsOf(input, before?.instanceIds) : input.instanceIds;
}

/** Returns the volumes. Clients that fill in every default send an empty list beside the one they mean. */
function volumes({ networkVolumeId, networkVolumeIds }: EndpointUpdateInput): string[] | undefined {
  if (networkVolumeIds?.length) return networkVolumeIds;
  if (networkVolumeId) return [networkVolumeId];
  return networkVolumeId === undefined ? networkVolumeIds : [];
}

function cudaVersions({ allowedCudaVersions, minCudaVersion }: EndpointUpdateInput): string[] | undefined {
  if (allowedCudaVersions?.length) return allowedCudaVersions;
  if (minCudaVersion) return versionsFrom(minCudaVersion);
  return minCudaVersion === undefined ? allowedCudaVersions : [];
}

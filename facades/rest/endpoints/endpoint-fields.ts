/** Public endpoint settings to contract fields. */
import { EndpointType, FlashBootType, ScalerType } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import { instanceIdsOf } from '../../resources/cpu-sizes.ts';
import { versionsFrom } from '../../resources/cuda-versions.ts';
import type { EndpointCreateInput, EndpointUpdateInput } from '../../resources/endpoints/endpoint-schemas.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { usableEnv } from '../../resources/text-map.ts';

/** The fields that a body names. `before`: the endpoint as it is, where a part of it decides what the body means. */
export function endpointFields(
  input: EndpointCreateInput | EndpointUpdateInput, before?: Pick<Endpoint, 'computeType' | 'instanceIds'>,
): FieldChanges<Endpoint> {
  const fields = noChanges<Endpoint>();
  change(fields, 'name', input.name);
  change(fields, 'templateId', input.templateId);
  change(fields, 'gpuIds', input.gpuTypeIds);
  // Its default of 1 is there for every endpoint; without GPUs it says nothing.
  change(fields, 'gpuCount', input.computeType === 'CPU' ? undefined : input.gpuCount);
  change(fields, 'workerConcurrency', input.workerConcurrency);
  change(fields, 'workersMin', input.workersMin);
  change(fields, 'workersMax', input.workersMax);
  change(fields, 'idleTimeoutSeconds', input.idleTimeout);
  change(fields, 'scalerType', input.scalerType && ScalerType[input.scalerType]);
  change(fields, 'scalerValue', input.scalerValue);
  change(fields, 'executionTimeoutMs', input.executionTimeoutMs);
  change(fields, 'flashBootType', flashBoot(input.flashboot));
  change(fields, 'locations', input.dataCenterIds);
  change(fields, 'networkVolumeIds', volumes(input));
  change(fields, 'env', usableEnv(input.env));
  change(fields, 'allowedCudaVersions', cudaVersions(input));
  change(fields, 'instanceIds', sizes(input, before));
  change(fields, 'computeType', input.computeType);
  change(fields, 'type', input.type && EndpointType[input.type]);
  return fields;
}

/** Clients that fill in every default name processors for endpoints with GPUs too, where they say nothing. */
function sizes(input: EndpointUpdateInput, before: Pick<Endpoint, 'computeType' | 'instanceIds'> | undefined): string[] | undefined {
  const isCpu = (input.computeType ?? before?.computeType) === 'CPU';
  return isCpu ? instanceIdsOf(input, before?.instanceIds) : input.instanceIds;
}

function flashBoot(wanted: boolean | undefined): FlashBootType | undefined {
  if (wanted === undefined) return undefined;
  return wanted ? FlashBootType.FLASHBOOT : FlashBootType.OFF;
}

/** Clients that fill in every default send an empty list beside the one they mean. */
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

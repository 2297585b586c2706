/** Public endpoint settings of GraphQL to contract fields. */
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { refused } from '../core-calls.ts';
import { versionsFrom } from '../../resources/cuda-versions.ts';
import { environmentOf, listOf } from '../list-text.ts';
import type { EnvironmentVariable } from '../list-text.ts';
import type { TemplateInput } from '../templates/template-fields.ts';

/** EndpointInput of the public schema. Null counts as not given, except where it clears a field. */
export interface EndpointInput {
  id?: string | null;
  name?: string | null;
  gpuIds?: string | null;
  gpuCount?: number | null;
  instanceIds?: string[] | null;
  templateId?: string | null;
  template?: TemplateInput | null;
  type?: string | null;
  idleTimeout?: number | null;
  locations?: string | null;
  flashBootType?: 'OFF' | 'FLASHBOOT' | null;
  scalerType?: string | null;
  scalerValue?: number | null;
  workerConcurrency?: number | null;
  workersMin?: number | null;
  workersMax?: number | null;
  networkVolumeId?: string | null;
  networkVolumeIds?: { networkVolumeId: string }[] | null;
  executionTimeoutMs?: number | null;
  allowedCudaVersions?: string | null;
  minCudaVersion?: string | null;
  env?: EnvironmentVariable[] | null;
  modelReferences?: string[] | null;
  hubReleaseId?: string | null;
  flashEnvironmentId?: string | null;
}

/** An endpoint message as Mesh takes it: enums by their names in the contract. */
export type EndpointMessage = Omit<Endpoint, 'type' | 'scalerType' | 'flashBootType'> & { type: string; scalerType: string; flashBootType: string };

/** Older clients switch FlashBoot on by this ending of the name, which stays (docs/management.md#graphql-endpoints). */
const FLASHBOOT_NAME = /-fb$/;

/** The fields that an input names. Throws GraphQLError: a word is unknown, or something is asked for that does not exist here. */
export function endpointFields(input: EndpointInput): FieldChanges<EndpointMessage> {
  refuseForeign(input);
  const fields = noChanges<EndpointMessage>();
  change(fields, 'name', given(input.name));
  change(fields, 'templateId', given(input.templateId));
  change(fields, 'gpuIds', typeof input.gpuIds === 'string' ? listOf(input.gpuIds) : undefined);
  // Clients that fill in every default name GPUs for CPU workers too, where they say nothing.
  change(fields, 'gpuCount', input.instanceIds?.length ? undefined : given(input.gpuCount));
  change(fields, 'computeType', input.instanceIds?.length ? 'CPU' : undefined);
  change(fields, 'instanceIds', given(input.instanceIds));
  change(fields, 'workerConcurrency', given(input.workerConcurrency));
  change(fields, 'workersMin', given(input.workersMin));
  change(fields, 'workersMax', given(input.workersMax));
  change(fields, 'idleTimeoutSeconds', given(input.idleTimeout));
  change(fields, 'scalerType', word('scalerType', input.scalerType, ['QUEUE_DELAY', 'REQUEST_COUNT'], 'SCALER_TYPE_'));
  change(fields, 'scalerValue', given(input.scalerValue));
  change(fields, 'executionTimeoutMs', input.executionTimeoutMs || undefined);
  change(fields, 'flashBootType', flashBoot(input));
  change(fields, 'locations', input.locations === undefined ? undefined : listOf(input.locations));
  change(fields, 'networkVolumeIds', volumes(input));
  change(fields, 'allowedCudaVersions', cudaVersions(input));
  change(fields, 'env', input.env ? environmentOf(input.env) : undefined);
  change(fields, 'type', word('type', input.type, ['QB', 'LB'], 'ENDPOINT_TYPE_'));
  return fields;
}

function given<Value>(value: Value | null | undefined): Value | undefined {
  return value ?? undefined;
}

function flashBoot({ flashBootType, name }: EndpointInput): string | undefined {
  if (flashBootType) return `FLASH_BOOT_TYPE_${flashBootType}`;
  return name && FLASHBOOT_NAME.test(name) ? 'FLASH_BOOT_TYPE_FLASHBOOT' : undefined;
}

/** Clients that know only one volume send an empty text for none. */
function volumes({ networkVolumeId, networkVolumeIds }: EndpointInput): string[] | undefined {
  if (networkVolumeIds?.length) return networkVolumeIds.map((each) => each.networkVolumeId);
  if (networkVolumeId !== undefined) return networkVolumeId ? [networkVolumeId] : [];
  return networkVolumeIds ? [] : undefined;
}

function cudaVersions({ allowedCudaVersions, minCudaVersion }: EndpointInput): string[] | undefined {
  const allowed = typeof allowedCudaVersions === 'string' ? listOf(allowedCudaVersions) : undefined;
  return minCudaVersion && !allowed?.length ? versionsFrom(minCudaVersion) : allowed;
}

/** Clients send these words as strings, so the schema cannot check them. */
function word(field: string, value: string | null | undefined, words: readonly string[], prefix: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (!words.includes(value)) throw refused(`${field} is ${JSON.stringify(value.slice(0, 64))}, but must be ${words.join(' or ')}.`);
  return prefix + value;
}

/** Clients name these fields with nothing in them; with something in them they ask for what does not exist here. */
function refuseForeign({ modelReferences, hubReleaseId, flashEnvironmentId }: EndpointInput): void {
  if (modelReferences?.length) throw refused('modelReferences: there is no repository of models here; put the model into the image or a network volume.');
  if (hubReleaseId) throw refused('hubReleaseId: there is no hub here; give templateId or template.');
  if (flashEnvironmentId) throw refused('flashEnvironmentId: there are no such environments here.');
}

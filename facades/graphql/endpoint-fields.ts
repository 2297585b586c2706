/** Public endpoint settings of GraphQL to contract fields. */
import type { Endpoint } from '../../proto/gen/slipway/v1/endpoint.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { change, noChanges } from '../rest/mask-fields.ts';
import type { FieldChanges } from '../rest/mask-fields.ts';
import { environmentOf, listOf } from './list-text.ts';
import type { EnvironmentVariable } from './list-text.ts';

/** EndpointInput of schema.graphql. Null counts as not given, except where it clears a field. */
export interface EndpointInput {
  id?: string | null;
  name?: string | null;
  gpuIds?: string | null;
  gpuCount?: number | null;
  templateId?: string | null;
  type?: string | null;
  idleTimeout?: number | null;
  locations?: string | null;
  flashBootType?: 'OFF' | 'FLASHBOOT' | null;
  scalerType?: string | null;
  scalerValue?: number | null;
  workersMin?: number | null;
  workersMax?: number | null;
  networkVolumeId?: string | null;
  executionTimeoutMs?: number | null;
  allowedCudaVersions?: string | null;
  env?: EnvironmentVariable[] | null;
}

/** An endpoint message as Mesh takes it: enums by their names in the contract. */
export type EndpointMessage = Omit<Endpoint, 'type' | 'scalerType' | 'flashBootType'> & { type: string; scalerType: string; flashBootType: string };

/** Older clients switch FlashBoot on by this ending of the name, which stays (compat.md 4.4). */
const FLASHBOOT_NAME = / -fb$/;

/** The fields that an input names. */
export function endpointFields(input: EndpointInput): FieldChanges<EndpointMessage> {
  const fields = noChanges<EndpointMessage>();
  change(fields, 'name', given(input.name));
  change(fields, 'templateId', given(input.templateId));
  change(fields, 'gpuIds', input.gpuIds === undefined ? undefined : listOf(input.gpuIds));
  change(fields, 'gpuCount', given(input.gpuCount));
  change(fields, 'workersMin', given(input.workersMin));
  change(fields, 'workersMax', given(input.workersMax));
  change(fields, 'idleTimeoutSeconds', given(input.idleTimeout));
  change(fields, 'scalerType', word('scalerType', input.scalerType, ['QUEUE_DELAY', 'REQUEST_COUNT'], 'SCALER_TYPE_'));
  change(fields, 'scalerValue', given(input.scalerValue));
  change(fields, 'executionTimeoutMs', given(input.executionTimeoutMs));
  change(fields, 'flashBootType', flashBoot(input));
  change(fields, 'locations', input.locations === undefined ? undefined : listOf(input.locations));
  change(fields, 'networkVolumeIds', input.networkVolumeId === undefined ? undefined : listOf(input.networkVolumeId));
  change(fields, 'allowedCudaVersions', input.allowedCudaVersions === undefined ? undefined : listOf(input.allowedCudaVersions));
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

/** Clients send these words as strings, so the schema cannot check them. */
function word(field: string, value: string | null | undefined, words: readonly string[], prefix: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (!words.includes(value)) throw new CoreError('INVALID_REQUEST', `${field} is ${JSON.stringify(value)}, but must be ${words.join(' or ')}.`);
  return prefix + value;
}

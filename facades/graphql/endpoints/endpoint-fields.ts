/**
 * Converts public endpoint settings of GraphQL to contract fields: those of the table, and the alternative forms of
 * clients.
 */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { versionsFrom } from '../../resources/cuda-versions.ts';
import { ENDPOINT } from '../../resources/endpoints/endpoint-table.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { refused } from '../core-calls.ts';
import type { EnvironmentVariable } from '../list-text.ts';
import { listOf } from '../list-text.ts';
import type { MeshMessage } from '../table-fields.ts';
import { inputChanges } from '../table-fields.ts';
import type { TemplateInput } from '../templates/template-fields.ts';

/**
 * EndpointInput of the public schema, as far as this file reads it. Null counts as absent, except where it clears a
 * field.
 */
export interface EndpointInput {
  id?: string | null;
  name?: string | null;
  gpuIds?: string | null;
  gpuCount?: number | null;
  instanceIds?: string[] | null;
  templateId?: string | null;
  template?: TemplateInput | null;
  locations?: string | null;
  flashBootType?: 'OFF' | 'FLASHBOOT' | 'PRIORITY_FLASHBOOT' | null;
  networkVolumeId?: string | null;
  networkVolumeIds?: { networkVolumeId: string }[] | null;
  executionTimeoutMs?: number | null;
  allowedCudaVersions?: string | null;
  minCudaVersion?: string | null;
  env?: EnvironmentVariable[] | null;
  hubReleaseId?: string | null;
  flashEnvironmentId?: string | null;
  [setting: string]: unknown;
}

/** An endpoint message in the form of Mesh. */
export type EndpointMessage = MeshMessage<Endpoint>;

/**
 * Older clients switch FlashBoot on by this ending of the name, which stays
 * (docs/reference/management.md#graphql-endpoints).
 */
const FLASHBOOT_NAME = /-fb$/;

/**
 * Returns the fields that an input sets. Throws GraphQLError if a word is unknown, or the input names an unavailable
 * feature.
 */
export function endpointFields(input: EndpointInput): FieldChanges<EndpointMessage> {
  rejectForeign(input);
  const { id, instanceIds, gpuCount, locations, executionTimeoutMs } = input;
  const isCpu = Boolean(instanceIds?.length) || (gpuCount === 0 && !id);
  return inputChanges<EndpointMessage>(ENDPOINT, input, {
    // Clients that fill in every default also send GPUs for CPU workers, where they have no meaning. Some clients can
    // only express CPU by an absence of GPUs.
    gpuCount: isCpu ? undefined : (gpuCount ?? undefined),
    computeType: isCpu ? 'CPU' : undefined,
    executionTimeoutMs: executionTimeoutMs || undefined,
    executionTimeoutUnset: typeof executionTimeoutMs === 'number' ? executionTimeoutMs === 0 : undefined,
    flashBootType: flashBoot(input),
    priorityFlashBoot: input.flashBootType ? input.flashBootType === 'PRIORITY_FLASHBOOT' : undefined,
    locations: locations === undefined ? undefined : listOf(locations),
    networkVolumeIds: volumes(input),
    allowedCudaVersions: cudaVersions(input),
  });
}

function flashBoot({ flashBootType, name }: EndpointInput): string | undefined {
  if (flashBootType) return flashBootType === 'OFF' ? 'FLASH_BOOT_TYPE_OFF' : 'FLASH_BOOT_TYPE_FLASHBOOT';
  return name && FLASHBOOT_NAME.test(name) ? 'FLASH_BOOT_TYPE_FLASHBOOT' : undefined;
}

/** Returns the volumes. Clients that know only one send an empty text for none. */
function volumes({ networkVolumeId, networkVolumeIds }: EndpointInput): string[] | undefined {
  if (networkVolumeIds?.length) return networkVolumeIds.map((each) => each.networkVolumeId);
  if (networkVolumeId !== undefined) return networkVolumeId ? [networkVolumeId] : [];
  return networkVolumeIds ? [] : undefined;
}

function cudaVersions({ allowedCudaVersions, minCudaVersion }: EndpointInput): string[] | undefined {
  const allowed = typeof allowedCudaVersions === 'string' ? listOf(allowedCudaVersions) : undefined;
  return minCudaVersion && !allowed?.length ? versionsFrom(minCudaVersion) : allowed;
}

/** Rejects fields of unavailable features. Clients also send these fields empty, which is accepted. */
function rejectForeign({ hubReleaseId, flashEnvironmentId }: EndpointInput): void {
  if (hubReleaseId) throw refused('hubReleaseId: there is no hub here; give templateId or template.');
  if (flashEnvironmentId) throw refused('flashEnvironmentId: there are no such environments here.');
}

/**
 * Converts contract endpoints to the public schema's fields. Zero and empty values are absent on the wire, so each
 * field has its default here.
 */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { EndedWorkers } from '@slipway/proto/gen/slipway/v1/machine';
import { lowestVersion } from '../../resources/cuda-versions.ts';
import { ENDPOINT } from '../../resources/endpoints/endpoint-table.ts';
import type { CoreMessage } from '../core-message.ts';
import { numberOf, timeTextOf } from '../core-message.ts';
import { shownFields } from '../table-fields.ts';

/** Source object of the resolvers of an endpoint's nested objects. */
export interface EndpointRecord {
  id: string;
  templateId: string;
  networkVolumeId: string | null;
  /** Whether it is an entry of a list. Related resources are then read once for all entries. */
  listed: boolean;
}

/** Returns an endpoint of the public schema, without the fields that have their own resolvers. */
export function presentEndpoint(endpoint: CoreMessage<Endpoint>, userId: string, listed = false) {
  const volumes = endpoint.networkVolumeIds ?? [];
  return {
    ...shownFields(ENDPOINT, endpoint),
    ...(endpoint.executionTimeoutUnset && { executionTimeoutMs: 0 }),
    ...(endpoint.priorityFlashBoot && { flashBootType: 'PRIORITY_FLASHBOOT' }),
    id: endpoint.id ?? '',
    listed,
    userId,
    templateId: endpoint.templateId ?? '',
    workersStandby: numberOf(endpoint.workersMin),
    workersPFBTarget: 0,
    throttledReason: endpoint.throttledReason || null,
    cannotRunReason: endpoint.cannotRunReason || null,
    rolloutState: endpoint.rolloutState || null,
    rolloutReason: endpoint.rolloutReason || null,
    servingVersion: numberOf(endpoint.servingVersion),
    networkVolumeId: volumes[0] ?? null,
    networkVolumeIds: volumes.map((networkVolumeId) => ({ networkVolumeId })),
    minCudaVersion: lowestVersion(endpoint.allowedCudaVersions ?? []),
    version: numberOf(endpoint.version),
    createdAt: timeTextOf(endpoint.createTime),
  };
}

/** Returns a group of workers that ended by themselves in the same way. */
export function presentEndedWorkers({
  count,
  exitCode,
  sentence,
  lastLine,
  lastEndTime,
  lastWorkerId,
}: CoreMessage<EndedWorkers>) {
  const last = { lastEndedAt: timeTextOf(lastEndTime), lastWorkerId: lastWorkerId ?? '' };
  return {
    count: numberOf(count),
    exitCode: exitCode ?? null,
    reason: sentence ?? '',
    lastLine: lastLine ?? '',
    ...last,
  };
}

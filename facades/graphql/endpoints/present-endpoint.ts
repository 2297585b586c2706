/** Contract endpoints to the public schema's fields. What is zero or empty is left out on the wire, so each has its default here. */
import { EndpointType, FlashBootType, ScalerType } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { EndedWorkers } from '../../../proto/gen/slipway/v1/machine.ts';
import { numberOf, timeTextOf } from '../core-message.ts';
import type { CoreMessage } from '../core-message.ts';
import { lowestVersion } from '../../resources/cuda-versions.ts';
import { textOf, variablesOf } from '../list-text.ts';

/** What the resolvers of an endpoint's own objects start from. */
export interface EndpointRecord {
  id: string;
  templateId: string;
  networkVolumeId: string | null;
  /** It is one of a list of all: what belongs to it is read for all at once. */
  listed: boolean;
}

/** Endpoint of the public schema, without what has resolvers of its own. */
export function presentEndpoint(endpoint: CoreMessage<Endpoint>, userId: string, listed = false) {
  const workersMin = numberOf(endpoint.workersMin);
  const volumes = endpoint.networkVolumeIds ?? [];
  const cudaVersions = endpoint.allowedCudaVersions ?? [];
  return {
    id: endpoint.id ?? '',
    listed,
    name: endpoint.name ?? '',
    userId,
    gpuIds: textOf(endpoint.gpuIds),
    gpuCount: numberOf(endpoint.gpuCount),
    computeType: endpoint.computeType,
    instanceIds: endpoint.instanceIds ?? [],
    templateId: endpoint.templateId ?? '',
    type: endpoint.type === EndpointType.LB ? 'LB' : 'QB',
    idleTimeout: numberOf(endpoint.idleTimeoutSeconds),
    locations: textOf(endpoint.locations),
    flashBootType: endpoint.flashBootType === FlashBootType.FLASHBOOT ? 'FLASHBOOT' : 'OFF',
    scalerType: endpoint.scalerType === ScalerType.REQUEST_COUNT ? 'REQUEST_COUNT' : 'QUEUE_DELAY',
    scalerValue: numberOf(endpoint.scalerValue),
    workerConcurrency: numberOf(endpoint.workerConcurrency),
    workersMin,
    workersMax: numberOf(endpoint.workersMax),
    workersStandby: workersMin,
    workersPFBTarget: 0,
    throttledReason: endpoint.throttledReason || null,
    networkVolumeId: volumes[0] ?? null,
    networkVolumeIds: volumes.map((networkVolumeId) => ({ networkVolumeId })),
    executionTimeoutMs: numberOf(endpoint.executionTimeoutMs),
    allowedCudaVersions: textOf(cudaVersions),
    minCudaVersion: lowestVersion(cudaVersions),
    env: variablesOf(endpoint.env),
    version: numberOf(endpoint.version),
    createdAt: timeTextOf(endpoint.createTime),
    modelReferences: [],
  };
}

/** Workers that ended without being told to, with the same exit code and the same last line. */
export function presentEndedWorkers({ count, exitCode, lastLine, lastEndTime, lastWorkerId }: CoreMessage<EndedWorkers>) {
  const last = { lastEndedAt: timeTextOf(lastEndTime), lastWorkerId: lastWorkerId ?? '' };
  return { count: numberOf(count), exitCode: exitCode ?? null, lastLine: lastLine ?? '', ...last };
}

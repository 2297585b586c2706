/** Contract endpoint to public record. */
import { EndpointType, FlashBootType, ScalerType } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { EndedWorkers } from '../../../proto/gen/slipway/v1/machine.ts';
import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { lowestVersion } from '../cuda-versions.ts';
import { presentPod } from '../pods/present-pod.ts';
import { presentTemplate } from '../templates/present-template.ts';
import { presentEndedWorkers } from './present-ended-workers.ts';
import type { EndpointRecord } from './endpoint-schemas.ts';

/** What is shown with an endpoint when it is asked for. */
export interface EndpointRelations {
  workers?: readonly Pod[] | undefined;
  /** With `workers`. */
  ended?: readonly EndedWorkers[] | undefined;
}

/** The public record. */
export function presentEndpoint(endpoint: Endpoint | undefined, accountId: string, relations: EndpointRelations = {}): EndpointRecord {
  if (endpoint === undefined) throw new CoreError('INTERNAL', 'core answered without an endpoint');
  const [networkVolumeId] = endpoint.networkVolumeIds;
  const minCudaVersion = lowestVersion(endpoint.allowedCudaVersions);
  const { template } = endpoint;
  const { workers, ended = [] } = relations;
  return {
    id: endpoint.id,
    name: endpoint.name,
    templateId: endpoint.templateId,
    ...(template === undefined ? {} : { template: presentTemplate(template) }),
    userId: accountId,
    version: endpoint.version,
    ...(endpoint.createTime === undefined ? {} : { createdAt: endpoint.createTime.toISOString() }),
    type: endpoint.type === EndpointType.LB ? 'LB' : 'QB',
    computeType: endpoint.computeType === 'CPU' ? 'CPU' : 'GPU',
    gpuTypeIds: endpoint.gpuIds,
    gpuCount: endpoint.gpuCount,
    instanceIds: endpoint.instanceIds,
    allowedCudaVersions: endpoint.allowedCudaVersions,
    ...(minCudaVersion === null ? {} : { minCudaVersion }),
    dataCenterIds: endpoint.locations,
    env: endpoint.env,
    executionTimeoutMs: endpoint.executionTimeoutMs,
    flashboot: endpoint.flashBootType === FlashBootType.FLASHBOOT,
    idleTimeout: endpoint.idleTimeoutSeconds,
    ...(networkVolumeId === undefined ? {} : { networkVolumeId }),
    networkVolumeIds: endpoint.networkVolumeIds,
    scalerType: endpoint.scalerType === ScalerType.REQUEST_COUNT ? 'REQUEST_COUNT' : 'QUEUE_DELAY',
    scalerValue: endpoint.scalerValue,
    workerConcurrency: endpoint.workerConcurrency,
    workersMin: endpoint.workersMin,
    workersMax: endpoint.workersMax,
    workersStandby: endpoint.workersMin,
    ...(endpoint.throttledReason === '' ? {} : { throttledReason: endpoint.throttledReason }),
    ...(workers === undefined ? {} : { workers: workers.map((worker) => presentPod(worker, accountId)), endedWorkers: ended.map(presentEndedWorkers) }),
  };
}

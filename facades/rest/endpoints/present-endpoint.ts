/** Contract endpoint to public record. */
import { EndpointType, FlashBootType, ScalerType } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { Template } from '../../../proto/gen/slipway/v1/template_service.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import type { EndpointRecord } from './endpoint-schemas.ts';
import { presentTemplate } from '../templates/present-template.ts';

/** The public record; with its template when one is given. */
export function presentEndpoint(endpoint: Endpoint | undefined, accountId: string, template?: Template): EndpointRecord {
  if (endpoint === undefined) throw new CoreError('INTERNAL', 'core answered without an endpoint');
  const [networkVolumeId] = endpoint.networkVolumeIds;
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
    allowedCudaVersions: endpoint.allowedCudaVersions,
    dataCenterIds: endpoint.locations,
    env: endpoint.env,
    executionTimeoutMs: endpoint.executionTimeoutMs,
    flashboot: endpoint.flashBootType === FlashBootType.FLASHBOOT,
    idleTimeout: endpoint.idleTimeoutSeconds,
    ...(networkVolumeId === undefined ? {} : { networkVolumeId }),
    networkVolumeIds: endpoint.networkVolumeIds,
    scalerType: endpoint.scalerType === ScalerType.REQUEST_COUNT ? 'REQUEST_COUNT' : 'QUEUE_DELAY',
    scalerValue: endpoint.scalerValue,
    workersMin: endpoint.workersMin,
    workersMax: endpoint.workersMax,
  };
}

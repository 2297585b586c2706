/** Endpoints between the contract and the domain. */
import { EndpointType, FlashBootType, ScalerType } from '../../proto/gen/slipway/v1/endpoint.ts';
import type { Endpoint as EndpointMessage } from '../../proto/gen/slipway/v1/endpoint.ts';
import type { CreateEndpointRequest } from '../../proto/gen/slipway/v1/endpoint_service.ts';
import { ENDPOINT_DEFAULTS } from '../domain/endpoint.ts';
import { invalid } from '../domain/fields.ts';
import type { EndpointSettings } from '../domain/endpoint.ts';
import type { EndpointRequest } from '../endpoints/create-endpoint.ts';
import type { EndpointView } from '../endpoints/list-endpoints.ts';
import type { EndpointChange } from '../endpoints/update-endpoint.ts';
import { templateToMessage } from './template-messages.ts';
import { changeFromMask } from './update-mask.ts';
import type { FieldReaders } from './update-mask.ts';

const TYPES: Record<EndpointType, EndpointSettings['type']> = {
  [EndpointType.UNSPECIFIED]: 'QB', [EndpointType.QB]: 'QB', [EndpointType.LB]: 'LB',
};
const SCALERS: Record<ScalerType, EndpointSettings['scalerType']> = {
  [ScalerType.UNSPECIFIED]: 'QUEUE_DELAY', [ScalerType.QUEUE_DELAY]: 'QUEUE_DELAY', [ScalerType.REQUEST_COUNT]: 'REQUEST_COUNT',
};
const FLASH_BOOTS: Record<FlashBootType, EndpointSettings['flashBootType']> = {
  [FlashBootType.UNSPECIFIED]: 'OFF', [FlashBootType.OFF]: 'OFF', [FlashBootType.FLASHBOOT]: 'FLASHBOOT',
};

/** Type for the wire. */
export function endpointTypeToMessage(type: EndpointSettings['type']): EndpointType {
  return type === 'LB' ? EndpointType.LB : EndpointType.QB;
}

/** An endpoint for its owner, without its webhook secret. `throttledReason`: why its workers find no place, where that was asked for. */
export function endpointToMessage(endpoint: EndpointView, throttledReason = ''): EndpointMessage {
  const { accountId, createdAt, type, scalerType, flashBootType, template, ...rest } = endpoint;
  return {
    ...rest,
    throttledReason,
    ...(template && { template: templateToMessage(template, accountId) }),
    type: endpointTypeToMessage(type),
    scalerType: scalerType === 'REQUEST_COUNT' ? ScalerType.REQUEST_COUNT : ScalerType.QUEUE_DELAY,
    flashBootType: flashBootType === 'FLASHBOOT' ? FlashBootType.FLASHBOOT : FlashBootType.OFF,
    createTime: createdAt,
    webhookSecret: '',
  };
}

/** A creation with the defaults written at each field. INVALID_REQUEST: an enum value is unknown. */
export function endpointRequestFromMessage(request: CreateEndpointRequest): EndpointRequest {
  const endpoint = request.endpoint;
  if (!endpoint) throw invalid('endpoint is required');
  const { gpuIds, workersMin } = endpoint;
  const workersMax = request.workersMax ?? (endpoint.workersMax || ENDPOINT_DEFAULTS.workersMax);
  return {
    requestId: request.requestId,
    webhookSecret: endpoint.webhookSecret,
    settings: {
      name: endpoint.name,
      templateId: endpoint.templateId,
      type: known('type', TYPES[endpoint.type]),
      gpuIds,
      // What fits no CPU endpoint is refused as such, not by its default.
      gpuCount: endpoint.gpuCount || (endpoint.computeType === 'CPU' && gpuIds.length === 0 ? 0 : 1),
      workersMin,
      workersMax,
      idleTimeoutSeconds: endpoint.idleTimeoutSeconds || ENDPOINT_DEFAULTS.idleTimeoutSeconds,
      scalerType: known('scaler_type', SCALERS[endpoint.scalerType]),
      scalerValue: endpoint.scalerValue || ENDPOINT_DEFAULTS.scalerValue,
      executionTimeoutMs: endpoint.executionTimeoutMs || ENDPOINT_DEFAULTS.executionTimeoutMs,
      flashBootType: known('flash_boot_type', FLASH_BOOTS[endpoint.flashBootType]),
      locations: endpoint.locations,
      networkVolumeIds: endpoint.networkVolumeIds,
      env: endpoint.env,
      retryLimit: request.retryLimit ?? (endpoint.retryLimit || ENDPOINT_DEFAULTS.retryLimit),
      retryHandlerErrors: endpoint.retryHandlerErrors,
      workerConcurrency: endpoint.workerConcurrency || ENDPOINT_DEFAULTS.workerConcurrency,
      computeType: computeType(endpoint.computeType),
      allowedCudaVersions: endpoint.allowedCudaVersions,
      instanceIds: endpoint.instanceIds,
    },
  };
}

/** How each field that may be named in an update mask gets its new value. The fixed ones may be named with the value that they have. */
const CHANGES: FieldReaders<EndpointMessage, EndpointChange['settings']> = {
  name: ({ name }) => ({ name }),
  template_id: ({ templateId }) => ({ templateId }),
  type: ({ type }) => ({ type: known('type', TYPES[type]) }),
  compute_type: (endpoint) => ({ computeType: computeType(endpoint.computeType) }),
  gpu_ids: ({ gpuIds }) => ({ gpuIds }),
  gpu_count: ({ gpuCount }) => ({ gpuCount }),
  workers_min: ({ workersMin }) => ({ workersMin }),
  workers_max: ({ workersMax }) => ({ workersMax }),
  idle_timeout_seconds: ({ idleTimeoutSeconds }) => ({ idleTimeoutSeconds }),
  scaler_type: ({ scalerType }) => ({ scalerType: known('scaler_type', SCALERS[scalerType]) }),
  scaler_value: ({ scalerValue }) => ({ scalerValue }),
  execution_timeout_ms: ({ executionTimeoutMs }) => ({ executionTimeoutMs }),
  flash_boot_type: ({ flashBootType }) => ({ flashBootType: known('flash_boot_type', FLASH_BOOTS[flashBootType]) }),
  locations: ({ locations }) => ({ locations }),
  network_volume_ids: ({ networkVolumeIds }) => ({ networkVolumeIds }),
  env: ({ env }) => ({ env }),
  retry_limit: ({ retryLimit }) => ({ retryLimit }),
  retry_handler_errors: ({ retryHandlerErrors }) => ({ retryHandlerErrors }),
  worker_concurrency: ({ workerConcurrency }) => ({ workerConcurrency }),
  allowed_cuda_versions: ({ allowedCudaVersions }) => ({ allowedCudaVersions }),
  instance_ids: ({ instanceIds }) => ({ instanceIds }),
  // Not a setting: stored sealed and never read back.
  webhook_secret: () => ({}),
};

/** A change from an update mask. INVALID_REQUEST: the mask is empty or names a field that cannot be changed. */
export function changeFromMessage(endpoint: EndpointMessage, mask: readonly string[]): EndpointChange {
  const settings = changeFromMask(endpoint, mask, CHANGES);
  return { settings, webhookSecret: mask.includes('webhook_secret') ? endpoint.webhookSecret : undefined };
}

function known<Value>(field: string, value: Value | undefined): Value {
  if (value === undefined) throw invalid(`${field} has a value that this version does not know`);
  return value;
}

function computeType(text: string): EndpointSettings['computeType'] {
  if (text === '' || text === 'GPU') return 'GPU';
  if (text === 'CPU') return 'CPU';
  throw invalid(`compute_type is ${JSON.stringify(text.slice(0, 64))}, but must be GPU or CPU`);
}

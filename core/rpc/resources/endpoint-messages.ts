/** Endpoints between the contract and the domain. */

import type { Endpoint as EndpointMessage } from '@slipway/proto/gen/slipway/v1/endpoint';
import { EndpointType, FlashBootType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { CreateEndpointRequest, OwnTemplate } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { describeRollout } from '../../domain/reports/rollout-text.ts';
import type { EndpointSettings } from '../../domain/resources/endpoint.ts';
import { ENDPOINT_SETTINGS, LB_DEFAULTS } from '../../domain/resources/endpoint.ts';
import type { OwnTemplateChange } from '../../domain/resources/own-template.ts';
import { ownTemplateSettings } from '../../domain/resources/own-template.ts';
import { currentRollout } from '../../domain/scaling/rollout.ts';
import type { Rollout } from '../../domain/scaling/rollout-settings.ts';
import { invalid, snake } from '../../domain/settings/fields.ts';
import type { EndpointRequest } from '../../endpoints/create-endpoint.ts';
import type { EndpointView } from '../../endpoints/endpoints.ts';
import type { EndpointChange } from '../../endpoints/update-endpoint.ts';
import type { FieldReaders } from '../server/update-mask.ts';
import { changeFromMask } from '../server/update-mask.ts';
import { templateChangeFromMessage, templateToMessage } from './template-messages.ts';

const TYPES: Record<EndpointType, EndpointSettings['type']> = {
  [EndpointType.UNSPECIFIED]: 'QB',
  [EndpointType.QB]: 'QB',
  [EndpointType.LB]: 'LB',
};
const SCALERS: Record<ScalerType, EndpointSettings['scalerType']> = {
  [ScalerType.UNSPECIFIED]: 'QUEUE_DELAY',
  [ScalerType.QUEUE_DELAY]: 'QUEUE_DELAY',
  [ScalerType.REQUEST_COUNT]: 'REQUEST_COUNT',
  [ScalerType.SLO]: 'SLO',
};
const FLASH_BOOTS: Record<FlashBootType, EndpointSettings['flashBootType']> = {
  [FlashBootType.UNSPECIFIED]: 'OFF',
  [FlashBootType.OFF]: 'OFF',
  [FlashBootType.FLASHBOOT]: 'FLASHBOOT',
};

/** Type for the wire. */
export function endpointTypeToMessage(type: EndpointSettings['type']): EndpointType {
  return type === 'LB' ? EndpointType.LB : EndpointType.QB;
}

/**
 * An endpoint for its owner, without its webhook secret. `reasons`: why its workers find no place; `rollout`: undefined
 * once it is complete.
 */
export function endpointToMessage(
  endpoint: EndpointView,
  reasons: Pick<EndpointMessage, 'throttledReason' | 'cannotRunReason'>,
  rollout?: Rollout,
): EndpointMessage {
  const { accountId, createdAt, type, scalerType, flashBootType, template, ...rest } = endpoint;
  const told = describeRollout(endpoint.version, rollout && currentRollout(rollout, endpoint.version));
  return {
    ...rest,
    ...reasons,
    rolloutState: told.state,
    rolloutReason: told.text,
    servingVersion: told.servingVersion,
    ...(template && { template: templateToMessage(template, accountId) }),
    type: endpointTypeToMessage(type),
    scalerType: ScalerType[scalerType],
    flashBootType: flashBootType === 'FLASHBOOT' ? FlashBootType.FLASHBOOT : FlashBootType.OFF,
    createTime: createdAt,
    webhookSecret: '',
  };
}

/** Settings that the domain writes otherwise than the contract. INVALID_REQUEST: the value is unknown. */
const READERS = {
  type: ({ type }: EndpointMessage) => known('type', TYPES[type]),
  scalerType: ({ scalerType }: EndpointMessage) => known('scaler_type', SCALERS[scalerType]),
  flashBootType: ({ flashBootType }: EndpointMessage) => known('flash_boot_type', FLASH_BOOTS[flashBootType]),
  computeType: (endpoint: EndpointMessage) => computeType(endpoint.computeType),
};
const FIELDS = Object.keys(ENDPOINT_SETTINGS) as (keyof EndpointSettings)[];

/** One setting of a message. */
function settingOf(endpoint: EndpointMessage, field: keyof EndpointSettings): EndpointSettings[keyof EndpointSettings] {
  const asTheyAre: Omit<EndpointSettings, keyof typeof READERS> = endpoint;
  return field in READERS
    ? READERS[field as keyof typeof READERS](endpoint)
    : asTheyAre[field as keyof typeof asTheyAre];
}

/** A creation with the defaults of the domain for what is zero or empty. INVALID_REQUEST: an enum value is unknown. */
export function endpointRequestFromMessage({
  endpoint,
  requestId,
  workersMax,
  retryLimit,
  ownTemplate,
}: CreateEndpointRequest): EndpointRequest {
  if (!endpoint) throw invalid('endpoint is required');
  const given = FIELDS.map((field) => {
    const value = settingOf(endpoint, field);
    return [field, value || (ENDPOINT_SETTINGS[field].default ?? value)];
  });
  const settings = Object.fromEntries(given) as EndpointSettings;
  if (settings.type === 'LB' && endpoint.scalerType === ScalerType.UNSPECIFIED)
    settings.scalerType = LB_DEFAULTS.scalerType;
  if (settings.type === 'LB' && endpoint.workerConcurrency === 0)
    settings.workerConcurrency = LB_DEFAULTS.workerConcurrency;
  // What fits no CPU endpoint is refused as such, not by its default.
  if (settings.computeType === 'CPU' && endpoint.gpuCount === 0 && endpoint.gpuIds.length === 0) settings.gpuCount = 0;
  // Where 0 is a choice, the request says it beside the endpoint.
  if (workersMax !== undefined) settings.workersMax = workersMax;
  if (retryLimit !== undefined) settings.retryLimit = retryLimit;
  return {
    requestId,
    webhookSecret: endpoint.webhookSecret,
    settings,
    ownTemplate: ownTemplate && ownTemplateFromMessage(ownTemplate),
  };
}

/**
 * How each field that may be named in an update mask gets its new value. The fixed ones may be named with the value
 * that they have.
 */
const CHANGES: FieldReaders<EndpointMessage, EndpointChange['settings']> = {
  ...Object.fromEntries(
    FIELDS.map((field) => [snake(field), (endpoint: EndpointMessage) => ({ [field]: settingOf(endpoint, field) })]),
  ),
  // Not a setting: stored sealed and never read back.
  webhook_secret: () => ({}),
};

/** A change from an update mask. INVALID_REQUEST: the mask is empty or names a field that cannot be changed. */
export function changeFromMessage(
  endpoint: EndpointMessage,
  mask: readonly string[],
  ownTemplate?: OwnTemplate,
): EndpointChange {
  const settings = mask.length === 0 && ownTemplate ? {} : changeFromMask(endpoint, mask, CHANGES);
  const webhookSecret = mask.includes('webhook_secret') ? endpoint.webhookSecret : undefined;
  return { settings, webhookSecret, ownTemplate: ownTemplate && ownTemplateFromMessage(ownTemplate) };
}

/** INVALID_REQUEST: its mask names what cannot be set. */
function ownTemplateFromMessage({ template, updateMask = [], fromTemplateId }: OwnTemplate): OwnTemplateChange {
  if (updateMask.length === 0) return { settings: {}, fromTemplateId };
  if (!template) throw invalid('own_template.template is required where update_mask names fields of it');
  return { settings: ownTemplateSettings(templateChangeFromMessage(template, updateMask)), fromTemplateId };
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

/** Converts endpoints between the contract and the domain. */

import type { Endpoint as EndpointMessage } from '@slipway/proto/gen/slipway/v1/endpoint';
import { EndpointType, FlashBootStandby, FlashBootType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { CreateEndpointRequest, OwnTemplate } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { storedReferences } from '../../domain/machines/model-reference.ts';
import { describeRollout } from '../../domain/reports/rollout-text.ts';
import type { EndpointSettings } from '../../domain/resources/endpoint.ts';
import { ENDPOINT_SETTINGS, LB_DEFAULTS } from '../../domain/resources/endpoint.ts';
import type { OwnTemplateChange } from '../../domain/resources/own-template.ts';
import { ownTemplateSettings } from '../../domain/resources/own-template.ts';
import { currentRollout } from '../../domain/scaling/rollout.ts';
import type { Rollout } from '../../domain/scaling/rollout-settings.ts';
import { invalid, snake } from '../../domain/settings/fields.ts';
import { givenEnv, hiddenEnv } from '../../domain/settings/hidden-env.ts';
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
const STANDBYS: Record<FlashBootStandby, EndpointSettings['flashBootStandby']> = {
  [FlashBootStandby.UNSPECIFIED]: 'AUTO',
  [FlashBootStandby.AUTO]: 'AUTO',
  [FlashBootStandby.GPU]: 'GPU',
  [FlashBootStandby.HOST]: 'HOST',
};

/** Converts the type of an endpoint. */
export function endpointTypeToMessage(type: EndpointSettings['type']): EndpointType {
  return type === 'LB' ? EndpointType.LB : EndpointType.QB;
}

/**
 * Converts an endpoint for its owner, without its webhook secret. `reasons`: why its workers find no slot. `rollout`:
 * `undefined` once it is complete. `seesValues`: the key may see the values of variables.
 */
export function endpointToMessage(
  endpoint: EndpointView,
  reasons: Pick<EndpointMessage, 'throttledReason' | 'cannotRunReason'> & { flashBootStandbyReason?: string },
  rollout: Rollout | undefined,
  seesValues: boolean,
): EndpointMessage {
  const { accountId, createdAt, type, scalerType, flashBootType, flashBootStandby, template, env, ...rest } = endpoint;
  const rolloutText = describeRollout(endpoint.version, rollout && currentRollout(rollout, endpoint.version));
  return {
    ...rest,
    env: seesValues ? env : hiddenEnv(env),
    flashBootStandbyReason: '',
    ...reasons,
    rolloutState: rolloutText.state,
    rolloutReason: rolloutText.text,
    servingVersion: rolloutText.servingVersion,
    ...(template && { template: templateToMessage(template, accountId, seesValues) }),
    type: endpointTypeToMessage(type),
    scalerType: ScalerType[scalerType],
    flashBootType: flashBootType === 'FLASHBOOT' ? FlashBootType.FLASHBOOT : FlashBootType.OFF,
    flashBootStandby: FlashBootStandby[flashBootStandby],
    createTime: createdAt,
    webhookSecret: '',
  };
}

/**
 * Readers of settings that the contract represents in another way than the domain. Throw INVALID_REQUEST if the value
 * is unknown.
 */
const READERS = {
  type: ({ type }: EndpointMessage) => known('type', TYPES[type]),
  scalerType: ({ scalerType }: EndpointMessage) => known('scaler_type', SCALERS[scalerType]),
  flashBootType: ({ flashBootType }: EndpointMessage) => known('flash_boot_type', FLASH_BOOTS[flashBootType]),
  flashBootStandby: ({ flashBootStandby }: EndpointMessage) => known('flash_boot_standby', STANDBYS[flashBootStandby]),
  env: ({ env }: EndpointMessage) => givenEnv(env),
  computeType: (endpoint: EndpointMessage) => computeType(endpoint.computeType),
  // 0 is a choice: only an absent weight takes the default.
  modelWeight: ({ modelWeight }: EndpointMessage) => modelWeight ?? ENDPOINT_SETTINGS.modelWeight.default!,
  modelReferences: ({ modelReferences }: EndpointMessage) => storedReferences(modelReferences),
};
const FIELDS = Object.keys(ENDPOINT_SETTINGS) as (keyof EndpointSettings)[];

/** Returns one setting of a message. */
function settingOf(endpoint: EndpointMessage, field: keyof EndpointSettings): EndpointSettings[keyof EndpointSettings] {
  const asTheyAre: Omit<EndpointSettings, keyof typeof READERS> = endpoint;
  return field in READERS
    ? READERS[field as keyof typeof READERS](endpoint)
    : asTheyAre[field as keyof typeof asTheyAre];
}

/**
 * Converts a creation, with the defaults of the domain for values that are zero or empty. Throws INVALID_REQUEST if an
 * enum value is unknown.
 */
export function endpointRequestFromMessage({
  endpoint,
  workersMax,
  retryLimit,
  ownTemplate,
  wantedId,
}: CreateEndpointRequest): EndpointRequest {
  if (!endpoint) throw invalid('endpoint is required');
  const given = FIELDS.map((field) => {
    const value = settingOf(endpoint, field);
    return [field, field in READERS ? value : value || (ENDPOINT_SETTINGS[field].default ?? value)];
  });
  const settings = Object.fromEntries(given) as EndpointSettings;
  if (settings.type === 'LB' && endpoint.scalerType === ScalerType.UNSPECIFIED)
    settings.scalerType = LB_DEFAULTS.scalerType;
  if (settings.type === 'LB' && endpoint.workerConcurrency === 0)
    settings.workerConcurrency = LB_DEFAULTS.workerConcurrency;
  // Without this, the default of gpuCount would be rejected instead of the field that does not fit a CPU endpoint.
  if (settings.computeType === 'CPU' && endpoint.gpuCount === 0 && endpoint.gpuIds.length === 0) settings.gpuCount = 0;
  // Settings for which 0 is a valid choice are fields of the request, beside the endpoint.
  if (workersMax !== undefined) settings.workersMax = workersMax;
  if (retryLimit !== undefined) settings.retryLimit = retryLimit;
  return {
    webhookSecret: endpoint.webhookSecret,
    settings,
    ownTemplate: ownTemplate && ownTemplateFromMessage(ownTemplate),
    wantedId,
  };
}

/** Readers of the fields that an update mask may name. Fixed fields may be named with their current value. */
const CHANGES: FieldReaders<EndpointMessage, EndpointChange['settings']> = {
  ...Object.fromEntries(
    FIELDS.map((field) => [snake(field), (endpoint: EndpointMessage) => ({ [field]: settingOf(endpoint, field) })]),
  ),
  // Not a setting: stored encrypted and never read back.
  webhook_secret: () => ({}),
};

/**
 * Converts a change with an update mask. Throws INVALID_REQUEST if the mask is empty or names a field that cannot be
 * changed.
 */
export function changeFromMessage(
  endpoint: EndpointMessage,
  mask: readonly string[],
  ownTemplate?: OwnTemplate,
): EndpointChange {
  const settings = mask.length === 0 && ownTemplate ? {} : changeFromMask(endpoint, mask, CHANGES);
  const webhookSecret = mask.includes('webhook_secret') ? endpoint.webhookSecret : undefined;
  return { settings, webhookSecret, ownTemplate: ownTemplate && ownTemplateFromMessage(ownTemplate) };
}

/** Converts a change of an own template. Throws INVALID_REQUEST if its mask names a field that cannot be set. */
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

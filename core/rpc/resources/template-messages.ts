/** Converts templates between the contract and the domain. */
import type { Template as TemplateMessage } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Template, TemplateSettings } from '../../domain/resources/template.ts';
import { TEMPLATE_SETTINGS } from '../../domain/resources/template.ts';
import { invalid, snake } from '../../domain/settings/fields.ts';
import { givenEnv, hiddenEnv } from '../../domain/settings/hidden-env.ts';
import type { FieldReaders } from '../server/update-mask.ts';
import { changeFromMask } from '../server/update-mask.ts';

/**
 * Converts a template for an account. For other accounts' templates, only the names of variables are shown, and no
 * registry credentials. `seesValues`: the key may see the values of the account's own variables.
 */
export function templateToMessage(
  { accountId, createdAt, registryAuthId, env, boundEndpointId, ...rest }: Template,
  readerId: string,
  seesValues: boolean,
): TemplateMessage {
  const own = accountId === readerId;
  const names = (): Record<string, string> => Object.fromEntries(Object.keys(env).map((name) => [name, '']));
  const ownEnv = seesValues ? env : hiddenEnv(env);
  return {
    ...rest,
    env: own ? ownEnv : names(),
    registryAuthId: own ? (registryAuthId ?? '') : '',
    createTime: createdAt,
    boundEndpointId: boundEndpointId ?? '',
  };
}

const FIELDS = Object.keys(TEMPLATE_SETTINGS) as (keyof TemplateSettings)[];

type Setting = TemplateSettings[keyof TemplateSettings];

/** Returns one setting of a message. `undefined` if an optional one is absent. */
function settingOf(template: TemplateMessage, field: keyof TemplateSettings): Setting | undefined {
  if (field === 'env') return givenEnv(template.env);
  return field === 'registryAuthId' ? template.registryAuthId || null : template[field];
}

/** Converts a creation, with the defaults of the domain for values that are zero or empty. */
export function templateFromMessage(template: TemplateMessage | undefined): TemplateSettings {
  if (!template) throw invalid('template is required');
  const given = FIELDS.map((field) => {
    const value = settingOf(template, field);
    const isGiven = typeof value === 'boolean' || Boolean(value);
    return [field, isGiven ? value : (TEMPLATE_SETTINGS[field].default ?? value)];
  });
  return Object.fromEntries(given) as TemplateSettings;
}

/**
 * Readers of the fields that an update mask may name. Fixed fields may be named with their current value. A field that
 * is named and absent gets its default.
 */
const CHANGES: FieldReaders<TemplateMessage, Partial<TemplateSettings>> = Object.fromEntries(
  FIELDS.map((field) => [
    snake(field),
    (template: TemplateMessage) => ({ [field]: settingOf(template, field) ?? null }),
  ]),
);

/**
 * Converts a change with an update mask. Throws INVALID_REQUEST if the mask is empty or names a field that cannot be
 * changed.
 */
export function templateChangeFromMessage(
  template: TemplateMessage,
  mask: readonly string[],
): Partial<TemplateSettings> {
  return changeFromMask(template, mask, CHANGES);
}

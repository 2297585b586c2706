/** Own templates: a template that only one endpoint runs. Its fields, and the checks of its use. */
import { DomainError } from '../settings/errors.ts';
import { invalid, NAME_LENGTH_MAX } from '../settings/fields.ts';
import type { Template, TemplateSettings } from './template.ts';
import { checkTemplate, TEMPLATE_SETTINGS } from './template.ts';

/** Fields that may be set. The others follow from the endpoint. */
const NAMED = [
  'imageName',
  'startCommand',
  'entrypoint',
  'env',
  'workingDirectory',
  'containerDiskGb',
  'volumeMountPath',
  'ports',
  'registryAuthId',
  'exampleInput',
] as const;
export type OwnTemplateSettings = Pick<TemplateSettings, (typeof NAMED)[number]>;

/** A change of an endpoint's own template. */
export interface OwnTemplateChange {
  /** The fields to set. */
  settings: Partial<OwnTemplateSettings>;
  /** Template from which the other fields are copied once. Empty: they stay; a new endpoint gets the defaults. */
  fromTemplateId: string;
}

/** Returns the named fields. Throws INVALID_REQUEST if one cannot be set. */
export function ownTemplateSettings(named: Partial<TemplateSettings>): Partial<OwnTemplateSettings> {
  const other = Object.keys(named).find((field) => !NAMED.some((known) => known === field));
  if (other !== undefined) throw invalid(`own_template: ${other} follows from the endpoint and cannot be set`);
  return named;
}

/** Returns the template's name, which is unique in the account. */
export function ownTemplateName(endpointName: string, endpointId: string): string {
  const lengthMax = NAME_LENGTH_MAX - endpointId.length - 1;
  return `${[...endpointName].slice(0, lengthMax).join('')} ${endpointId}`;
}

/**
 * Returns the whole template. `base`: template that gives the fields that are not set, with its variables. Throws
 * INVALID_REQUEST if a field is out of range.
 */
export function ownTemplateOf(
  name: string,
  settings: Partial<OwnTemplateSettings>,
  base: Pick<TemplateSettings, (typeof NAMED)[number] | 'category'> | undefined,
): TemplateSettings {
  const whole: TemplateSettings = {
    imageName: '',
    startCommand: [],
    entrypoint: [],
    env: {},
    workingDirectory: '',
    containerDiskGb: TEMPLATE_SETTINGS.containerDiskGb.default!,
    volumeMountPath: TEMPLATE_SETTINGS.volumeMountPath.default!,
    ports: [],
    registryAuthId: null,
    exampleInput: '',
    category: TEMPLATE_SETTINGS.category.default!,
    ...(base && Object.fromEntries([...NAMED, 'category' as const].map((field) => [field, base[field]]))),
    ...settings,
    name,
    volumeGb: 0,
    serverless: true,
    public: false,
    readme: '',
    startSsh: TEMPLATE_SETTINGS.startSsh.default!,
    startJupyter: TEMPLATE_SETTINGS.startJupyter.default!,
  };
  checkTemplate(whole);
  return whole;
}

/**
 * Throws INVALID_REQUEST if a template is another endpoint's own. `endpointId`: the endpoint whose own template is
 * allowed. `undefined`: none.
 */
export function checkNotBound({ id, boundEndpointId }: Template, endpointId?: string): void {
  if (boundEndpointId === null || boundEndpointId === endpointId) return;
  throw invalid(
    `template_id: ${JSON.stringify(id)} is what endpoint ${boundEndpointId} alone runs; make a template of your ` +
      'own from it and name that',
  );
}

/** Returns the error for a source template that does not exist. */
export function noSuchSource(id: string): DomainError {
  return new DomainError(
    'TEMPLATE_NOT_FOUND',
    `There is no template ${JSON.stringify(id.slice(0, 64))} in this account.`,
  );
}

/**
 * Returns the error for a change of a template that another account shares: a copy would show its variables to an
 * account that may only use them.
 */
export function foreignTemplate(): DomainError {
  return invalid(
    'own_template: a public template of another account is run as it is, with other values of env at most; name ' +
      'image_name and the rest',
  );
}

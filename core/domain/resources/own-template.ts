/** A template that one endpoint alone runs: what it is made of, and who may use it. */
import { DomainError } from '../settings/errors.ts';
import { invalid, NAME_LENGTH_MAX } from '../settings/fields.ts';
import type { Template, TemplateSettings } from './template.ts';
import { checkTemplate, TEMPLATE_SETTINGS } from './template.ts';

/** What may be said of it; the rest follows from the endpoint. */
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
] as const;
export type OwnTemplateSettings = Pick<TemplateSettings, (typeof NAMED)[number]>;

/** A change of what an endpoint alone runs. */
export interface OwnTemplateChange {
  /** The fields that are named. */
  settings: Partial<OwnTemplateSettings>;
  /**
   * The template that gives what is not named, once. Empty: what the endpoint runs does; the defaults do of a new one.
   */
  fromTemplateId: string;
}

/** Returns the named fields. INVALID_REQUEST: one cannot be named. */
export function ownTemplateSettings(named: Partial<TemplateSettings>): Partial<OwnTemplateSettings> {
  const other = Object.keys(named).find((field) => !NAMED.some((known) => known === field));
  if (other !== undefined) throw invalid(`own_template: ${other} follows from the endpoint and cannot be set`);
  return named;
}

/** Returns its name, which no other template of the account has. */
export function ownTemplateName(endpointName: string, endpointId: string): string {
  const room = NAME_LENGTH_MAX - endpointId.length - 1;
  return `${[...endpointName].slice(0, room).join('')} ${endpointId}`;
}

/**
 * Returns the whole template. `base`: gives what is not named, with its variables. INVALID_REQUEST: a field is out of
 * range.
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
    category: TEMPLATE_SETTINGS.category.default!,
    ...(base && Object.fromEntries([...NAMED, 'category' as const].map((field) => [field, base[field]]))),
    ...settings,
    name,
    volumeGb: 0,
    serverless: true,
    public: false,
    readme: '',
  };
  checkTemplate(whole);
  return whole;
}

/**
 * Fails with INVALID_REQUEST when a template is another endpoint's own. `endpointId`: whose it may be; undefined:
 * nobody's.
 */
export function checkNotBound({ id, boundEndpointId }: Template, endpointId?: string): void {
  if (boundEndpointId === null || boundEndpointId === endpointId) return;
  throw invalid(
    `template_id: ${JSON.stringify(id)} is what endpoint ${boundEndpointId} alone runs; make a template of your own from it and name that`,
  );
}

/** The refusal of a template to take apart. */
export function noSuchSource(id: string): DomainError {
  return new DomainError(
    'TEMPLATE_NOT_FOUND',
    `There is no template ${JSON.stringify(id.slice(0, 64))} in this account.`,
  );
}

/**
 * The refusal of a change to what another account shares: a copy of it would show its variables to whoever may only use
 * them.
 */
export function foreignTemplate(): DomainError {
  return invalid(
    'own_template: a public template of another account is run as it is, with other values of env at most; name image_name and the rest',
  );
}

/**
 * The settings of a file for `slipway apply`: names as in REST, forms and bounds of the tables that REST is made of.
 */

import { ENDPOINT } from '@slipway/facades/resources/endpoints/endpoint-table';
import type { Kind, Table } from '@slipway/facades/resources/field';
import { OWN_TEMPLATE } from '@slipway/facades/resources/templates/own-template';
import { TEMPLATE } from '@slipway/facades/resources/templates/template-table';
import { VOLUME_SETTINGS } from '@slipway/proto/wire/settings';

/** Form of a value. */
export type Form = Kind | { is: 'settings'; settings: readonly Setting[]; orName?: true };

/** One setting of a resource. */
export interface Setting {
  name: string;
  /** Its name in the contract. `undefined` if it stands for something else there. */
  field?: string;
  form: Form;
  about: string;
  min?: number | undefined;
  max?: number | undefined;
  /** Contract value that applies if it is not set. */
  fallback?: unknown;
  required?: true;
}

/** Sections of a file in the order in which they are carried out. */
export const SECTIONS = ['secrets', 'registryAuths', 'networkVolumes', 'templates', 'endpoints'] as const;
export type Section = (typeof SECTIONS)[number];

/** Names of a resource of each section, for people. */
export const WORDS: Readonly<Record<Section, string>> = {
  secrets: 'secret',
  registryAuths: 'registry credentials',
  networkVolumes: 'network volume',
  templates: 'template',
  endpoints: 'endpoint',
};

const text = (name: string, about: string, more: Partial<Setting> = {}): Setting => ({
  name,
  about,
  form: { is: 'text', min: 1, max: 4_096 },
  ...more,
});
const REGISTRY = text('registryAuth', "Name of the credentials for the image's registry.", {
  form: { is: 'text', max: 191 },
});

/** Settings that another setting stands for, or that are the entry's name. */
const NOT_NAMED = ['name', 'templateId', 'networkVolumeIds', 'registryAuthId', 'serverless'];
/** Settings that only GraphQL or REST v2 have a word for. */
const HIDDEN = ['queueDelayMs', 'executionTimeoutUnset', 'priorityFlashBoot', 'startSsh', 'startJupyter', 'volumeGb'];

function ofTable(table: Table): Setting[] {
  return Object.entries(table)
    .filter(([field]) => !NOT_NAMED.includes(field) && !HIDDEN.includes(field))
    .map(([field, { kind, rule, rest, cli }]) => ({
      name: rest?.name ?? field,
      field,
      form: kind,
      about: rest?.in ?? rest?.out ?? cli?.about ?? '',
      min: rest?.min ?? rule.min,
      max: rule.max,
      fallback: rule.default,
    }));
}

/** Settings of what an endpoint alone runs. */
export const CONTAINER: readonly Setting[] = [...ofTable(OWN_TEMPLATE), REGISTRY];

/** Settings by section. */
export const SETTINGS: Readonly<Record<Section, readonly Setting[]>> = {
  secrets: [
    text('valueFromEnv', 'Variable of the shell that holds the value.'),
    text('valueFromFile', 'File that holds the value, relative to this file.'),
    text('description', 'For people.', { form: { is: 'text', max: 1_000 } }),
  ],
  registryAuths: [
    text('username', 'Name at the registry.'),
    text('passwordFromEnv', 'Variable of the shell that holds the password.'),
    text('passwordFromFile', 'File that holds the password, relative to this file.'),
  ],
  networkVolumes: [
    {
      name: 'size',
      about: 'GB. It can grow.',
      form: { is: 'whole' },
      min: 1,
      max: VOLUME_SETTINGS.sizeGb.max,
      required: true,
    },
    text('dataCenterId', 'Where it is. Fixed after creation.', { required: true }),
  ],
  templates: [...ofTable(TEMPLATE), REGISTRY],
  endpoints: [
    {
      name: 'template',
      about: 'Name of the template of its workers, or the settings of its own template.',
      form: { is: 'settings', settings: CONTAINER, orName: true },
      required: true,
    },
    ...ofTable(ENDPOINT),
    { name: 'networkVolumes', about: 'Names of network volumes.', form: { is: 'texts' } },
  ],
};

/** Settings that can only be set at creation. */
export const FIXED: Readonly<Partial<Record<Section, readonly string[]>>> = {
  networkVolumes: ['dataCenterId'],
  templates: ['category'],
  endpoints: ['type', 'computeType'],
};

/** The JSON Schema of a file for `slipway apply`, for editors and other programs. */

import type { Setting } from './sections.ts';
import { SECTIONS, SETTINGS, WORDS } from './sections.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Returns the schema, of draft 2020-12. */
export function jsonSchema(): Schema {
  const sections = SECTIONS.map((section) => [
    section,
    {
      description: `By name: each ${WORDS[section]}.`,
      type: ['object', 'null'],
      additionalProperties: settingsSchema(SETTINGS[section], section !== 'networkVolumes' && section !== 'endpoints'),
    },
  ]);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'slipway apply',
    type: 'object',
    additionalProperties: false,
    properties: {
      owner: {
        description: 'Marks endpoints and templates of this file, so that --prune finds them again.',
        type: 'string',
        pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
      },
      ...Object.fromEntries(sections),
    },
  };
}

function settingsSchema(settings: readonly Setting[], orNull = false): Schema {
  const required = settings.filter((setting) => setting.required).map(({ name }) => name);
  return {
    type: orNull ? ['object', 'null'] : 'object',
    additionalProperties: false,
    properties: Object.fromEntries(settings.map((setting) => [setting.name, settingSchema(setting)])),
    ...(required.length > 0 && { required }),
  };
}

function settingSchema({ form, about, min, max }: Setting): Schema {
  const description = about === '' ? {} : { description: about };
  switch (form.is) {
    case 'text':
      return { ...description, type: 'string', minLength: form.min ?? 0, maxLength: form.max };
    case 'whole':
      return { ...description, type: 'integer', minimum: min ?? 0, ...(max !== undefined && { maximum: max }) };
    case 'flag':
    case 'switch':
      return { ...description, type: 'boolean' };
    case 'word':
      return { ...description, enum: Object.keys(form.words) };
    case 'texts':
      return {
        ...description,
        type: 'array',
        items: { type: 'string', ...(form.pattern && { pattern: form.pattern }) },
      };
    case 'command':
      return { ...description, type: 'array', items: { type: 'string' } };
    case 'variables':
      return { ...description, type: 'object', additionalProperties: { type: 'string' } };
    case 'settings': {
      const settings = settingsSchema(form.settings);
      return form.orName ? { ...description, anyOf: [{ type: 'string', minLength: 1 }, settings] } : settings;
    }
  }
}

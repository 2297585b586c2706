/** Values of the settings that a release changed, without secrets. Pure. */
import { snake } from '../settings/fields.ts';
import { HIDDEN_VALUE } from '../settings/hidden-env.ts';

/** Old and new value of a setting. An absent value was not set, or is not stored. */
export interface ReleaseValue {
  old?: unknown;
  new?: unknown;
}

/** Longest value as JSON that is stored. */
const VALUE_LENGTH_MAX = 1_024;
/** Settings whose values are never stored. */
const UNSTORED = new Set(['readme', 'exampleInput', 'accountId', 'createdAt', 'id', 'version', 'boundEndpointId']);

/**
 * Returns the values of settings that differ, by their names in the contract with this prefix. Variables keep their
 * names and lose their values.
 */
export function changedValues(before: object, after: object, prefix = ''): Record<string, ReleaseValue> {
  const [old, fresh] = [before, after] as Record<string, unknown>[];
  const names = Object.keys(after).filter((name) => !UNSTORED.has(name));
  return Object.fromEntries(
    names.flatMap((name) => {
      if (JSON.stringify(old![name]) === JSON.stringify(fresh![name])) return [];
      const value = { old: storable(name, old![name]), new: storable(name, fresh![name]) };
      return [[prefix + snake(name), value]];
    }),
  );
}

/** Returns the values of fields that a creation has set, by their names in the contract. Without secrets. */
export function createdValues(settings: object, fields: readonly string[]): Record<string, ReleaseValue> {
  const values = Object.entries(changedValues({}, settings)).filter(([field]) => fields.includes(field));
  return Object.fromEntries(values.map(([field, { new: fresh }]) => [field, { new: fresh }]));
}

/** Value of a secret that changed: only that there is one. */
export const SECRET_VALUE: ReleaseValue = { new: HIDDEN_VALUE };

function storable(name: string, value: unknown): unknown {
  const shown =
    name === 'env' ? Object.fromEntries(Object.keys(value ?? {}).map((variable) => [variable, HIDDEN_VALUE])) : value;
  return (JSON.stringify(shown)?.length ?? 0) > VALUE_LENGTH_MAX ? undefined : shown;
}

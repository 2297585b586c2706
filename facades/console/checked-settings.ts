/** Checks settings that the page sends, by the table that describes them. Core checks their ranges. */

import { CoreError } from '@slipway/proto/wire/reason';
import { isPlainObject } from '../plugins/bodies/json-body.ts';
import type { Kind, Table } from '../resources/field.ts';

type Values = Record<string, unknown>;

/** Returns the settings. Throws INVALID_REQUEST for an unknown name, or a value of the wrong type. */
export function checkedSettings(table: Table, given: unknown): Values {
  if (!isPlainObject(given)) throw new CoreError('INVALID_REQUEST', 'Settings must be a JSON object.');
  const kinds = new Map(
    Object.values(table).flatMap(({ kind, rest }) => (rest?.in ? [[rest.name, kind] as const] : [])),
  );
  for (const [name, value] of Object.entries(given as Values)) {
    const kind = kinds.get(name);
    if (!kind) throw new CoreError('INVALID_REQUEST', `There is no setting ${JSON.stringify(name.slice(0, 64))}.`);
    if (!fits(kind, value))
      throw new CoreError('INVALID_REQUEST', `"${name}" has a value of the wrong type${wordsOf(kind)}.`);
  }
  return given as Values;
}

function fits(kind: Kind, value: unknown): boolean {
  switch (kind.is) {
    case 'text':
      return typeof value === 'string';
    case 'whole':
      return Number.isSafeInteger(value) && Math.abs(value as number) < 2 ** 31;
    case 'flag':
    case 'switch':
      return typeof value === 'boolean';
    case 'word':
      return typeof value === 'string' && Object.hasOwn(kind.words, value);
    case 'texts':
    case 'command':
      return Array.isArray(value) && value.every((each) => typeof each === 'string');
    case 'variables':
      return isPlainObject(value) && Object.values(value as object).every((each) => typeof each === 'string');
  }
}

function wordsOf(kind: Kind): string {
  return kind.is === 'word' ? `: it is one of ${Object.keys(kind.words).join(', ')}` : '';
}

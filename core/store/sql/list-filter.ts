/** Filters of lists: fields by name, each with the condition of a value. */

import { sql } from '@slipway/drizzle/orm';
import type { Column, SQL } from 'drizzle-orm';
import type { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';

/** A field. */
interface Filter {
  /** Returns the condition for entries with this value. */
  keeps: (value: string) => SQL;
  /** All valid values, `undefined` for any text. */
  words: readonly string[] | undefined;
}

/** Filters by field name. */
export type Filters = Readonly<Record<string, Filter>>;

/** Returns a filter for the exact value of a field. `words`: all valid values, `undefined` for any. */
export function whereValue(of: SQL | Column, words?: readonly string[]): Filter {
  return { keeps: (value) => sql`${of} = ${value}`, words };
}

/** Returns a filter with the values `yes` and `no`. `of`: a condition that must never be null. */
export function whereYes(of: SQL): Filter {
  return { keeps: (value) => (value === 'yes' ? sql`(${of})` : sql`NOT (${of})`), words: ['yes', 'no'] };
}

/** Returns a filter whose values are words, each with its own condition. */
export function whereWord(conditions: Readonly<Record<string, SQL>>): Filter {
  return { keeps: (value) => sql`(${conditions[value]})`, words: Object.keys(conditions) };
}

/** Returns the conditions of the requested filters. INVALID_REQUEST: unknown field or value. */
export function filterConditions(filters: Filters, asked: Readonly<Record<string, string>>): SQL[] {
  return Object.entries(asked).map(([name, value]) => {
    const filter = Object.hasOwn(filters, name) ? filters[name]! : undefined;
    if (!filter) throw unknownFilter(name, Object.keys(filters));
    checkWord(name, value, filter.words);
    return filter.keeps(value);
  });
}

/** Throws INVALID_REQUEST if the field cannot have the value. */
export function checkWord(name: string, value: string, words: readonly string[] | undefined): void {
  if (!words || words.includes(value)) return;
  throw invalid(
    `filters has ${JSON.stringify(value.slice(0, 64))} as ${name}, but that must be one of ${words.join(', ')}`,
  );
}

/** Returns the error for an unknown filter. `known`: the valid ones. */
export function unknownFilter(name: string, known: readonly string[]): DomainError {
  const what = known.length === 0 ? 'nothing' : known.toSorted().join(', ');
  return invalid(`filters has ${JSON.stringify(name.slice(0, 64))}, but this list is filtered by ${what}`);
}

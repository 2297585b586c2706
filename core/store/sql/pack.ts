/**
 * Packs many rows into few statement parameters. Array literals are written by hand, because every value would
 * otherwise be escaped by three regular expressions; byte columns share one parameter and are cut out again with
 * substring(), because bytea[] costs four characters a byte.
 */

const SPECIAL = /["\\]/;

/** Returns a text[] literal. */
export function textArray(values: readonly (string | null | undefined)[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (i > 0) text += ',';
    if (value === null || value === undefined) text += 'NULL';
    else text += SPECIAL.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`;
  }
  return `${text}}`;
}

/** Returns an int[] or bigint[] literal. */
export function numberArray(values: readonly (number | null | undefined)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

/** Returns a boolean[] literal. */
export function flagArray(values: readonly boolean[]): string {
  return `{${values.map((value) => (value ? 't' : 'f')).join(',')}}`;
}

/** Many byte values in one parameter. */
export interface PackedBytes {
  blob: Buffer;
  /**
   * int[] literals for `substring(blob FROM start FOR length)`; the length of an absent value is NULL, and so is what
   * is cut out.
   */
  starts: string;
  lengths: string;
}

/** Packs byte values, in order. */
export function packBytes(values: readonly (Buffer | undefined)[]): PackedBytes {
  const starts: number[] = [];
  const lengths: (number | null)[] = [];
  let next = 1;
  for (const value of values) {
    starts.push(next);
    lengths.push(value === undefined ? null : value.length);
    next += value?.length ?? 0;
  }
  const present = values.filter((value) => value !== undefined);
  return {
    blob: present.length === 1 ? present[0]! : Buffer.concat(present),
    starts: numberArray(starts),
    lengths: numberArray(lengths),
  };
}

/** Replaces NUL, which PostgreSQL cannot store, by a visible character. */
export function storableText(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '�') : text;
}

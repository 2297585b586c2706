/** Checks that a body is one JSON object in UTF-8, whatever its content type, and keeps its raw text. */

import type { JsonScan } from '@slipway/kit/bytes/json-scan';
import { scanJson } from '@slipway/kit/bytes/json-scan';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { CoreError } from '@slipway/proto/wire/reason';

/** Finds members of a body, which must be an object; throws INVALID_REQUEST. */
export function* scanObject(bytes: Buffer, names: readonly string[]): Work<JsonScan> {
  if (bytes.length === 0) throw new CoreError('INVALID_REQUEST', 'The body is empty; it must be a JSON object.');
  const charset = charsetFault(bytes);
  if (charset !== undefined) throw new CoreError('INVALID_REQUEST', charset);
  const scan = yield* scanJson(bytes, names);
  const { fault, kind } = scan;
  if (fault?.kind === 'utf8')
    throw new CoreError(
      'INVALID_REQUEST',
      'The body is not valid UTF-8, whatever charset its content type names: send UTF-8.',
    );
  if (fault) throw new CoreError('INVALID_REQUEST', `The body is not valid JSON: see byte ${fault.at}.`);
  if (kind !== 'object') throw new CoreError('INVALID_REQUEST', 'The body must be a JSON object.');
  return scan;
}

/**
 * Returns the charset of a body that is not UTF-8. `undefined` if it may be UTF-8. JSON begins with two characters of
 * ASCII, or
 * one.
 */
function charsetFault(bytes: Buffer): string | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf)
    return 'The body begins with a byte order mark (BOM): send UTF-8 without one.';
  const isWide =
    first === 0 || second === 0 || (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return isWide
    ? 'The body looks like UTF-16 or UTF-32: send UTF-8, whatever charset its content type names.'
    : undefined;
}

/**
 * Parses a body of settings. Throws INVALID_REQUEST if it is not a JSON object or has more than VALUES_MAX values.
 */
export function* parseSettings(bytes: Buffer): Work<Record<string, unknown>> {
  const scan = yield* scanObject(bytes, []);
  if (scan.values > VALUES_MAX)
    throw new CoreError('INVALID_REQUEST', `The body has ${scan.values} values, but may have ${VALUES_MAX}.`);
  yield;
  return JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
}

/** Returns whether a value is an object, not an array and not null. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Most values in a body of settings: making objects of many more would keep the process from everything else. */
export const VALUES_MAX = 10_000;

/**
 * Throws INVALID_REQUEST for text that cannot be stored: lone surrogates would be replaced on the way to core, and NUL
 * cannot be stored.
 */
export function rejectInvalidText(values: Record<string, unknown>): void {
  // A list of work instead of recursion: the nesting is unbounded.
  const work: unknown[] = [values];
  for (let value = work.pop(); value !== undefined; value = work.pop()) {
    if (typeof value === 'string') checkText(value);
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value)) work.push(name, inner);
  }
}

function checkText(text: string): void {
  if (!text.isWellFormed())
    throw new CoreError('INVALID_REQUEST', 'The body holds half of a surrogate pair, which is no text.');
  if (text.includes('\0'))
    throw new CoreError('INVALID_REQUEST', 'The body holds the character NUL, which cannot be stored.');
}

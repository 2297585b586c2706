/** Checks the pairs that callers give a job, to find it by. Pure. */
import type { DomainError } from '../settings/errors.ts';
import { checkText, invalid } from '../settings/fields.ts';

/** Most pairs, and the longest key and value in characters. OpenAI's limits for batches fit into them. */
export const METADATA_MAX = 20;
export const METADATA_KEY_LENGTH_MAX = 64;
export const METADATA_VALUE_LENGTH_MAX = 512;

/** Throws INVALID_REQUEST if there are too many pairs, or one is too long or cannot be stored. */
export function checkMetadata(pairs: Readonly<Record<string, string>>): void {
  const entries = Object.entries(pairs);
  if (entries.length > METADATA_MAX) throw wrong(`has ${entries.length} pairs, but may have ${METADATA_MAX}`);
  for (const [key, value] of entries) {
    const name = JSON.stringify(key.slice(0, METADATA_KEY_LENGTH_MAX));
    if (key === '' || key.length > METADATA_KEY_LENGTH_MAX)
      throw wrong(`has the key ${name}, but a key must have 1 to ${METADATA_KEY_LENGTH_MAX} characters`);
    if (value.length > METADATA_VALUE_LENGTH_MAX)
      throw wrong(`${name} has ${value.length} characters, but a value may have ${METADATA_VALUE_LENGTH_MAX}`);
    checkText(`metadata ${name}`, key + value);
  }
}

/** Returns checked pairs as JSON text. `undefined` if there are none. Throws INVALID_REQUEST. */
export function metadataText(pairs: Readonly<Record<string, string>> | undefined): string | undefined {
  if (!pairs || Object.keys(pairs).length === 0) return undefined;
  checkMetadata(pairs);
  return JSON.stringify(pairs);
}

function wrong(text: string): DomainError {
  return invalid(`metadata ${text}`);
}

/** Checks that a body is one JSON object in UTF-8, whatever its content type says, and keeps its raw text at hand. */
import { isUtf8 } from 'node:buffer';
import { scanRawObject } from '../../core/runtime/raw-json.ts';
import type { RawObject } from '../../core/runtime/raw-json.ts';
import { CoreError } from '../../proto/wire/reason.ts';

/** A JSON object as values and as text. */
export interface JsonObject {
  /** Its members as JSON.parse has them. Read by name only. */
  values: Record<string, unknown>;
  /** Where its members stand in the text. */
  raw: RawObject;
}

/** Parses a body; throws INVALID_REQUEST. */
export function parseJsonObject(bytes: Buffer): JsonObject {
  const values = parseJson(bytes);
  if (!isPlainObject(values)) throw new CoreError('INVALID_REQUEST', 'The body must be a JSON object.');
  return { values, raw: scanRawObject(bytes) };
}

/** Parses any JSON text; throws INVALID_REQUEST. */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new CoreError('INVALID_REQUEST', 'The body is empty; it must be a JSON object.');
  if (!isUtf8(bytes)) throw new CoreError('INVALID_REQUEST', 'The body is not valid UTF-8.');
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch (error) {
    throw new CoreError('INVALID_REQUEST', 'The body is not valid JSON.', { cause: error });
  }
}

/** An object, not an array and not null. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

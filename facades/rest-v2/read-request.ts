/** Reads the parts of a request of REST v2: ids of its path, its query and its body. */

import type { Reason } from '@slipway/proto/wire/reason';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import { parseSettings, rejectInvalidText } from '../plugins/bodies/json-body.ts';
import { bodyBytes } from '../plugins/bodies/raw-body.ts';
import type { BodyWork } from '../plugins/limits/body-work.ts';
import { isId } from '../plugins/public-id.ts';
import { checkFits } from './fits.ts';

/** Largest body in bytes: settings, not payloads. */
export const BODY_BYTES_MAX = 1024 * 1024;

/** Ids of types that a machine reports have blanks; all others have the form of an id. */
const CATALOG_ID = /^[^\0]{1,191}$/;

/** Error reasons by type of id. NOT_FOUND for all others. */
const REASONS: Readonly<Record<string, Reason>> = {
  endpointId: 'ENDPOINT_NOT_FOUND',
  templateId: 'TEMPLATE_NOT_FOUND',
};

/** Returns the ids of a path. NOT_FOUND: one can be none, and never reaches core. */
export function readPath({ params }: Pick<FastifyRequest, 'params'>, isOfCatalog: boolean): Record<string, string> {
  const path = params as Record<string, string>;
  for (const [name, text] of Object.entries(path)) {
    if (isOfCatalog ? CATALOG_ID.test(text) && text.isWellFormed() : isId(text)) continue;
    throw new CoreError(REASONS[name] ?? 'NOT_FOUND', `There is no such ${name.replace(/Id$/, '')}.`);
  }
  return path;
}

/** Returns the query in the types of its schema, without unknown members. Throws 422 if it does not match. */
export function readQuery(schema: TObject, { query }: Pick<FastifyRequest, 'query'>): Record<string, unknown> {
  const given = query as Record<string, string | string[] | undefined>;
  const read: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(schema.properties)) {
    const value = given[name] ?? given[`${name}[]`];
    if (value !== undefined) read[name] = typed((member as { type?: string }).type, value);
  }
  checkFits(schema, read, 'query');
  return read;
}

/**
 * Converts a value. A list may be separated by commas or repeat its name. A value that cannot be converted stays a
 * text, which does not match the schema.
 */
function typed(type: string | undefined, value: string | string[]): unknown {
  if (type === 'array') return [value].flat().flatMap((text) => text.split(','));
  if (typeof value !== 'string') return value;
  if (type === 'integer' && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

/**
 * Returns the body as its schema has it. INVALID_REQUEST: it is no JSON object. 422: it does not fit. `null` is not the
 * same as left out.
 */
export async function readBody(
  schema: TSchema,
  request: FastifyRequest,
  reply: FastifyReply,
  bodies: BodyWork,
): Promise<unknown> {
  const bytes = bodyBytes(request.body);
  await bodies.turn('management', request, reply, bytes.length);
  const values = await bodies.run(request.caller.accountId, bytes.length, parseSettings(bytes));
  rejectInvalidText(values);
  checkFits(schema, values);
  return values;
}

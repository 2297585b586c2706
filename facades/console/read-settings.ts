/** Reads the small JSON bodies of the console's own operations. */

import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest } from 'fastify';
import { isPlainObject } from '../plugins/bodies/json-body.ts';
import { bodyBytes } from '../plugins/bodies/raw-body.ts';

/** Returns the members of a body, which must be an object. */
export function settingsOf(request: FastifyRequest): Record<string, unknown> {
  let given: unknown;
  try {
    given = JSON.parse(bodyBytes(request.body).toString('utf8'));
  } catch (error) {
    if (error instanceof CoreError) throw error;
    throw new CoreError('INVALID_REQUEST', 'The body is not valid JSON.');
  }
  if (!isPlainObject(given)) throw new CoreError('INVALID_REQUEST', 'The body must be a JSON object.');
  return given;
}

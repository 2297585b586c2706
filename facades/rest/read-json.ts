/** Turns the raw body of a REST request into values for its schema. */
import type { preHandlerHookHandler } from 'fastify';
import { isPlainObject, parseJson } from '../plugins/json-body.ts';
import { bodyBytes } from '../plugins/raw-body.ts';
import { CoreError } from '../../proto/wire/reason.ts';

/** Largest body in bytes: settings, not payloads. */
export const REST_BODY_BYTES_MAX = 1024 * 1024;

/** The hook. Members that are null count as not given: generated clients send them for what was not set. */
export const readJson: preHandlerHookHandler = (request, _reply, done) => {
  try {
    const values = parseJson(bodyBytes(request.body));
    if (!isPlainObject(values)) throw new CoreError('INVALID_REQUEST', 'The body must be a JSON object.');
    request.body = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
    done();
  } catch (error) {
    done(error as Error);
  }
};

/** Turns the raw body of a REST request into values for its schema. */
import type { preHandlerHookHandler } from 'fastify';
import { isPlainObject, parseJson } from '../plugins/json-body.ts';
import { bodyBytes } from '../plugins/raw-body.ts';
import { CoreError } from '../../proto/wire/reason.ts';

/** Largest body in bytes: settings, not payloads. */
export const REST_BODY_BYTES_MAX = 1024 * 1024;

/** Unicode escapes in a row, or any other escape. */
const ESCAPES = /(?:\\u[0-9a-fA-F]{4})+|\\[^]/g;

/** The hook. Members that are null count as not given: generated clients send them for what was not set. */
export const readJson: preHandlerHookHandler = (request, _reply, done) => {
  try {
    const bytes = bodyBytes(request.body);
    const values = parseJson(bytes);
    if (!isPlainObject(values)) throw new CoreError('INVALID_REQUEST', 'The body must be a JSON object.');
    refuseNoText(bytes.toString('utf8'));
    request.body = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
    done();
  } catch (error) {
    done(error as Error);
  }
};

/** The hook of operations that take no body: one that is sent all the same is not looked at, but has its limit. */
export const readNothing: preHandlerHookHandler = (request, _reply, done) => {
  try {
    bodyBytes(request.body);
    done();
  } catch (error) {
    done(error as Error);
  }
};

/**
 * Lone surrogates would be replaced on the way to core and NUL cannot be stored. In valid UTF-8 both can only come as escapes, and the
 * halves of a pair only as two of them in a row.
 */
function refuseNoText(json: string): void {
  for (const [escapes] of json.matchAll(ESCAPES)) {
    if (escapes[1] !== 'u') continue;
    const text = JSON.parse(`"${escapes}"`) as string;
    if (!text.isWellFormed()) throw new CoreError('INVALID_REQUEST', 'The body holds half of a surrogate pair, which is no text.');
    if (text.includes('\0')) throw new CoreError('INVALID_REQUEST', 'The body holds the character NUL, which cannot be stored.');
  }
}

/** Turns the raw body of a REST request into values for its schema. */
import type { preHandlerAsyncHookHandler, preHandlerHookHandler } from 'fastify';
import { parseSettings, rejectInvalidText } from '../plugins/bodies/json-body.ts';
import { bodyBytes } from '../plugins/bodies/raw-body.ts';
import type { BodyWork } from '../plugins/limits/body-work.ts';
import type { NameIgnored } from './name-ignored.ts';

/** Largest body in bytes: settings, not payloads. */
export const REST_BODY_BYTES_MAX = 1024 * 1024;

/** Returns the hook. Members that are null count as absent, because generated clients send them for unset values. */
export function readJson(bodies: BodyWork, nameIgnored: NameIgnored): preHandlerAsyncHookHandler {
  return async (request, reply) => {
    const bytes = bodyBytes(request.body);
    await bodies.turn('management', request, reply, bytes.length);
    const values = await bodies.run(request.caller.accountId, bytes.length, parseSettings(bytes));
    rejectInvalidText(values);
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
    nameIgnored(request, reply, given);
    request.body = given;
  };
}

/** Hook of operations without a body. A body that is sent anyway is not read, but is limited in size. */
export const readNothing: preHandlerHookHandler = (request, _reply, done) => {
  try {
    bodyBytes(request.body);
    done();
  } catch (error) {
    done(error as Error);
  }
};

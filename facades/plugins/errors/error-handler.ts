/** Turns thrown errors into responses. Each surface has its own body shape. */

import type { Logger } from '@slipway/kit/log/logger';
import { helpLink } from '@slipway/kit/net/help-link';
import { STATUS_CODES } from '@slipway/kit/net/node-http';
import { openaiErrorType } from '@slipway/kit/openai/error-type';
import type { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { QUEUE_NAMES, REST_NAMES, REST_V2_NAMES, withPublicNames } from '../public-names.ts';
import { idsOf, REQUEST_ID_HEADER } from '../request-id.ts';
import { HttpRejection } from './http-rejection.ts';
import type { PublicError } from './public-error.ts';
import { publicError, SlowBody, toCoreError } from './public-error.ts';

/** Body of an error on one surface. */
export type ErrorShape = (error: PublicError) => object;

/**
 * Shape of queue routes (docs/reference/api.md#errors). It has no numeric `status`, because the asyncio client would
 * take it for a job state.
 */
export const queueErrorShape: ErrorShape = ({ text, code }) => ({ error: withPublicNames(text, QUEUE_NAMES), code });

/** Shape of REST routes (docs/reference/management.md#errors-of-rest). */
export const restErrorShape: ErrorShape = ({ text, status, code }) => {
  const message = withPublicNames(text, REST_NAMES);
  return { message, error: message, status, code };
};

/** Shape of OpenAI routes (docs/reference/api.md#openai). */
export const openaiErrorShape: ErrorShape = ({ text, status, code }) => ({
  error: { message: text, type: openaiErrorType(status), param: null, code },
});

/** Shape of REST v2 routes: problems (RFC 9457), which have their own content type. */
export const problemShape: ErrorShape = ({ text, status, code, faults }) => ({
  title: STATUS_CODES[status] ?? 'Error',
  status,
  detail: withPublicNames(text, REST_V2_NAMES),
  ...(faults && { errors: faults }),
  code,
});

/**
 * Handles all errors of an app or scope with the given shape. `translate` maps an error of core to one of the surface.
 */
export function handleErrors(
  app: FastifyInstance,
  shape: ErrorShape,
  logger: Logger,
  translate: (error: CoreError, request: FastifyRequest) => CoreError = (error) => error,
): void {
  app.setErrorHandler((error, request, reply) => {
    const failed = translate(toCoreError(error), request);
    logFault(failed, request, logger);
    return answerError(failed, request, reply, shape);
  });
}

/** Sends one error. */
export function answerError(
  error: CoreError,
  request: FastifyRequest,
  reply: FastifyReply,
  shape: ErrorShape,
): FastifyReply {
  const shown = publicError(error);
  if (shown.retryAfterSeconds !== undefined) reply.header('retry-after', shown.retryAfterSeconds);
  reply.header(REQUEST_ID_HEADER, request.id).header('link', helpLink(shown.code));
  if (error instanceof HttpRejection) reply.headers(error.headers);
  // A body that never arrives, or that the client was not told to send, leaves the connection in the middle of a
  // request.
  const unsent = request.raw.headers.expect !== undefined && !request.raw.readableEnded;
  if (error instanceof SlowBody || unsent) reply.header('connection', 'close');
  const type = shape === problemShape ? 'application/problem+json' : 'application/json';
  return reply
    .code(shown.status)
    .header('content-type', `${type}; charset=utf-8`)
    .send(JSON.stringify(shape(shown)));
}

function logFault(error: CoreError, request: FastifyRequest, logger: Logger): void {
  // The pipeline reports the outage once. A line for each of its requests would hide that report.
  if (error.reason === 'UNAVAILABLE')
    logger.debug({ ...idsOf(request), method: request.method, path: pathOf(request) }, 'core not reachable');
  else if (error.httpStatus >= 500)
    logger.error({ err: error, ...idsOf(request), method: request.method, path: pathOf(request) }, 'request failed');
}

/** Returns the path without its query, which may contain a key. */
export function pathOf(request: FastifyRequest): string {
  const { url } = request;
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

/**
 * Answers what no route takes, also a known path with another method: 404 with a code, because spec.md 7 knows no 405. The shape follows
 * the surface that the path belongs to.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CoreError } from '../../proto/wire/reason.ts';
import { answerError, openaiErrorShape, pathOf, queueErrorShape, restErrorShape } from './error-handler.ts';
import type { ErrorShape } from './error-handler.ts';

/** Adds the answer to an app. */
export function handleUnknownRoutes(app: FastifyInstance): void {
  app.setNotFoundHandler((request, reply) => refuseUnknown(request, reply));
}

/** Answers one request that has no route. */
export function refuseUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = pathOf(request);
  return answerError(new CoreError('NOT_FOUND', explain(request.method, path)), request, reply, shapeOf(path));
}

/** Error shape of the surface that a path belongs to. */
export function shapeOf(path: string): ErrorShape {
  if (path.startsWith('/v1')) return restErrorShape;
  return /^\/+v2\/+[^/]+\/+openai\//.test(path) ? openaiErrorShape : queueErrorShape;
}

function explain(method: string, path: string): string {
  if (/^\/+graphql\/*$/.test(path)) return 'GraphQL is called with POST.';
  return `There is no operation ${method} ${path.slice(0, 200)}.`;
}

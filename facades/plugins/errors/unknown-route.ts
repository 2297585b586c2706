/**
 * Responds to requests without a route: 405 with the allowed methods if the path is known, else 404. The shape follows
 * the surface of the path.
 */

import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorShape } from './error-handler.ts';
import {
  answerError,
  openaiErrorShape,
  pathOf,
  problemShape,
  queueErrorShape,
  restErrorShape,
} from './error-handler.ts';
import { HttpRejection } from './http-rejection.ts';
import { isRestV2Path } from './rest-v2-words.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the route handles requests that no other route under its path handles, and responds as if there were no
     * route.
     */
    catchesAll?: boolean;
  }
}

/** Responds to a request that no operation handles. */
export type UnroutedHandler = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** Paths by their pattern in the router, with their methods. */
type KnownPaths = Map<string, { form: RegExp; methods: Set<string> }>;

/** Matches a segment of a path that is `.` or `..`, written out or percent-encoded. */
const DOT_PART = /\/(\.|%2e){1,2}(\/|$)/i;

/**
 * Adds the handler to an app, before its routes and after the hooks for requests of workers, which choose their own
 * paths. Returns it, for routes that catch all under a path.
 */
export function handleUnknownRoutes(app: FastifyInstance): UnroutedHandler {
  // If dots were resolved here, an edge in front and the logs would see a different path.
  app.addHook('onRequest', (request, reply, done) =>
    DOT_PART.test(pathOf(request)) ? void rejectDots(request, reply) : done(),
  );
  const known: KnownPaths = new Map();
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.catchesAll) return;
    const path = known.get(url) ?? { form: formOf(url), methods: new Set() };
    known.set(url, path);
    for (const one of [method].flat()) path.methods.add(one);
  });
  const reject = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (!isReadable(request.url)) return rejectPath(request, reply);
    const methods = methodsOf(known, pathOf(request));
    // A route for this method may find nothing at a path, as the route of the files of /v1/docs does.
    const isUnknown = methods.length === 0 || methods.includes(request.method);
    return isUnknown ? rejectUnknown(request, reply) : rejectMethod(request, reply, methods);
  };
  app.setNotFoundHandler(reject);
  // Fastify would first reject the content type.
  app.addHook('onRequest', (request, reply, done) =>
    request.is404 && request.method === 'QUERY' ? void reject(request, reply) : done(),
  );
  return reject;
}

/** Returns whether a path can be decoded as text, as paths of our own surfaces must. The query is not checked. */
export function isReadable(url: string): boolean {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url.split(/[?#]/, 1)[0]!);
    return true;
  } catch {
    return false;
  }
}

/** Responds to a request with an invalid path. */
export function rejectPath(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return answerError(
    new CoreError('INVALID_REQUEST', 'The path is not valid.'),
    request,
    reply,
    shapeOf(pathOf(request)),
  );
}

function rejectDots(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = pathOf(request);
  const text = 'A path is taken as it is written: write it without "." and ".." between its slashes.';
  return answerError(
    new HttpRejection(text, { status: 400, code: 'path_not_normalized' }),
    request,
    reply,
    shapeOf(path),
  );
}

/** Responds to a request without a route. */
export function rejectUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = pathOf(request);
  return answerError(new CoreError('NOT_FOUND', explain(request.method, path)), request, reply, shapeOf(path));
}

function rejectMethod(request: FastifyRequest, reply: FastifyReply, methods: readonly string[]): FastifyReply {
  const path = pathOf(request);
  const allow = methods.join(', ');
  const text = `${path.slice(0, 200)} is called with ${methods.join(' or ')}, not with ${request.method}.`;
  return answerError(
    new HttpRejection(text, { status: 405, code: 'method_not_allowed', headers: { allow } }),
    request,
    reply,
    shapeOf(path),
  );
}

/**
 * Returns the pattern of a route's path, as the router reads it: a parameter is one segment, a star is the whole rest.
 */
function formOf(url: string): RegExp {
  const parts = url
    .split('/')
    .filter((part) => part !== '')
    .map((part) => {
      if (part === '*') return '/.*';
      return part.startsWith(':') ? '/[^/]+' : `/${part.replaceAll(/[^\w-]/g, '\\$&')}`;
    });
  return new RegExp(`^${parts.join('')}/?$`);
}

/** Returns a path as the router reads it. An escaped slash stays escaped. */
function routedPath(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function methodsOf(known: KnownPaths, path: string): string[] {
  const plain = routedPath(path).replaceAll(/\/{2,}/g, '/');
  // A literal path takes precedence over one with parameters.
  const literal = known.get(plain);
  if (literal) return [...literal.methods].sort();
  return [
    ...new Set([...known.values()].filter(({ form }) => form.test(plain)).flatMap(({ methods }) => [...methods])),
  ].sort();
}

/** Returns the error shape of the surface that a path belongs to. */
export function shapeOf(written: string): ErrorShape {
  const path = routedPath(written);
  if (/^\/+v1(\.\d+)?(\/|$)/.test(path)) return restErrorShape;
  if (isRestV2Path(path)) return problemShape;
  return /^\/+(v2\/+[^/]+\/+)?openai\//.test(path) ? openaiErrorShape : queueErrorShape;
}

function explain(method: string, written: string): string {
  const path = routedPath(written);
  if (/^\/+v2\/+flash(\/|$)/.test(path))
    return 'Apps of Flash are not deployed here: call endpoints by their ids, /v2/{endpoint_id}/run.';
  if (isRestV2Path(path))
    return `There is no operation ${method} ${written.slice(0, 200)}; /v2/docs lists all operations.`;
  return `There is no operation ${method} ${written.slice(0, 200)}.`;
}

/**
 * Answers requests without a route: 405 with the allowed methods if the path is known, else 404. The shape follows
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
    /** The route takes what no other one under its path does, and answers as if there were none. */
    catchesAll?: boolean;
  }
}

/** Answers a request that no operation takes. */
export type UnroutedHandler = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** Methods by the paths that they are for. */
type KnownPaths = Map<string, { form: RegExp; methods: Set<string> }>;

/** A part of a path that means this place or the one above, written out or escaped. */
const DOT_PART = /\/(\.|%2e){1,2}(\/|$)/i;

/**
 * Adds the answer to an app, before its routes and behind what takes requests of workers, whose paths are their own.
 * Returns it, for routes that catch all under a path.
 */
export function handleUnknownRoutes(app: FastifyInstance): UnroutedHandler {
  // Who resolved dots here would read another path than an edge before it, or a log behind it.
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
  const refuse = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (!isReadable(request.url)) return rejectPath(request, reply);
    const methods = methodsOf(known, pathOf(request));
    // A route that takes this method may find nothing behind a path, as that of the files of /v1/docs does.
    const isUnknown = methods.length === 0 || methods.includes(request.method);
    return isUnknown ? rejectUnknown(request, reply) : rejectMethod(request, reply, methods);
  };
  app.setNotFoundHandler(refuse);
  // Fastify would first find fault with its content type.
  app.addHook('onRequest', (request, reply, done) =>
    request.is404 && request.method === 'QUERY' ? void refuse(request, reply) : done(),
  );
  return refuse;
}

/** Whether a path can be read as text, as those of our own surfaces must. What is in the query does not matter. */
export function isReadable(url: string): boolean {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url.split(/[?#]/, 1)[0]!);
    return true;
  } catch {
    return false;
  }
}

/** Answers one request whose path is none. */
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

/** Answers one request that has no route. */
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

/** As the router takes it: a parameter is one part of a path, a star is all the rest. */
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

function methodsOf(known: KnownPaths, path: string): string[] {
  const plain = path.replaceAll(/\/{2,}/g, '/');
  // A path that is written out is that one and no id.
  const literal = known.get(plain);
  if (literal) return [...literal.methods].sort();
  return [
    ...new Set([...known.values()].filter(({ form }) => form.test(plain)).flatMap(({ methods }) => [...methods])),
  ].sort();
}

/** Error shape of the surface that a path belongs to. */
export function shapeOf(path: string): ErrorShape {
  if (/^\/+v1(\.\d+)?(\/|$)/.test(path)) return restErrorShape;
  if (isRestV2Path(path)) return problemShape;
  return /^\/+v2\/+[^/]+\/+openai\//.test(path) ? openaiErrorShape : queueErrorShape;
}

function explain(method: string, path: string): string {
  if (/^\/+v2\/+flash(\/|$)/.test(path))
    return 'Apps of Flash are not deployed here: call endpoints by their ids, /v2/{endpoint_id}/run.';
  if (isRestV2Path(path))
    return `There is no operation ${method} ${path.slice(0, 200)}; /v2/docs has those that there are.`;
  return `There is no operation ${method} ${path.slice(0, 200)}.`;
}

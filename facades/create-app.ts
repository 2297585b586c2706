/** Creates the Fastify app of a facade: ids, routing, limits of Node's HTTP server, and errors outside the routes. */

import type { IncomingMessage } from 'node:http';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { HTTP_HEADER_BYTES_MAX, HTTP_HEADERS_MS, HTTP_KEEP_ALIVE_MS } from '@slipway/proto/wire/limits';
import type { FastifyInstance } from 'fastify';
import { fastify } from 'fastify';
import type { LbForms, LbRouting } from './activator/lb-routing.ts';
import { mayUpgrade } from './activator/routes.ts';
import type { FacadeConfig } from './config.ts';
import { surfacePath } from './console/other-surfaces.ts';
import type { Sessions } from './console/session.ts';
import type { TriedRequests } from './console/tried-requests.ts';
import type { HttpCertificate } from './http-certificate.ts';
import { lazySchemas } from './plugins/bodies/lazy-schemas.ts';
import { schemaFault } from './plugins/bodies/schema-fault.ts';
import { rejectBrokenRequest } from './plugins/errors/broken-request.ts';
import { rejectPath, rejectUnknown } from './plugins/errors/unknown-route.ts';
import { toOriginForm } from './plugins/origin-form.ts';
import { requestIds } from './plugins/request-id.ts';

/** Margin after the longest time of a body until Node closes a connection whose request never ends, in milliseconds. */
const REQUEST_SLACK_MS = 30_000;
/** Longest part of a path that the router reads, in characters. No id is nearly as long; a longer one has no route. */
const ID_LENGTH_MAX = 1_024;
/** Added to the announced time for which an idle connection stays open, in milliseconds. */
const KEEP_ALIVE_SLACK_MS = 15_000;

/** Dependencies of the app. */
interface AppParts {
  sessions: Sessions;
  tried: TriedRequests;
  routing: LbRouting;
  forms: LbForms;
  clock: Clock;
  random: Random;
  /** Options of TLS. `undefined`: HTTP is served in plain text. */
  tls: ReturnType<HttpCertificate['options']>;
}

/** Creates the HTTP app, without hooks and routes. */
export function createApp(
  config: FacadeConfig,
  { sessions, tried, routing, forms, clock, random, tls }: AppParts,
): FastifyInstance {
  const http = serverOptions(config, forms);
  return fastify({
    ...(tls ? { https: { ...http, ...tls } } : { http }),
    genReqId: requestIds(random),
    rewriteUrl: (request) => {
      toOriginForm(request);
      return routing.routed(request, surfacePath(request, sessions, tried));
    },
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    keepAliveTimeout: HTTP_KEEP_ALIVE_MS,
    // Bodies of other surfaces have their own timers. The body of a load-balanced request may stay unread until a
    // worker is free.
    requestTimeout: Math.max(config.bodyTotalMs, config.lbHoldMs + config.lbProcessingMs) + REQUEST_SLACK_MS,
    routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true, maxParamLength: ID_LENGTH_MAX },
    schemaController: lazySchemas(),
    schemaErrorFormatter: schemaFault,
    // Our own schemas are typed, so they are not validated against the JSON Schema of JSON Schema: compiling that took
    // a third of a facade's start.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, validateSchema: false } },
    clientErrorHandler: (error, socket) => rejectBrokenRequest(error, socket, clock),
    frameworkErrors: (error, request, reply) => {
      void (error.code === 'FST_ERR_MAX_PARAM_LENGTH' ? rejectUnknown(request, reply) : rejectPath(request, reply));
    },
  });
}

/** Returns the options of Node's server. */
function serverOptions(config: FacadeConfig, forms: LbForms) {
  return {
    shouldUpgradeCallback: (request: IncomingMessage) => {
      toOriginForm(request);
      return mayUpgrade(request, forms);
    },
    headersTimeout: Math.min(HTTP_HEADERS_MS, config.bodyTotalMs + REQUEST_SLACK_MS),
    maxHeaderSize: HTTP_HEADER_BYTES_MAX,
    // An idle connection is closed this much later than announced: a busy client times it late, and might just be
    // sending.
    keepAliveTimeoutBuffer: KEEP_ALIVE_SLACK_MS,
    // Node would reject a request without a Host header with an empty response (plugins/http-rules.ts).
    requireHostHeader: false,
  };
}

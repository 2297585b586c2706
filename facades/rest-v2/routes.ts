/**
 * REST v2 (docs/reference/management.md#rest-v2): its operations as routes behind the gate, their description, and the
 * rejection of all other paths under its words.
 */

import type { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { GateParts } from '../plugins/authenticate.ts';
import { forbidden, restV2Gate } from '../plugins/authenticate.ts';
import { bodyBytes } from '../plugins/bodies/raw-body.ts';
import { handleErrors, problemShape } from '../plugins/errors/error-handler.ts';
import { REST_V2_WORDS } from '../plugins/errors/rest-v2-words.ts';
import type { UnroutedHandler } from '../plugins/errors/unknown-route.ts';
import { addDocsPage, docsOperations } from './docs/docs.ts';
import type { Operation, RestV2Parts } from './operation.ts';
import { operations } from './operations.ts';
import { BODY_BYTES_MAX, readBody, readPath, readQuery } from './read-request.ts';
import { IGNORED_HEADER, withoutEffect } from './without-effect.ts';

const ALL: readonly Operation[] = [...operations, ...docsOperations(() => ALL)];

/** Methods that are handled under a word, whatever its operations accept. */
const CAUGHT: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Adds the routes. `reject`: responds to requests that match no operation. */
export async function restV2Routes(
  app: FastifyInstance,
  parts: RestV2Parts,
  gate: GateParts,
  reject: UnroutedHandler,
): Promise<void> {
  handleErrors(app, problemShape, parts.logger, lackingRight);
  parts.answers.rejectOverBudget(app);
  const gated = restV2Gate(gate, BODY_BYTES_MAX);
  for (const operation of ALL) if (!operation.describedOnly) addOperation(app, operation, parts, gated);
  // No body is read.
  const onRequest = restV2Gate(gate, 0);
  await addDocsPage(app, ALL);
  for (const word of REST_V2_WORDS) {
    for (const url of [`/v2/${word}`, `/v2/${word}/*`]) catchAll(app, url, onRequest, reject);
  }
}

function addOperation(
  app: FastifyInstance,
  operation: Operation,
  parts: RestV2Parts,
  gated: ReturnType<typeof restV2Gate>,
): void {
  const { method, path, query, checksQuery, body, status, tag } = operation;
  app.route({
    method: operation.open ? [method, 'HEAD'] : method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    ...(operation.open ? {} : { onRequest: gated }),
    handler: async (request, reply) => {
      const known = operation.open ? { apiKey: '', accountId: '' } : request.caller;
      // A body that is too large or malformed is rejected even where it has no meaning.
      const values = body ? await readBody(body, request, reply, parts.bodies) : void bodyBytes(request.body);
      const ignored = body ? withoutEffect(body, values) : [];
      if (ignored.length > 0) reply.header(IGNORED_HEADER, ignored.join(', '));
      const call = {
        request,
        reply,
        apiKey: known.apiKey,
        accountId: known.accountId,
        path: readPath(request, tag === 'catalog'),
        query: query && !checksQuery ? readQuery(query, request) : {},
        body: values,
      };
      const answer = await operation.handle(call as never, parts);
      if (reply.sent) return reply;
      if (answer === undefined) return reply.code(204).send();
      return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(answer));
    },
  });
}

/** Handles the rest of the paths, so that no path under a word of ours is ever taken for an endpoint's. */
function catchAll(
  app: FastifyInstance,
  url: string,
  onRequest: ReturnType<typeof restV2Gate>,
  reject: UnroutedHandler,
): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => reject(request, reply);
  const free = CAUGHT.filter((method) => !app.hasRoute({ method, url }));
  app.route({ method: free, url, config: { catchesAll: true }, onRequest, handler });
}

/** Returns 403 if core rejected a key that passed the gate: the key exists, so it lacks the permission. */
function lackingRight(error: CoreError, request: FastifyRequest): CoreError {
  return error.reason === 'UNAUTHORIZED' && (request.caller as unknown) !== undefined ? forbidden() : error;
}

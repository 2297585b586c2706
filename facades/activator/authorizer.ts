/**
 * Answers an edge that asks, before it reads any body, what to do with a request to a load-balancing endpoint: send it straight to a worker, refuse it,
 * or leave it to a facade as it is. Only what is the same every time goes straight: a worker is ready, the client insists on none, and there is nothing
 * to be cut out of the query. All else is the activator's.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import { ACTIVATION_HEADER, activationText } from '../../proto/wire/activation.ts';
import type { Activation } from '../../proto/wire/activation.ts';
import { AUTHORIZE_PATH, CLUSTER_HEADER, clusterName, EDGE_KEY_HEADER, PATH_HEADER, TIMEOUT_HEADER } from '../../proto/wire/edge-authorizer.ts';
import type { Activator } from './activator.ts';
import { identify } from './admit.ts';
import type { Identified } from './admit.ts';
import { toLbError } from './lb-error.ts';
import { WORKER_HEADER } from './lb-headers.ts';
import { lbTarget } from './lb-target.ts';
import type { LbTarget } from './lb-target.ts';
import { podOfHost } from './pod-target.ts';
import type { LbParts } from './routes.ts';
import { writeRefusal } from './write-refusal.ts';

const GRPC = /^application\/grpc\b/i;
/** Endpoints whose activation is kept, as each request needs it, and it is always the same. */
const ACTIVATIONS_MAX = 5_000;
/** What a path may hold to stand in a header. */
const PLAIN_PATH = /^\/[\x21-\x7e]*$/;

/** Adds it to an app, before its other hooks: it is asked for every request. Without the edges' key nobody is answered. */
export function addAuthorizer(app: FastifyInstance, parts: LbParts): void {
  if (parts.edgeKey === '') return;
  const expected = sha256(parts.edgeKey);
  const known = new LRUCache<string, string>({ max: ACTIVATIONS_MAX });
  const activationOf = (activation: Activation): string => {
    const name = `${activation.endpointId}.${activation.accountId}`;
    const text = known.get(name) ?? activationText(parts.edgeKey, activation);
    known.set(name, text);
    return text;
  };
  const own = { ...parts, activationOf };
  app.addHook('onRequest', async ({ raw }, reply) => {
    const url = raw.url ?? '';
    const key = raw.headers[EDGE_KEY_HEADER];
    if (!url.startsWith(`${AUTHORIZE_PATH}/`) || typeof key !== 'string' || !timingSafeEqual(sha256(key), expected)) return;
    reply.hijack();
    raw.url = url.slice(AUTHORIZE_PATH.length);
    await authorize(raw, reply.raw, own);
  });
}

type Parts = LbParts & { activationOf(activation: Activation): string };

async function authorize(request: IncomingMessage, reply: ServerResponse, parts: Parts): Promise<void> {
  try {
    reply.writeHead(200, { ...await direct(request, parts), 'content-length': 0 }).end();
  } catch (error) {
    // The edge takes 5xx for a fault of the authorizer; the facade says it in its own words when the request comes.
    if (toLbError(error).status >= 500) reply.writeHead(200, { 'content-length': 0 }).end();
    else writeRefusal(error, request, reply, parts.logger);
  }
}

/** What sends the request straight to a worker; undefined: nothing does. */
async function direct(request: IncomingMessage, parts: Parts): Promise<OutgoingHttpHeaders | undefined> {
  const { activator, gate, domains, podDomains, activationOf, processingMs } = parts;
  if (podOfHost(request, podDomains)) return undefined;
  const target = lbTarget(request, domains);
  if (!target) return undefined;
  const who = await identify(request, target, gate);
  if (!who || !isPlain(target) || request.headers[WORKER_HEADER] !== undefined) return undefined;
  if (!await isReady(request, target, who, activator)) return undefined;
  // How many there are at a time is the edge's to see and to bound.
  await gate.rateLimit?.admit(who.limited);
  const { headers } = request;
  const { endpointId } = target;
  return {
    [CLUSTER_HEADER]: clusterName(endpointId),
    [PATH_HEADER]: target.path.split('?', 1)[0]!,
    // An edge that knows nothing of the endpoint yet brings it back here. Nobody here speaks with workers of gRPC.
    ...(activator.carries(endpointId) ? { [ACTIVATION_HEADER]: activationOf({ endpointId, accountId: who.accountId }) } : {}),
    'x-forwarded-host': headers['x-forwarded-host'] ?? headers.host,
    ...(target.prefix === '' ? {} : { 'x-forwarded-prefix': target.prefix }),
    ...(headers.upgrade === undefined ? { [TIMEOUT_HEADER]: processingMs } : {}),
  };
}

/** A call by gRPC waits here, unread: no facade could carry it. */
async function isReady({ headers, socket }: IncomingMessage, { endpointId }: LbTarget, who: Identified, activator: Activator): Promise<boolean> {
  if (activator.hasReadyWorker(endpointId, who)) return true;
  if (!GRPC.test(headers['content-type'] ?? '')) return false;
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  socket.once('close', leave);
  await activator.awaitReady(endpointId, who, gone.signal).finally(() => socket.off('close', leave));
  return activator.hasReadyWorker(endpointId, who);
}

function isPlain({ path, queryKey }: LbTarget): boolean {
  return queryKey === undefined && PLAIN_PATH.test(path);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The surface of load-balancing endpoints: every path that is no operation of another surface, before any body is read. */
import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../core/runtime/logger.ts';
import { Api } from '../../proto/gen/slipway/v1/access_service.ts';
import { EndpointType } from '../../proto/gen/slipway/v1/endpoint.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { isId } from '../plugins/authenticate.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { keyOfQueueRequest } from '../plugins/credentials.ts';
import type { Activator, Admitted, UpgradeSocket } from './activator.ts';
import { LB_BODY_BYTES_MAX } from './forward.ts';
import { LbError, notAllowed, toLbError, tooLarge } from './lb-error.ts';
import { lbTarget } from './lb-target.ts';
import type { LbTarget } from './lb-target.ts';

/** What it needs. */
export interface LbParts {
  activator: Activator;
  gate: GateParts;
  /** Behind an endpoint's id they make the host form. */
  domains: readonly string[];
  logger: Logger;
}

/** Whether a request asks for another protocol where that can be: Node then hands its socket over (`shouldUpgradeCallback`). */
export function mayUpgrade(request: IncomingMessage, domains: readonly string[]): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket' && lbTarget(request, domains) !== undefined;
}

/** Adds the surface to an app, behind the rules of HTTP and before its other hooks. */
export function addLoadBalancing(app: FastifyInstance, parts: LbParts): void {
  const upgrades = new WeakMap<IncomingMessage, UpgradeSocket>();
  /** The server waits for their end when it closes, and ends them not. */
  const open = new Set<Socket>();
  app.addHook('preClose', (done) => {
    for (const socket of open) socket.destroy();
    done();
  });
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const reply = new ServerResponse(request);
    reply.assignSocket(socket);
    reply.shouldKeepAlive = false;
    // Node looks after replies of its own only: one that is no upgrade ends the connection.
    reply.once('finish', () => socket.destroySoon());
    upgrades.set(request, { socket, head });
    app.routing(request, reply);
  });
  app.addHook('onRequest', async (request, reply) => {
    const target = lbTarget(request.raw, parts.domains);
    if (!target) return;
    const upgrade = upgrades.get(request.raw);
    try {
      const who = await admit(request, reply, target, parts);
      if (!who) return;
      reply.hijack();
      await parts.activator.serve(request.raw, reply.raw, target, who, upgrade);
    } catch (error) {
      reply.hijack();
      refuse(error, request, reply, parts.logger);
    }
  });
}

/** Who asks. Undefined: it is a queue-based endpoint's OpenAI operation. */
async function admit(request: FastifyRequest, reply: FastifyReply, target: LbTarget, { gate }: LbParts): Promise<Admitted | undefined> {
  const { headers, method } = request.raw;
  const apiKey = keyOfQueueRequest(headers.authorization, target.queryKey);
  if (apiKey === undefined && target.isOpenai) return undefined;
  if (apiKey === undefined) throw notAllowed(headers.authorization === undefined ? 'no token provided' : 'invalid api key');
  const { endpointId } = target;
  const write = headers.upgrade !== undefined || !/^(GET|HEAD|OPTIONS)$/.test(method ?? '');
  const question = { apiKey, endpointId: isId(endpointId) ? endpointId : '', write, api: Api.JOBS };
  const decision = await gate.access.lookLive(question);
  if (decision instanceof CoreError) {
    if (target.isOpenai) return undefined;
    throw decision.reason === 'UNAUTHORIZED' ? notAllowed('invalid api key') : noSuch(decision);
  }
  if (decision.accountId === '') throw notAllowed('invalid api key');
  if (decision.endpointType !== EndpointType.LB) {
    if (target.isOpenai) return undefined;
    throw noSuch(decision.endpointType === EndpointType.QB ? queueBased(method ?? '', target) : new CoreError('ENDPOINT_NOT_FOUND', ''));
  }
  const { accountId, workersRunning, requestQuota } = decision;
  await gate.rateLimit?.admit({ endpointId, operation: 'lb', accountId, workersRunning, requestQuota }, reply);
  if (Number(headers['content-length'] ?? 0) > LB_BODY_BYTES_MAX) throw tooLarge('request');
  return { apiKey, accountId };
}

function queueBased(method: string, { path }: LbTarget): CoreError {
  const shown = path.split('?', 1)[0]!.slice(0, 200);
  return new CoreError('NOT_FOUND', `There is no operation ${method} ${shown}: this is a queue-based endpoint, which takes jobs by POST /run and /runsync. `
    + 'Only load-balancing endpoints (type LB) have paths of their own.');
}

function noSuch(error: CoreError): CoreError {
  return error.reason === 'ENDPOINT_NOT_FOUND' ? new CoreError('ENDPOINT_NOT_FOUND', 'There is no such endpoint.') : error;
}

function refuse(error: unknown, request: FastifyRequest, { raw }: FastifyReply, logger: Logger): void {
  const shown = toLbError(error);
  if (!(error instanceof LbError) && shown.status >= 500) logger.error({ err: error }, 'a request to a load-balancing endpoint failed');
  if (raw.headersSent || raw.destroyed) return void raw.destroy();
  if (shown.retryAfterSeconds !== undefined) raw.setHeader('retry-after', shown.retryAfterSeconds);
  // A body that nobody has read would be taken for the next request.
  if (!request.raw.complete) raw.setHeader('connection', 'close');
  const body = Buffer.from(JSON.stringify(shown.body));
  raw.writeHead(shown.status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
  raw.end(body);
}

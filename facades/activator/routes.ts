/** Serves load-balancing endpoints: all paths that are no operation of another surface, before a body is read. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '@slipway/kit/log/logger';
import { ServerResponse } from '@slipway/kit/net/node-http';
import type { Tracing } from '@slipway/kit/observe/tracing';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GateParts } from '../plugins/authenticate.ts';
import { hasBody } from '../plugins/connections/has-body.ts';
import type { Preflights } from '../plugins/cors.ts';
import { isPreflight } from '../plugins/cors.ts';
import type { ReadBeforeAnswer } from '../plugins/read-before-answer.ts';
import { traceForwarded } from '../plugins/request-trace.ts';
import type { Activator } from './activator.ts';
import { authenticateCaller } from './authenticate-caller.ts';
import type { HostKeys } from './host-keys.ts';
import { isQueueFull, payloadTooLarge, upgradeWithBody } from './lb-error.ts';
import type { AuthorizedTarget, LbForms, LbRouting, RoutedRequest } from './lb-routing.ts';
import { routeOf } from './lb-routing.ts';
import type { AuthorizedCaller } from './load-balancer.ts';
import type { PodProxy } from './pod-proxy.ts';
import type { TrustedPeers } from './trusted-peers.ts';
import type { Tunnels } from './tunnels.ts';
import { asksForTunnel } from './tunnels.ts';
import type { UpgradeSocket } from './upgrade-socket.ts';
import { writeRejection } from './write-rejection.ts';

export interface LbParts {
  activator: Activator;
  tunnels: Tunnels;
  pods: PodProxy;
  gate: GateParts;
  routing: LbRouting;
  peers: TrustedPeers;
  preflights: Preflights;
  /** Rejections behind an edge wait for the rest of the body. */
  readFirst: ReadBeforeAnswer;
  /** Keys in cookies of browsers. */
  hostKeys: HostKeys;
  /** `undefined` if nothing is traced. */
  tracing: Tracing | undefined;
  logger: Logger;
}

/**
 * Returns whether a request asks for a supported protocol switch. Node then passes its socket on
 * (`shouldUpgradeCallback`).
 */
export function mayUpgrade(request: IncomingMessage, forms: LbForms): boolean {
  if (asksForTunnel(request)) return true;
  if (request.headers.upgrade?.toLowerCase() !== 'websocket') return false;
  return routeOf(request, forms) !== undefined;
}

/**
 * Adds the surface to an app, after the HTTP rules and before its other hooks. The hook of the routing must be the
 * first of all.
 */
export function addLoadBalancing(app: FastifyInstance, parts: LbParts): void {
  const upgrades = new WeakMap<IncomingMessage, UpgradeSocket>();
  /** Open upgraded sockets. The server waits for them when it closes, but does not end them. */
  const open = new Set<Socket>();
  app.addHook('preClose', (done) => {
    for (const socket of open) socket.destroy();
    done();
  });
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (asksForTunnel(request)) return void parts.tunnels.accept(request, socket, head);
    const reply = new ServerResponse(request);
    reply.assignSocket(socket);
    reply.shouldKeepAlive = false;
    // Node manages its own replies only: here a reply must continue on drain, and must end the connection when it has
    // finished.
    socket.on('drain', () => {
      if (reply.socket === socket) reply.emit('drain');
    });
    reply.once('finish', () => socket.destroySoon());
    upgrades.set(request, { socket, head });
    app.routing(request, reply);
  });
  app.addHook('onRequest', (request, reply, done) => {
    const route = parts.routing.routeFor(request.raw);
    // No promise here: every request of all surfaces would pay for it.
    if (!route) return done();
    serve(request, reply, route, { ...parts, upgrade: upgrades.get(request.raw) }).then(() => done(), done);
  });
}

interface ServeParts extends LbParts {
  upgrade: UpgradeSocket | undefined;
}

async function serve(
  request: FastifyRequest,
  reply: FastifyReply,
  { pod, target }: RoutedRequest,
  parts: ServeParts,
): Promise<void> {
  const { upgrade } = parts;
  parts.peers.clean(request.raw);
  try {
    if (pod && upgrade && hasBody(request.raw)) throw upgradeWithBody();
    if (pod) return await parts.pods.serve(request.raw, reply, pod, upgrade);
    if (!target) return;
    if (isPreflight(request.raw) && target.queryKey === undefined && !target.authorized) {
      reply.hijack();
      return await parts.preflights.answer(request.raw, reply.raw, '*', parts.peers.clientOf(request.raw));
    }
    const who = await authorize(request, reply, target, parts);
    if (!who) return;
    if (upgrade && hasBody(request.raw)) throw upgradeWithBody();
    reply.hijack();
    const signedIn = parts.hostKeys.signIn(request.raw, target);
    if (signedIn) return writeSignedIn(reply.raw, signedIn);
    traceForwarded(parts.tracing, request.raw, reply.raw, target.endpointId);
    await parts.activator.serve(request.raw, reply.raw, target, who, upgrade).catch(async (error: unknown) => {
      // Clients that send the next request at once would keep the facade busy with rejections.
      if (isQueueFull(error)) await parts.gate.rateLimit?.delayRejection(who.accountId, reply);
      throw error;
    });
  } catch (error) {
    reply.hijack();
    if (!reply.raw.headersSent && parts.readFirst.mustWait(request.raw)) await parts.readFirst.read(request.raw);
    writeRejection(error, request.raw, reply.raw, parts.logger, {
      requestId: request.id,
      endpointId: target?.endpointId,
    });
  }
}

/**
 * Redirects a page that was opened with a key in its address, so that the key stays neither in the history nor in the
 * Referer header.
 */
function writeSignedIn(reply: FastifyReply['raw'], { cookie, location }: { cookie: string; location: string }): void {
  reply
    .writeHead(303, {
      'set-cookie': cookie,
      location,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-length': '0',
    })
    .end();
}

/** Authenticates and rate-limits the caller. Returns `undefined` for an OpenAI operation of a queue-based endpoint. */
async function authorize(
  request: FastifyRequest,
  reply: FastifyReply,
  target: AuthorizedTarget,
  { gate, hostKeys }: LbParts,
): Promise<AuthorizedCaller | undefined> {
  // The edge has already authorized and counted the request.
  if (target.authorized) return target.authorized;
  const who = await authenticateCaller(request.raw, target, gate, hostKeys);
  if (!who) return undefined;
  await gate.rateLimit?.admit(who.limited, reply);
  if (Number(request.raw.headers['content-length'] ?? 0) > LB_BODY_BYTES_MAX) throw payloadTooLarge('request');
  return who;
}

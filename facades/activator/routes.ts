/** The surface of load-balancing endpoints: every path that is no operation of another surface, before any body is read. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../core/runtime/logger.ts';
import { ServerResponse } from '../../core/runtime/node-http.ts';
import type { Tracing } from '../../core/runtime/tracing.ts';
import { LB_BODY_BYTES_MAX } from '../../proto/wire/limits.ts';
import { traceForwarded } from '../plugins/request-trace.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { isPreflight } from '../plugins/cors.ts';
import type { Preflights } from '../plugins/cors.ts';
import type { Activator } from './activator.ts';
import { identify } from './admit.ts';
import type { HostKeys } from './host-keys.ts';
import { tooLarge, upgradeWithBody } from './lb-error.ts';
import { wantedOf } from './lb-routing.ts';
import type { LbForms, LbRouting, LetIn, Wanted } from './lb-routing.ts';
import type { Admitted } from './places.ts';
import type { PodProxy } from './pod-proxy.ts';
import { hasBody } from './request-body.ts';
import type { TrustedPeers } from './trusted-peers.ts';
import { asksForTunnel } from './tunnels.ts';
import type { Tunnels } from './tunnels.ts';
import type { UpgradeSocket } from './upgrade-socket.ts';
import { writeRefusal } from './write-refusal.ts';

/** What it needs. */
export interface LbParts {
  activator: Activator;
  tunnels: Tunnels;
  pods: PodProxy;
  gate: GateParts;
  routing: LbRouting;
  /** Whose word on the client counts. */
  peers: TrustedPeers;
  preflights: Preflights;
  /** Of browsers. */
  hostKeys: HostKeys;
  /** Undefined: nothing is traced. */
  tracing: Tracing | undefined;
  logger: Logger;
}

/** Whether a request asks for another protocol where that can be: Node then hands its socket over (`shouldUpgradeCallback`). */
export function mayUpgrade(request: IncomingMessage, forms: LbForms): boolean {
  if (asksForTunnel(request)) return true;
  if (request.headers.upgrade?.toLowerCase() !== 'websocket') return false;
  return wantedOf(request, forms) !== undefined;
}

/** Adds the surface to an app, behind the rules of HTTP and before its other hooks; the routing's own hook comes before all. */
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
    if (asksForTunnel(request)) return void parts.tunnels.accept(request, socket, head);
    const reply = new ServerResponse(request);
    reply.assignSocket(socket);
    reply.shouldKeepAlive = false;
    // Node looks after replies of its own only: one that is no upgrade goes on when its client has taken what was written, and ends the connection.
    socket.on('drain', () => { if (reply.socket === socket) reply.emit('drain'); });
    reply.once('finish', () => socket.destroySoon());
    upgrades.set(request, { socket, head });
    app.routing(request, reply);
  });
  app.addHook('onRequest', (request, reply, done) => {
    const wanted = parts.routing.wantedBy(request.raw);
    // Without a promise, which every request of all surfaces would pay for.
    if (!wanted) return done();
    serve(request, reply, wanted, { ...parts, upgrade: upgrades.get(request.raw) }).then(() => done(), done);
  });
}

interface ServeParts extends LbParts {
  upgrade: UpgradeSocket | undefined;
}

async function serve(request: FastifyRequest, reply: FastifyReply, { pod, target }: Wanted, parts: ServeParts): Promise<void> {
  const { upgrade } = parts;
  parts.peers.clean(request.raw);
  try {
    if (pod && upgrade && hasBody(request.raw)) throw upgradeWithBody();
    if (pod) return await parts.pods.serve(request.raw, reply, pod, upgrade);
    if (!target) return;
    if (isPreflight(request.raw) && target.queryKey === undefined && !target.letIn) {
      reply.hijack();
      return await parts.preflights.answer(request.raw, reply.raw, '*', parts.peers.clientOf(request.raw));
    }
    const who = await admit(request, reply, target, parts);
    if (!who) return;
    if (upgrade && hasBody(request.raw)) throw upgradeWithBody();
    reply.hijack();
    const signedIn = parts.hostKeys.signIn(request.raw, target);
    if (signedIn) return writeSignedIn(reply.raw, signedIn);
    traceForwarded(parts.tracing, request.raw, reply.raw, target.endpointId);
    await parts.activator.serve(request.raw, reply.raw, target, who, upgrade);
  } catch (error) {
    reply.hijack();
    writeRefusal(error, request.raw, reply.raw, parts.logger, { requestId: request.id, endpointId: target?.endpointId });
  }
}

/** Sends a page on that was opened with a key: the key stands neither in its history nor in what it tells other pages. */
function writeSignedIn(reply: FastifyReply['raw'], { cookie, location }: { cookie: string; location: string }): void {
  reply.writeHead(303, { 'set-cookie': cookie, location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'content-length': '0' }).end();
}

/** Who asks. Undefined: it is a queue-based endpoint's OpenAI operation. */
async function admit(request: FastifyRequest, reply: FastifyReply, target: LetIn, { gate, hostKeys }: LbParts): Promise<Admitted | undefined> {
  // The edge has asked already whether it may, and counted it.
  if (target.letIn) return target.letIn;
  const who = await identify(request.raw, target, gate, hostKeys);
  if (!who) return undefined;
  await gate.rateLimit?.admit(who.limited, reply);
  if (Number(request.raw.headers['content-length'] ?? 0) > LB_BODY_BYTES_MAX) throw tooLarge('request');
  return who;
}

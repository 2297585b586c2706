/** Names the client's address in the calls of core that a request makes, for the audit trail. */
import type { IncomingMessage } from 'node:http';
import { withCallerAddress } from '@slipway/kit/observe/caller-address';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';

/** Decides which forwarded addresses count. */
interface Peers {
  clean(request: IncomingMessage): void;
  clientOf(request: IncomingMessage): string;
}

/** Adds the hooks. The address is read when a call needs it: most requests of the job API need none. */
export function nameCallers(app: FastifyInstance, peers: Peers): void {
  const name: onRequestHookHandler = ({ raw }, _reply, next) => {
    withCallerAddress(() => {
      peers.clean(raw);
      return peers.clientOf(raw);
    }, next);
  };
  app.addHook('onRequest', name);
  // A body is read by events of its socket, which belong to no request.
  app.addHook('preHandler', name);
}

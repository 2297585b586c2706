/** Paces the requests of an app by account, or without a valid key by address. */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import { keyOfQueueRequest } from './credentials.ts';
import type { AccessCache } from './limits/access-cache.ts';
import { RequestPace } from './limits/request-pace.ts';

/** Returns the account for which an edge has authorized a request. `undefined` if none has. */
type AuthorizedAccount = (request: IncomingMessage) => string | undefined;

/**
 * Adds the hook. It must run before all hooks that do work. An account with many keys is one client. Keys that core has
 * not accepted yet count by address, so that made-up keys are no further clients.
 */
export function paceRequests(
  app: FastifyInstance,
  access: Pick<AccessCache, 'accountOf'>,
  authorizedAccount: AuthorizedAccount,
  clock: Clock,
): void {
  const pace = new RequestPace(clock);
  const clientOf = (request: IncomingMessage): string => {
    const key = keyOfQueueRequest(request.headers.authorization, undefined);
    const account = authorizedAccount(request) ?? (key === undefined ? undefined : access.accountOf(key));
    return account ?? request.socket.remoteAddress ?? '';
  };
  app.addHook('onRequest', ({ raw }, _reply, done) => pace.enter(() => clientOf(raw), done));
}

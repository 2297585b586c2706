/** Signing in, who is signed in, signing out: /console/session. The key is the login, and is never answered again. */

import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { FACADE_VERSION } from '../facade-version.ts';
import { bodyBytes } from '../plugins/bodies/raw-body.ts';
import { keyOfRestRequest } from '../plugins/credentials.ts';
import { TooManyRequests } from '../plugins/errors/public-error.ts';
import type { ConsoleParts } from './console-parts.ts';
import { BODY_BYTES_MAX, callerOf, otherPage, signedOut } from './console-parts.ts';
import { isOwnPage } from './own-page.ts';
import type { ConsoleSession } from './session.ts';
import type { SessionRight, SessionView } from './views.ts';

const PATH = '/console/session';
/**
 * Keys that do not work, of one address in a minute. Many people may share an address, so unguessable keys do
 * not count.
 */
const FAILURES_MAX = 20;
/** Form of API keys that core generates. A key of another form may be the operator's, which an operator has chosen. */
const UNGUESSABLE = /^rpa_[A-Za-z0-9]{40,}$/;
const WINDOW_SECONDS = 60;

export interface SessionRoutesParts extends ConsoleParts {
  /** Trusted proxies, which may name the client's address. */
  peers: {
    /** Removes headers that only a trusted proxy may set. */
    clean(request: FastifyRequest['raw']): void;
    /** Returns the client's address. `clean` must have been called for the request. */
    clientOf(request: FastifyRequest['raw']): string;
  };
}

/** Adds the three routes. */
export function sessionRoutes(app: FastifyInstance, parts: SessionRoutesParts): void {
  const { sessions, peers } = parts;
  const failures = new RateLimiterMemory({ points: FAILURES_MAX, duration: WINDOW_SECONDS });
  const ownPage = async (request: FastifyRequest): Promise<void> => {
    request.bodyBytesMax = BODY_BYTES_MAX;
    peers.clean(request.raw);
    if (!isOwnPage(request.raw)) throw otherPage();
  };
  app.post(PATH, { onRequest: ownPage }, async (request, reply) => {
    const address = peers.clientOf(request.raw);
    const key = keyOf(bodyBytes(request.body));
    const isCounted = !UNGUESSABLE.test(key);
    const tried = isCounted ? await failures.get(address) : null;
    if (tried && tried.consumedPoints >= FAILURES_MAX) {
      const seconds = Math.max(1, Math.ceil(tried.msBeforeNext / 1_000));
      throw new TooManyRequests(
        `Too many keys that do not work came from this address; try again in ${seconds} s.`,
        seconds,
      );
    }
    try {
      const { session, cookie } = sessions.begin(key, isSecure(request));
      const view = await viewOf(parts, session, reply);
      return await reply.header('set-cookie', cookie).header('cache-control', 'no-store').send(view);
    } catch (error) {
      if (isCounted && error instanceof CoreError && error.reason === 'UNAUTHORIZED') await failures.penalty(address);
      throw error;
    }
  });
  app.get(PATH, { onRequest: ownPage }, async (request, reply) => {
    const session = sessions.of(request.raw);
    if (!session) throw signedOut();
    return reply.header('cache-control', 'no-store').send(await viewOf(parts, session, reply));
  });
  app.delete(PATH, { onRequest: ownPage }, async (request, reply) =>
    reply.header('set-cookie', sessions.end(isSecure(request))).send({}),
  );
}

async function viewOf(
  { core, gate }: SessionRoutesParts,
  { apiKey, untilMs }: ConsoleSession,
  reply: FastifyReply,
): Promise<SessionView> {
  const { accountId, workersRunning } = await callerOf(gate, apiKey);
  await gate.rateLimit?.admit({ endpointId: '', operation: 'management', accountId, workersRunning }, reply);
  const known = { accountId, untilMs, version: FACADE_VERSION };
  if (accountId === '') return { ...known, accountName: 'operator', manage: 'write', jobs: 'read' };
  const named = core.access.call((client) => client.getAccount, {}, { apiKey, repeatable: true });
  const [account, manage, jobs] = await Promise.all([
    named.catch(() => undefined),
    right(gate, apiKey, Api.MANAGEMENT),
    right(gate, apiKey, Api.JOBS),
  ]);
  return { ...known, accountName: account?.account?.name ?? accountId, manage, jobs };
}

/** Returns what the key may do, so that the page offers nothing else. */
async function right({ access }: ConsoleParts['gate'], apiKey: string, api: Api): Promise<SessionRight> {
  for (const write of [true, false]) {
    const decision = await access.check({ apiKey, endpointId: '', write, api });
    if (!(decision instanceof CoreError)) return write ? 'write' : 'read';
    if (decision.httpStatus !== 401) throw decision;
  }
  return 'none';
}

function keyOf(body: Buffer): string {
  let given: unknown;
  try {
    given = (JSON.parse(body.toString('utf8')) as { key?: unknown } | null)?.key;
  } catch {
    throw new CoreError('INVALID_REQUEST', 'The body must be {"key": "…"}.');
  }
  const key = typeof given === 'string' ? keyOfRestRequest(`Bearer ${given.trim()}`) : undefined;
  if (key === undefined) throw new CoreError('UNAUTHORIZED', 'That is no API key.');
  return key;
}

function isSecure({ headers }: FastifyRequest): boolean {
  return headers['x-forwarded-proto'] === 'https';
}

/** Dependencies of the console's routes. */

import type { Clock } from '@slipway/kit/time/clock';
import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { CoreClient } from '../core-client/core-client.ts';
import type { JobHandler } from '../jobs/job-parts.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { HttpRejection } from '../plugins/errors/http-rejection.ts';
import type { AnswerBudget } from '../plugins/limits/answer-budget.ts';
import type { LiveFeeds } from './live-feeds.ts';
import { isOwnPage } from './own-page.ts';
import type { Sessions } from './session.ts';

/** Parts handed to every route. */
export interface ConsoleParts {
  core: CoreClient;
  gate: GateParts;
  sessions: Sessions;
  feeds: LiveFeeds;
  answers: AnswerBudget;
  /** The queue surface's own, for under the path of that surface a load-balancing endpoint's worker may answer. */
  jobLog: JobHandler;
  clock: Clock;
}

/** Largest body of the console's own operations, in bytes: settings, never jobs' inputs. */
export const BODY_BYTES_MAX = 64 * 1024;

/**
 * Returns the gate of console routes. It requires a session and a key that are both valid, and counts the request
 * against the account's limit of that kind.
 */
export function consoleGate(
  { sessions, gate }: Pick<ConsoleParts, 'sessions' | 'gate'>,
  operation: 'management' | 'live' | 'logs',
): onRequestAsyncHookHandler {
  return async (request, reply) => {
    request.bodyBytesMax = BODY_BYTES_MAX;
    if (!isOwnPage(request.raw)) throw otherPage();
    const session = sessions.of(request.raw);
    if (!session) throw signedOut();
    const caller = await callerOf(gate, session.apiKey);
    request.caller = { apiKey: session.apiKey, accountId: caller.accountId, workersRunning: caller.workersRunning };
    const { accountId, workersRunning } = caller;
    const { endpointId = '' } = request.params as { endpointId?: string };
    const asked = operation === 'logs' ? { endpointId, apiKey: session.apiKey } : { endpointId: '' };
    await gate.rateLimit?.admit({ ...asked, operation, accountId, workersRunning }, reply);
  };
}

/** Returns the owner of a key, also of a key for jobs only. Throws UNAUTHORIZED. */
export async function callerOf(
  { access }: Pick<GateParts, 'access'>,
  apiKey: string,
): Promise<{ accountId: string; workersRunning: number }> {
  for (const api of [Api.MANAGEMENT, Api.JOBS]) {
    const decision = await access.check({ apiKey, endpointId: '', write: false, api });
    if (!(decision instanceof CoreError)) return decision;
    if (decision.reason !== 'UNAUTHORIZED' || api === Api.JOBS) throw decision;
  }
  throw signedOut();
}

/** Returns whether the caller is the operator, whose key belongs to no account. */
export function isOperator(request: FastifyRequest): boolean {
  return request.caller.accountId === '';
}

/** Returns the error for a missing or ended session. */
export function signedOut(): CoreError {
  return new CoreError('UNAUTHORIZED', 'Not signed in, or the session has ended: sign in again.');
}

/** Returns the error for a request that another page sent with this browser's session. */
export function otherPage(): HttpRejection {
  return new HttpRejection('The console answers its own page only.', { status: 403, code: 'not_own_page' });
}

/**
 * Authenticates callers of load-balancing endpoints, for requests to a facade and for requests that an edge asks
 * about.
 */
import type { IncomingMessage } from 'node:http';
import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { CoreError } from '@slipway/proto/wire/reason';
import type { GateParts } from '../plugins/authenticate.ts';
import { keyOfQueueRequest } from '../plugins/credentials.ts';
import type { AccessRequest } from '../plugins/limits/access-cache.ts';
import type { LimitedRequest } from '../plugins/limits/rate-limit.ts';
import { endpointNotFound, isId } from '../plugins/public-id.ts';
import type { HostKeys } from './host-keys.ts';
import { unauthorized } from './lb-error.ts';
import type { LbTarget } from './lb-target.ts';

/** An authenticated caller. */
export interface AuthenticatedCaller {
  apiKey: string;
  accountId: string;
  /** Input of the rate limits. */
  limited: LimitedRequest;
  /** Access check that core answered. */
  question: AccessRequest;
}

/**
 * Authenticates the caller of a request. Returns `undefined` for an OpenAI operation of a queue-based endpoint. Throws
 * the error for the client. `keys`: keys in cookies of browsers; absent: cookies are ignored.
 */
export async function authenticateCaller(
  request: IncomingMessage,
  target: LbTarget,
  { access }: GateParts,
  keys?: HostKeys,
): Promise<AuthenticatedCaller | undefined> {
  const { headers, method } = request;
  const apiKey = keyOfQueueRequest(headers.authorization, target.queryKey ?? keys?.keyOf(request, target));
  if (apiKey === undefined && target.isShared) return undefined;
  if (apiKey === undefined)
    throw unauthorized(headers.authorization === undefined ? 'no token provided' : 'invalid api key');
  const { endpointId } = target;
  const write = headers.upgrade !== undefined || !/^(GET|HEAD|OPTIONS)$/.test(method ?? '');
  const question = { apiKey, endpointId: isId(endpointId) ? endpointId : '', write, api: Api.JOBS };
  const decision = await access.checkLive(question);
  if (decision instanceof CoreError) {
    if (target.isShared) return undefined;
    throw decision.reason === 'UNAUTHORIZED' ? unauthorized('invalid api key') : toNotFound(decision);
  }
  if (decision.accountId === '') throw unauthorized('invalid api key');
  if (decision.endpointType !== EndpointType.LB) {
    if (target.isShared) return undefined;
    throw toNotFound(
      decision.endpointType === EndpointType.QB
        ? queueBased(method ?? '', target)
        : new CoreError('ENDPOINT_NOT_FOUND', ''),
    );
  }
  const { accountId, workersRunning, requestQuota } = decision;
  return {
    apiKey,
    accountId,
    question,
    limited: { endpointId, operation: 'lb', accountId, workersRunning, requestQuota, apiKey },
  };
}

function queueBased(method: string, { path }: LbTarget): CoreError {
  const shown = path.split('?', 1)[0]!.slice(0, 200);
  return new CoreError(
    'NOT_FOUND',
    `There is no operation ${method} ${shown}: this is a queue-based endpoint, which takes jobs by POST /run and ` +
      '/runsync. Only load-balancing endpoints (type LB) have paths of their own.',
  );
}

function toNotFound(error: CoreError): CoreError {
  return error.reason === 'ENDPOINT_NOT_FOUND' ? endpointNotFound() : error;
}

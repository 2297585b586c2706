/** Who asks, and whether the endpoint is one that balances: the same for requests that come here and for those that an edge asks about. */
import type { IncomingMessage } from 'node:http';
import { Api } from '../../proto/gen/slipway/v1/access_service.ts';
import { EndpointType } from '../../proto/gen/slipway/v1/endpoint.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { isId } from '../plugins/authenticate.ts';
import type { AccessQuestion } from '../plugins/access-cache.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { keyOfQueueRequest } from '../plugins/credentials.ts';
import type { LimitedRequest } from '../plugins/rate-limit.ts';
import type { HostKeys } from './host-keys.ts';
import { notAllowed } from './lb-error.ts';
import type { LbTarget } from './lb-target.ts';

/** Somebody who may, with what the rate limits need to know. */
export interface Identified {
  apiKey: string;
  accountId: string;
  limited: LimitedRequest;
  /** What core was asked about the key. */
  question: AccessQuestion;
}

/** Throws what the client is to be told. `keys`: of browsers; absent: they are not looked at. Undefined: it is a queue-based endpoint's OpenAI operation. */
export async function identify(request: IncomingMessage, target: LbTarget, { access }: GateParts, keys?: HostKeys): Promise<Identified | undefined> {
  const { headers, method } = request;
  const apiKey = keyOfQueueRequest(headers.authorization, target.queryKey ?? keys?.keyOf(request, target));
  if (apiKey === undefined && target.isShared) return undefined;
  if (apiKey === undefined) throw notAllowed(headers.authorization === undefined ? 'no token provided' : 'invalid api key');
  const { endpointId } = target;
  const write = headers.upgrade !== undefined || !/^(GET|HEAD|OPTIONS)$/.test(method ?? '');
  const question = { apiKey, endpointId: isId(endpointId) ? endpointId : '', write, api: Api.JOBS };
  const decision = await access.lookLive(question);
  if (decision instanceof CoreError) {
    if (target.isShared) return undefined;
    throw decision.reason === 'UNAUTHORIZED' ? notAllowed('invalid api key') : noSuch(decision);
  }
  if (decision.accountId === '') throw notAllowed('invalid api key');
  if (decision.endpointType !== EndpointType.LB) {
    if (target.isShared) return undefined;
    throw noSuch(decision.endpointType === EndpointType.QB ? queueBased(method ?? '', target) : new CoreError('ENDPOINT_NOT_FOUND', ''));
  }
  const { accountId, workersRunning, requestQuota } = decision;
  return { apiKey, accountId, question, limited: { endpointId, operation: 'lb', accountId, workersRunning, requestQuota, apiKey } };
}

function queueBased(method: string, { path }: LbTarget): CoreError {
  const shown = path.split('?', 1)[0]!.slice(0, 200);
  return new CoreError('NOT_FOUND', `There is no operation ${method} ${shown}: this is a queue-based endpoint, which takes jobs by POST /run and /runsync. `
    + 'Only load-balancing endpoints (type LB) have paths of their own.');
}

function noSuch(error: CoreError): CoreError {
  return error.reason === 'ENDPOINT_NOT_FOUND' ? new CoreError('ENDPOINT_NOT_FOUND', 'There is no such endpoint.') : error;
}

/** Authenticates and rate-limits requests before their body is read. */

import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { REQUEST_WINDOW_SECONDS } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { keyOfQueueRequest, keyOfRestRequest } from './credentials.ts';
import { HttpRejection } from './errors/http-rejection.ts';
import { TooManyRequests } from './errors/public-error.ts';
import type { AccessCache, AccessRequest } from './limits/access-cache.ts';
import type { RateBudget, RateLimit } from './limits/rate-limit.ts';
import type { LimitedOperation } from './limits/rate-limit-rules.ts';
import { RATE_RULES } from './limits/rate-limit-rules.ts';
import { endpointNotFound, isId } from './public-id.ts';

export interface GateParts {
  access: AccessCache;
  /** `undefined` if rate limits are off. */
  rateLimit: RateLimit | undefined;
}

/** Access rule of a queue operation. */
export interface GateRule {
  operation: LimitedOperation;
  /** Whether the operation writes. A read-only key is then rejected. */
  write: boolean | ((request: FastifyRequest) => boolean);
  /** Largest body in bytes. */
  bodyBytesMax: number;
}

/** Returns the access hook of a queue operation: 401, 404 of the endpoint, 429. */
export function queueGate(parts: GateParts, rule: GateRule): onRequestAsyncHookHandler {
  return async (request, reply) => {
    request.bodyBytesMax = rule.bodyBytesMax;
    const { authorization } = request.headers;
    const apiKey = keyOfQueueRequest(authorization, (request.query as Record<string, unknown>)['api_key']);
    const { endpointId } = request.params as { endpointId: string };
    const write = typeof rule.write === 'boolean' ? rule.write : rule.write(request);
    await admit(parts, request, reply, {
      apiKey,
      endpointId: isId(endpointId) ? endpointId : '',
      write,
      api: Api.JOBS,
    });
    if (!isId(endpointId)) throw endpointNotFound();
    if (request.caller.endpointType === EndpointType.LB && rule.operation !== 'health') throw wrongEndpointType();
    const { accountId, workersRunning, requestQuota } = request.caller;
    const limited = {
      endpointId,
      operation: rule.operation,
      accountId,
      workersRunning,
      requestQuota,
      apiKey: request.caller.apiKey,
    };
    await parts.rateLimit?.admit({ ...limited, bodyBytes: bodyBytesOf(request) }, reply);
  };
}

/**
 * Returns the access hook of OpenAI operations of an account: 401, 429. The endpoint is authorized by `admitToEndpoint`
 * when the body has named its model.
 */
export function modelGate(parts: GateParts, bodyBytesMax: number): onRequestAsyncHookHandler {
  return async (request, reply) => {
    request.bodyBytesMax = bodyBytesMax;
    const { authorization } = request.headers;
    const apiKey = keyOfQueueRequest(authorization, (request.query as Record<string, unknown>)['api_key']);
    await admit(parts, request, reply, { apiKey, endpointId: '', write: false, api: Api.JOBS });
    const { accountId, workersRunning } = request.caller;
    const limited = { endpointId: '', operation: 'models', accountId, workersRunning } as const;
    await parts.rateLimit?.admit({ ...limited, bodyBytes: bodyBytesOf(request) }, reply);
  };
}

/** Authorizes and rate-limits a request that writes to an endpoint which its path does not name. */
export async function admitToEndpoint(
  parts: GateParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { endpointId, operation }: { endpointId: string; operation: LimitedOperation },
): Promise<void> {
  const { apiKey } = request.caller;
  await admit(parts, request, reply, { apiKey, endpointId, write: true, api: Api.JOBS });
  const { accountId, workersRunning, requestQuota } = request.caller;
  const limited = { endpointId, operation, accountId, workersRunning, requestQuota, apiKey };
  await parts.rateLimit?.admit({ ...limited, bodyBytes: bodyBytesOf(request) }, reply);
}

/**
 * Returns the access hook of a REST operation: 401, 429. Core checks the key's permission for the resource in the path.
 */
export function restGate(parts: GateParts, bodyBytesMax: number): onRequestAsyncHookHandler {
  return async (request, reply) => {
    request.bodyBytesMax = bodyBytesMax;
    const apiKey = keyOfRestRequest(request.headers.authorization);
    await admitManagement(parts, request, reply, apiKey);
  };
}

/**
 * Returns the access hook of a REST v2 operation: 401, 403 for a valid key without the permission, 429. Responses to
 * valid keys carry rate limit headers. Core checks the key's permission for the resource in the path.
 */
export function restV2Gate(parts: GateParts, bodyBytesMax: number): onRequestAsyncHookHandler {
  return async (request, reply) => {
    request.bodyBytesMax = bodyBytesMax;
    const apiKey = keyOfRestRequest(request.headers.authorization);
    if (apiKey === undefined) throw new CoreError('UNAUTHORIZED', 'missing bearer token');
    try {
      const rate = await admitManagement(parts, request, reply, apiKey);
      if (rate) reply.headers(rateHeaders(rate));
    } catch (error) {
      if (error instanceof CoreError && error.reason === 'UNAUTHORIZED' && (await mayUseJobs(parts.access, apiKey)))
        throw forbidden();
      if (error instanceof TooManyRequests)
        reply.headers(
          rateHeaders({ limit: RATE_RULES.management.rate, left: 0, resetSeconds: error.retryAfterSeconds }),
        );
      throw error;
    }
  };
}

/** Returns the 403 of a valid key that lacks a right. */
export function forbidden(): HttpRejection {
  return new HttpRejection(
    'This API key may not do this: it reads only, is for some endpoints, or is for jobs alone.',
    { status: 403, code: 'forbidden' },
  );
}

/** Returns whether the key is valid for jobs, and so exists. */
async function mayUseJobs(access: AccessCache, apiKey: string): Promise<boolean> {
  const decision = await access.check({ apiKey, endpointId: '', write: false, api: Api.JOBS });
  return !(decision instanceof CoreError) && decision.accountId !== '';
}

/** Lists of RFC 9651, with one window. */
function rateHeaders({ limit, left, resetSeconds }: RateBudget): Record<string, string> {
  return {
    ratelimit: `"window";r=${left};t=${resetSeconds}`,
    'ratelimit-policy': `"window";q=${limit};w=${REQUEST_WINDOW_SECONDS}`,
  };
}

/** Largest body without a key, in bytes: a query for types of GPU. */
const KEYLESS_BYTES_MAX = 16_384;

/** Counts a request without a key. RATE_LIMITED. */
export type KeylessRate = (request: FastifyRequest) => void;

/**
 * Returns the access hook of GraphQL: 401, 429. Requests without a key pass as anonymous, because only the parsed
 * document shows whether it needs one. Core checks writes.
 */
export function graphqlGate(parts: GateParts, keyless: KeylessRate, bodyBytesMax: number): onRequestAsyncHookHandler {
  return async (request, reply) => {
    const { api_key: inQuery } = request.query as Record<string, unknown>;
    if (request.headers.authorization === undefined && inQuery === undefined) {
      const bytes = Number(request.headers['content-length']);
      if (!(bytes <= KEYLESS_BYTES_MAX)) throw keyMissing();
      request.bodyBytesMax = KEYLESS_BYTES_MAX;
      keyless(request);
      request.caller = { apiKey: '', accountId: '', workersRunning: 0 };
      return;
    }
    request.bodyBytesMax = bodyBytesMax;
    const apiKey = keyOfQueueRequest(
      request.headers.authorization,
      (request.query as Record<string, unknown>)['api_key'],
    );
    await admitManagement(parts, request, reply, apiKey);
  };
}

async function admitManagement(
  parts: GateParts,
  request: FastifyRequest,
  reply: FastifyReply,
  apiKey: string | undefined,
): Promise<RateBudget | undefined> {
  await admit(parts, request, reply, { apiKey, endpointId: '', write: false, api: Api.MANAGEMENT });
  const { accountId, workersRunning, requestQuota } = request.caller;
  return parts.rateLimit?.admit(
    {
      endpointId: '',
      operation: 'management',
      accountId,
      workersRunning,
      requestQuota,
      bodyBytes: bodyBytesOf(request),
    },
    reply,
  );
}

/** Returns the announced size of the body in bytes. Infinity if none is announced. */
function bodyBytesOf({ headers }: FastifyRequest): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
}

type Question = Omit<AccessRequest, 'apiKey'> & { apiKey: string | undefined };

/** Authenticates a request. Rejections of an address that keeps sending bad keys are delayed. */
async function admit(
  { access, rateLimit }: GateParts,
  request: FastifyRequest,
  reply: FastifyReply,
  question: Question,
): Promise<void> {
  try {
    await resolveCaller(access, request, question);
  } catch (error) {
    const isUnauthorized = error instanceof CoreError && error.reason === 'UNAUTHORIZED';
    if (isUnauthorized) await rateLimit?.delayRejection(`bad keys ${request.raw.socket.remoteAddress ?? ''}`, reply);
    throw error;
  }
}

async function resolveCaller(access: AccessCache, request: FastifyRequest, question: Question): Promise<void> {
  const { apiKey } = question;
  if (apiKey === undefined) throw keyMissing();
  const checked = access.check({ ...question, apiKey });
  const decision = checked instanceof Promise ? await checked : checked;
  if (decision instanceof CoreError) throw decision.reason === 'ENDPOINT_NOT_FOUND' ? endpointNotFound() : decision;
  // The operator's own key belongs to no account; it manages accounts and is no API key.
  if (decision.accountId === '') throw new CoreError('UNAUTHORIZED', 'This key is not an API key of an account.');
  request.caller = {
    apiKey,
    accountId: decision.accountId,
    workersRunning: decision.workersRunning,
    requestQuota: decision.requestQuota,
    endpointType: decision.endpointType,
  };
}

/** Returns the 401 of a request without a key. */
export function keyMissing(): CoreError {
  return new CoreError('UNAUTHORIZED', 'An API key is needed: send the header "Authorization: Bearer <key>".');
}

/** Returns the error for a request to an endpoint of the other type (docs/reference/api.md#load-balancing). */
function wrongEndpointType(): CoreError {
  return new CoreError(
    'WRONG_ENDPOINT_TYPE',
    'not allowed for QB API: this is a load-balancing endpoint, which has no queue. Send requests to the paths ' +
      'of its workers, /v2/{endpoint_id}/{path}.',
  );
}

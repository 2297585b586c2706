/** Dependencies of the routes for jobs. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import type { EndpointServiceClient } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FacadeConfig } from '../config.ts';
import type { OpenCall } from '../core-client/pipeline-client.ts';
import type { PipelinedJobs } from '../core-client/pipelined-jobs.ts';
import type { ServiceCalls } from '../core-client/service-calls.ts';
import type { AnswerBudget } from '../plugins/limits/answer-budget.ts';
import type { BodyWork } from '../plugins/limits/body-work.ts';
import type { KeyWatch, WatchKey } from '../plugins/limits/key-watch.ts';
import { isId } from '../plugins/public-id.ts';

/** Parts handed to every queue route. */
export interface JobParts {
  jobs: PipelinedJobs;
  /** Calls about endpoints themselves. */
  endpoints: ServiceCalls<EndpointServiceClient>;
  /** Watches keys of clients that wait or listen. */
  keys: KeyWatch;
  answers: AnswerBudget;
  bodies: BodyWork;
  config: FacadeConfig;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** A route handler. */
export type JobHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** Returns the endpoint of a request. The gate has checked its form. */
export function endpointIdOf(request: FastifyRequest): string {
  return (request.params as { endpointId: string }).endpointId;
}

/** Returns the job of a request. Throws JOB_NOT_FOUND for anything that cannot be an id: it must not reach core. */
export function jobIdOf(request: FastifyRequest): string {
  const { jobId } = request.params as { jobId: string };
  if (!isId(jobId)) throw new CoreError('JOB_NOT_FOUND', 'There is no such job.');
  return jobId;
}

/** Watches the key of a request that reads for a while. */
export function readingKey({ keys }: Pick<JobParts, 'keys'>, request: FastifyRequest): WatchKey {
  return keys.access({ apiKey: request.caller.apiKey, endpointId: endpointIdOf(request), write: false, api: Api.JOBS });
}

/**
 * Sends a JSON text unchanged. The status of success is always 200, because two clients accept nothing else
 * (docs/reference/api.md#clients).
 */
export function sendJson(reply: FastifyReply, json: string | Buffer): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(json);
}

/**
 * Waits for a call as long as the key is valid. Throws UNAUTHORIZED if the key is revoked first, whatever the result.
 */
export async function whileAllowed<Reply>(watchKey: WatchKey, call: OpenCall<Reply>): Promise<Reply> {
  let isRevoked = false;
  const unwatch = watchKey(() => {
    isRevoked = true;
    call.abandon();
  });
  const answer = await call.answer.finally(unwatch);
  if (isRevoked) throw new CoreError('UNAUTHORIZED', 'The API key was revoked.');
  return answer;
}

/** Waits for a call. Ends its wait if the client disconnects or the key is revoked first. */
export async function whileConnected<Reply>(
  parts: Pick<JobParts, 'keys'>,
  request: FastifyRequest,
  reply: FastifyReply,
  call: OpenCall<Reply>,
): Promise<Reply> {
  const leave = (): void => call.abandon();
  if (reply.raw.closed) leave();
  reply.raw.once('close', leave);
  try {
    return await whileAllowed(readingKey(parts, request), call);
  } finally {
    reply.raw.off('close', leave);
  }
}

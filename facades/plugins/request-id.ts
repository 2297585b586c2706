/** Request ids: they are in each log line about a request and in every error response. */
import type { IncomingMessage } from 'node:http';
import type { Random } from '@slipway/kit/time/clock';
import type { FastifyRequest } from 'fastify';
import { isId } from './authenticate.ts';

/** Of requests and answers. */
export const REQUEST_ID_HEADER = 'x-request-id';
/** Form of an id that a client or proxy may set itself. */
const GIVEN = /^[\w.:-]{1,128}$/;

/** Makes the id of each request: a part that is this process's, and a number. */
export function requestIds(random: Random): (request: Pick<IncomingMessage, 'headers'>) => string {
  const process = random.id(10);
  let count = 0;
  return ({ headers }) => {
    const given = headers[REQUEST_ID_HEADER];
    return typeof given === 'string' && GIVEN.test(given) ? given : `${process}-${(count += 1)}`;
  };
}

/**
 * What a line of the log about a request names: the request, and the endpoint and job of its path or that it made. Only
 * ids: a path may say anything.
 */
export function idsOf(request: FastifyRequest): {
  requestId: string;
  endpointId?: string | undefined;
  jobId?: string | undefined;
} {
  const { endpointId, jobId } = (request.params ?? {}) as Record<string, string | undefined>;
  return {
    requestId: request.id,
    endpointId: idOf(endpointId),
    jobId: request.jobId === '' ? idOf(jobId) : request.jobId,
  };
}

function idOf(text: string | undefined): string | undefined {
  return text !== undefined && isId(text) ? text : undefined;
}

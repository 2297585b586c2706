/** Request ids. They are in every log line about a request and in every error response. */
import type { IncomingMessage } from 'node:http';
import { traceFields } from '@slipway/kit/observe/trace';
import type { Random } from '@slipway/kit/time/clock';
import type { FastifyRequest } from 'fastify';
import { isId } from './public-id.ts';

/** Header of the id, in requests and responses. */
export const REQUEST_ID_HEADER = 'x-request-id';
/** Form of an id that a client or proxy may set. */
const GIVEN = /^[\w.:-]{1,128}$/;

/** Returns a function that makes the id of each request: a part for this process, and a number. */
export function requestIds(random: Random): (request: Pick<IncomingMessage, 'headers'>) => string {
  const process = random.id(10);
  let count = 0;
  return ({ headers }) => {
    const given = headers[REQUEST_ID_HEADER];
    return typeof given === 'string' && GIVEN.test(given) ? given : `${process}-${(count += 1)}`;
  };
}

/**
 * Returns the ids for log lines about a request: the request, its trace if it is recorded, and the endpoint and job of
 * its path or that it created. Only ids, because a path may contain any text.
 */
export function idsOf(request: FastifyRequest): {
  requestId: string;
  trace_id?: string;
  span_id?: string;
  endpointId?: string | undefined;
  jobId?: string | undefined;
} {
  const { endpointId, jobId } = (request.params ?? {}) as Record<string, string | undefined>;
  return {
    requestId: request.id,
    ...traceFields(request.trace?.traceparent),
    endpointId: idOf(endpointId),
    jobId: request.jobId === '' ? idOf(jobId) : request.jobId,
  };
}

function idOf(text: string | undefined): string | undefined {
  return text !== undefined && isId(text) ? text : undefined;
}

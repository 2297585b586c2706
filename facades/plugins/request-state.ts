/**
 * What the hooks learn about a request and hand to its route. Declared once, so that every request object has the same
 * shape.
 */

import type { Trace } from '@slipway/kit/observe/trace';
import type { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { FastifyInstance } from 'fastify';

/** The caller. Known after the access hook. */
export interface Caller {
  /** The key as the client sent it; goes on to core with every call. */
  apiKey: string;
  /** Owner of the key. */
  accountId: string;
  /** Running workers of the endpoint, for the dynamic limit of docs/reference/api.md#rate-limits. */
  workersRunning: number;
  /** Most requests of the account to the job API in 10 s. `undefined` if unlimited. */
  requestQuota?: number | undefined;
  /** Type of the endpoint in the path. Absent if there is none. */
  endpointType?: EndpointType;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
    /** Content type as sent, taken off the headers so that no body is refused for it. Empty when there was none. */
    sentContentType: string;
    /** Largest body of this route in bytes. */
    bodyBytesMax: number;
    /** The job that it made. Empty: none, or not yet. */
    jobId: string;
    /** Span of the request. `undefined` if its trace is not recorded. */
    trace: Trace | undefined;
  }
}

/** Gives every request of an app the fields above. Only routes behind a gate may read `caller`. */
export function addRequestState(app: FastifyInstance): void {
  app.decorateRequest('caller');
  app.decorateRequest('sentContentType', '');
  app.decorateRequest('bodyBytesMax', 0);
  app.decorateRequest('jobId', '');
  app.decorateRequest('trace');
}

/** State that hooks add to a request for its route. Declared once, so that all request objects have the same shape. */

import type { Trace } from '@slipway/kit/observe/trace';
import type { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { FastifyInstance } from 'fastify';

/** The caller. Known after the access hook. */
export interface Caller {
  /** Key as the client sent it. It is sent to core with every call. */
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
    /**
     * Content type as sent. It is removed from the headers, so that no body is rejected for it. Empty if there was
     * none.
     */
    sentContentType: string;
    /** Largest body of this route in bytes. */
    bodyBytesMax: number;
    /** Job that the request created. Empty if there is none yet. */
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

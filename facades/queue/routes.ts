/** The queue surface: every operation of docs/reference/api.md#surfaces with its method, limits and permission. */

import { RUN_PAYLOAD_BYTES_MAX, RUNSYNC_PAYLOAD_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import type { GateParts, GateRule } from '../plugins/authenticate.ts';
import { queueGate } from '../plugins/authenticate.ts';
import { handleErrors, queueErrorShape } from '../plugins/errors/error-handler.ts';
import { cancel } from './cancel.ts';
import { errors } from './errors.ts';
import { explainEndpoint, explainJob } from './explain.ts';
import { health } from './health.ts';
import { logs } from './logs.ts';
import { cancelJobs, retryJobs } from './many-jobs.ts';
import { metrics } from './metrics.ts';
import { purgeQueue } from './purge-queue.ts';
import { requests } from './requests.ts';
import { retry } from './retry.ts';
import { run } from './run.ts';
import { runsync } from './runsync.ts';
import { status } from './status.ts';
import { statusSync } from './status-sync.ts';
import { stream } from './stream.ts';
import { times } from './times.ts';

interface QueueRoute extends Partial<GateRule> {
  method: HTTPMethods[];
  path: string;
  operation: GateRule['operation'];
  handler: (parts: JobParts) => JobHandler;
}

/**
 * Body of an operation that needs none: some clients send `{}`, some an empty one (docs/reference/api.md#clients). It
 * is read and forgotten.
 */
const IDLE_BODY_BYTES_MAX = 64 * 1024;

const ROUTES: readonly QueueRoute[] = [
  { method: ['POST'], path: '/run', operation: 'run', write: true, bodyBytesMax: RUN_PAYLOAD_BYTES_MAX, handler: run },
  {
    method: ['POST'],
    path: '/runsync',
    operation: 'runsync',
    write: true,
    bodyBytesMax: RUNSYNC_PAYLOAD_BYTES_MAX,
    handler: runsync,
  },
  { method: ['GET', 'HEAD', 'POST'], path: '/status/:jobId', operation: 'status', write: setsTtl, handler: status },
  { method: ['GET', 'POST'], path: '/status-sync/:jobId', operation: 'status', handler: statusSync },
  { method: ['GET', 'POST'], path: '/stream/:jobId', operation: 'stream', handler: stream },
  { method: ['POST'], path: '/cancel/:jobId', operation: 'cancel', write: true, handler: cancel },
  { method: ['POST'], path: '/retry/:jobId', operation: 'retry', write: true, handler: retry },
  { method: ['POST'], path: '/jobs/cancel', operation: 'cancel', write: true, handler: cancelJobs },
  { method: ['POST'], path: '/jobs/retry', operation: 'retry', write: true, handler: retryJobs },
  { method: ['POST'], path: '/purge-queue', operation: 'purge-queue', write: true, handler: purgeQueue },
  { method: ['GET', 'HEAD'], path: '/health', operation: 'health', handler: health },
  { method: ['GET'], path: '/explain', operation: 'requests', handler: explainEndpoint },
  { method: ['GET'], path: '/explain/:jobId', operation: 'requests', handler: explainJob },
  { method: ['GET'], path: '/logs/:jobId', operation: 'logs', handler: logs },
  { method: ['GET'], path: '/metrics', operation: 'requests', handler: metrics },
  { method: ['GET'], path: '/times', operation: 'requests', handler: times },
  { method: ['GET'], path: '/errors', operation: 'requests', handler: errors },
  { method: ['GET'], path: '/requests', operation: 'requests', handler: requests },
];

/** Adds the queue routes under /v2/{endpoint_id}. */
export function queueRoutes(app: FastifyInstance, parts: JobParts, gate: GateParts): void {
  handleErrors(app, queueErrorShape, parts.logger);
  for (const { method, path, operation, write = false, bodyBytesMax = IDLE_BODY_BYTES_MAX, handler } of ROUTES) {
    const onRequest = queueGate(gate, { operation, write, bodyBytesMax });
    const serve = handler(parts);
    app.route({
      method,
      url: `/v2/:endpointId${path}`,
      onRequest,
      handler: (request, reply) => {
        // A body that is too large, broken or late is rejected even where it is not used.
        if (request.body instanceof Error) throw request.body;
        return serve(request, reply);
      },
    });
  }
}

/** Returns whether a status request changes the ttl of the job. */
function setsTtl(request: FastifyRequest): boolean {
  return (request.query as Record<string, unknown>)['ttl'] !== undefined;
}

/** What is served of REST v2 (docs/api.md#log-of-a-worker-or-a-pod), whose errors are problems (RFC 9457). */
import type { FastifyInstance } from 'fastify';
import { restGate } from '../plugins/authenticate.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { handleErrors, problemShape } from '../plugins/error-handler.ts';
import { logOfLines } from './log-of-lines.ts';
import type { LineLogParts } from './log-of-lines.ts';
import { podReader, workerReader } from './log-readers.ts';

/** No route here reads a body. */
const BODY_BYTES_MAX = 0;

/** Adds the routes. */
export function restV2Routes(app: FastifyInstance, parts: LineLogParts, gate: GateParts): void {
  handleErrors(app, problemShape, parts.logger);
  const onRequest = restGate(gate, BODY_BYTES_MAX);
  app.get('/v2/serverless/:endpointId/workers/:workerId/logs', { onRequest }, logOfLines(parts, workerReader(parts)));
  app.get('/v2/pods/:podId/logs', { onRequest }, logOfLines(parts, podReader(parts)));
}

/** Writes a refusal of a request to a load-balancing endpoint. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../core/runtime/logger.ts';
import { letPagesRead } from '../plugins/cors.ts';
import { LbError, toLbError } from './lb-error.ts';

/** What the log names it by. */
export interface RefusedRequest {
  /** Absent: an edge asks for it, which knows no id. */
  requestId?: string;
  /** Where the path names one. */
  endpointId?: string | undefined;
}

/** Answers with what the error says, or ends the connection when the answer has begun. */
export function writeRefusal(
  error: unknown, request: IncomingMessage, reply: ServerResponse, logger: Logger, { requestId, endpointId }: RefusedRequest = {},
): void {
  const shown = toLbError(error);
  if (!(error instanceof LbError) && shown.status >= 500) {
    logger.error({ err: error, requestId, endpointId, method: request.method }, 'a request to a load-balancing endpoint failed');
  }
  if (reply.headersSent || reply.destroyed) return void reply.destroy();
  letPagesRead(request, reply);
  if (shown.retryAfterSeconds !== undefined) reply.setHeader('retry-after', shown.retryAfterSeconds);
  // A body that nobody has read would be taken for the next request.
  if (!request.complete) reply.setHeader('connection', 'close');
  const body = Buffer.from(JSON.stringify(shown.body));
  reply.writeHead(shown.status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
  reply.end(body);
}

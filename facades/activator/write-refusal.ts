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

/** A refused body is read on and thrown away, but no further than this many bytes, and no longer than any request may take (facades/app.ts). */
const DISCARD_BYTES_MAX = 64 * 1024 * 1024;

/** Clients that send all before they read would else find a broken connection in place of the answer. */
function readOn(request: IncomingMessage): void {
  let bytes = 0;
  request.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > DISCARD_BYTES_MAX) request.destroy();
  });
  request.resume();
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
  // A client that waits for a word before it sends may send its body or not: nobody knows what comes next on its connection.
  const mayLeaveOut = request.headers.expect !== undefined || request.headers.upgrade !== undefined;
  if (!request.complete && mayLeaveOut) reply.setHeader('connection', 'close');
  const body = Buffer.from(JSON.stringify(shown.body));
  reply.writeHead(shown.status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
  reply.end(body);
  if (!request.complete && !mayLeaveOut) readOn(request);
}

/** Writes the error response of a request to a load-balancing endpoint. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '@slipway/kit/log/logger';
import { ERRORS_PATH_OF_ANY_HOST, helpLink } from '@slipway/kit/net/help-link';
import { DISCARD_BYTES_MAX } from '../plugins/connections/lingering-close.ts';
import { allowAnyOrigin } from '../plugins/cors.ts';
import { LbError, toLbError } from './lb-error.ts';

/** Ids of a rejected request for the log. */
interface RejectedRequest {
  /** Absent if an edge asks for the request: it has no id yet. */
  requestId?: string;
  /** `undefined` if the request names no endpoint. */
  endpointId?: string | undefined;
}

/**
 * Reads and discards the body: a client that sends everything before it reads would otherwise see a broken connection,
 * not the response. The time limit of all requests applies too (facades/create-app.ts).
 */
function drain(request: IncomingMessage): void {
  let bytes = 0;
  request.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > DISCARD_BYTES_MAX) request.destroy();
  });
  request.resume();
}

/** Responds with the error, or closes the connection if the response has started. */
export function writeRejection(
  error: unknown,
  request: IncomingMessage,
  reply: ServerResponse,
  logger: Logger,
  { requestId, endpointId }: RejectedRequest = {},
): void {
  const shown = toLbError(error);
  if (!(error instanceof LbError) && shown.status >= 500) {
    logger.error(
      { err: error, requestId, endpointId, method: request.method },
      'a request to a load-balancing endpoint failed',
    );
  }
  if (reply.headersSent || reply.destroyed) return void reply.destroy();
  allowAnyOrigin(request, reply);
  if (shown.retryAfterSeconds !== undefined) reply.setHeader('retry-after', shown.retryAfterSeconds);
  reply.setHeader('link', helpLink(shown.code, ERRORS_PATH_OF_ANY_HOST));
  // A client that waits for 100 may send its body or not: the next bytes on the connection are ambiguous.
  const mayLeaveOut = request.headers.expect !== undefined || request.headers.upgrade !== undefined;
  if (!request.complete && mayLeaveOut) reply.setHeader('connection', 'close');
  const body = Buffer.from(JSON.stringify(shown.body));
  reply.writeHead(shown.status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
  reply.end(body);
  if (!request.complete && !mayLeaveOut) drain(request);
}

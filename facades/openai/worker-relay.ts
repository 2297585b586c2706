/** Passes a request whose body was read on to a worker of a load-balancing endpoint. */
import type { IncomingMessage as Message, ServerResponse } from 'node:http';
import type { ErrorCode } from '@slipway/kit/net/error-help';
import { helpLink } from '@slipway/kit/net/help-link';
import { IncomingMessage } from '@slipway/kit/net/node-http';
import { openaiErrorType } from '@slipway/kit/openai/error-type';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendJson } from '../jobs/job-parts.ts';
import type { AccessRequest } from '../plugins/limits/access-cache.ts';
import { REQUEST_ID_HEADER } from '../plugins/request-id.ts';

/** An authorized request for a worker. */
interface ForwardRequest {
  request: Message;
  reply: ServerResponse;
  endpointId: string;
  /** Path as the worker sees it. */
  path: string;
  accountId: string;
  /** Access check that is repeated while the request waits or runs. */
  question: AccessRequest;
}

/** The reason why no worker answered. */
interface ForwardFailure {
  status: number;
  code: ErrorCode;
  message: string;
  retryAfterSeconds: number | undefined;
}

/** Sends a request to a worker and its answer to the client. Returns the failure if nothing has been answered. */
export type WorkerRelay = (forward: ForwardRequest) => Promise<ForwardFailure | undefined>;

/** Headers that describe the body as the client sent it. */
const OF_BODY = new Set([
  'content-length',
  'transfer-encoding',
  'content-encoding',
  'content-type',
  'expect',
  'trailer',
]);

/** Returns the request with a body that is in memory. */
export function withBody({ raw, sentContentType }: FastifyRequest, body: readonly Buffer[]): Message {
  const message = new IncomingMessage(raw.socket);
  const bytes = body.reduce((sum, piece) => sum + piece.length, 0);
  const kept: string[] = [];
  for (let at = 0; at + 1 < raw.rawHeaders.length; at += 2)
    if (!OF_BODY.has(raw.rawHeaders[at]!.toLowerCase())) kept.push(raw.rawHeaders[at]!, raw.rawHeaders[at + 1]!);
  const type = sentContentType === '' ? 'application/json' : sentContentType;
  message.rawHeaders = [...kept, 'Content-Type', type, 'Content-Length', String(bytes)];
  // Hooks may have removed headers that cannot be trusted.
  const trusted = Object.entries(raw.headers).filter(([name]) => !OF_BODY.has(name));
  message.headers = { ...Object.fromEntries(trusted), 'content-type': type, 'content-length': String(bytes) };
  message.method = raw.method!;
  message.httpVersion = raw.httpVersion;
  message.httpVersionMajor = raw.httpVersionMajor;
  message.httpVersionMinor = raw.httpVersionMinor;
  message.complete = true;
  for (const piece of body) message.push(piece);
  message.push(null);
  return message;
}

/** Sends a failure in OpenAI's envelope. */
export function sendFailure(
  reply: FastifyReply,
  { status, code, message, retryAfterSeconds }: ForwardFailure,
): FastifyReply {
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
  reply.header(REQUEST_ID_HEADER, reply.request.id).header('link', helpLink(code));
  return sendJson(
    reply.code(status),
    JSON.stringify({ error: { message, type: openaiErrorType(status), param: null, code } }),
  );
}

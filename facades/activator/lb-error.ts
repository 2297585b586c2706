/** Errors that clients of load-balancing endpoints get from Slipway itself (docs/reference/api.md#load-balancing). */
import type { ErrorCode } from '@slipway/kit/net/error-help';
import { LB_ANSWER_HEADER_BYTES_MAX, LB_ANSWER_HEADERS_MAX } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';
import { publicError } from '../plugins/errors/public-error.ts';

/** Body of an error. Errors of keys have the shape of the public service; all others have a code. */
type LbBody = Readonly<{ code?: ErrorCode } & Record<string, unknown>>;

/** An HTTP error with its body. */
export class LbError extends Error {
  readonly status: number;
  readonly body: LbBody;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, body: LbBody, retryAfterSeconds?: number) {
    super(String(body['error'] ?? body['detail'] ?? status));
    this.status = status;
    this.body = body;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** Code of its help. Only errors of keys have none in their body. */
  get code(): ErrorCode {
    return this.body.code ?? 'unauthorized';
  }
}

/** Returns 401: the key is missing or invalid. */
export function unauthorized(detail: 'no token provided' | 'invalid api key'): LbError {
  return new LbError(401, { status: 401, title: 'Unauthorized', detail });
}

/** Returns 503: a worker is ready, but only an edge can forward to it. */
export function needsEdge(): LbError {
  const error =
    'The workers of this endpoint speak HTTP/2 (a grpc port): only an edge carries requests to them. Through ' +
    'one, send it again.';
  return new LbError(503, { error, code: 'needs_edge' }, 1);
}

/** Returns 401: the path form of a pod needs a key. */
export function podKeyMissing(): LbError {
  return new LbError(401, {
    error: 'A port of a pod needs a key of its account: Authorization: Bearer KEY.',
    code: 'unauthorized',
  });
}

/** Returns 502: the pod does not run, or nothing listens on the port. */
export function podNotListening(port: number): LbError {
  return new LbError(502, {
    error: `Nothing listens on port ${port} of the pod, or the pod does not run.`,
    code: 'pod_not_listening',
  });
}

/** Returns 400: the bytes after the request could be its body or the first bytes of the new protocol. */
export function upgradeWithBody(): LbError {
  return new LbError(400, {
    error: 'A request that asks for a WebSocket cannot have a body.',
    code: 'invalid_request',
  });
}

/** Returns 404: the worker that the client requires is gone. */
export function workerGone(): LbError {
  const error =
    'The worker that X-Runpod-Worker-Id names is not there any more; send the request without the header ' +
    'to get another one.';
  return new LbError(404, { error, reason: 'affinity_worker_gone', code: 'affinity_worker_gone' });
}

/** Returns 400: the worker that the client requires did not become ready in time. */
export function workerTimeout(): LbError {
  const error = 'The worker that X-Runpod-Worker-Id names did not become ready in time.';
  return new LbError(400, { error, reason: 'worker_timeout', code: 'worker_timeout' });
}

/** Returns 503: no worker had capacity in time. */
export function noWorkers(): LbError {
  return new LbError(503, { error: 'no workers available', code: 'no_workers_available' }, 5);
}

/** Owners of a queue that can be full. */
type QueueOwner = 'endpoint' | 'account' | 'service';

/** Created once: an error records its stack, and thousands of requests may be rejected at a time. */
const QUEUE_FULL = {
  endpoint: newQueueFull('endpoint'),
  account: newQueueFull('account'),
  service: newQueueFull('service'),
} satisfies Record<QueueOwner, LbError>;

/** Returns 429 or 503: the queue of the endpoint, the account or the service is full. */
export function queueFull(whose: QueueOwner): LbError {
  return QUEUE_FULL[whose];
}

function newQueueFull(whose: QueueOwner): LbError {
  return new LbError(
    whose === 'service' ? 503 : 429,
    { error: `Too many requests of this ${whose} wait for a worker; try again shortly.`, code: 'queue_full' },
    1,
  );
}

/** Returns whether an error is a rejection because too many requests wait. */
export function isQueueFull(error: unknown): boolean {
  return error instanceof LbError && error.body.code === 'queue_full';
}

/** Returns 413: the body of the request or the response is too large. */
export function payloadTooLarge(what: 'request' | 'response'): LbError {
  return new LbError(413, { error: `The ${what} body is larger than 30 MB.`, code: 'payload_too_large' });
}

/** Returns 504: the worker did not answer in time. */
export function processingTimeout(): LbError {
  return new LbError(504, { error: 'The worker did not answer in time.', code: 'processing_timeout' });
}

/** Returns 502: the connection to the worker ended before the response. */
export function workerFailed(): LbError {
  const error =
    'The worker ended the connection before it answered. The request may have been begun and is not repeated.';
  return new LbError(502, { error, code: 'worker_failed' });
}

/** Returns 502: the status of the response is invalid. */
export function protocolError(): LbError {
  return new LbError(502, {
    error: 'The worker did not answer with a final HTTP status, which is 200 or more.',
    code: 'worker_failed',
  });
}

/** Returns 502: the headers of the response are too large. */
export function headerOverflow(): LbError {
  const error =
    `The headers of the worker's answer are too large: at most ${LB_ANSWER_HEADER_BYTES_MAX} bytes and ` +
    `${LB_ANSWER_HEADERS_MAX} headers.`;
  return new LbError(502, { error, code: 'worker_failed' });
}

/** Converts any error. */
export function toLbError(error: unknown): LbError {
  if (error instanceof LbError) return error;
  const shown = publicError(error instanceof CoreError ? error : new CoreError('INTERNAL', String(error)));
  return new LbError(shown.status, { error: shown.text, code: shown.code }, shown.retryAfterSeconds);
}

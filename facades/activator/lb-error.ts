/** What clients of load-balancing endpoints get when it is not the worker that answers (docs/reference/api.md#load-balancing). */
import type { ErrorCode } from '../../proto/wire/error-help.ts';
import { LB_ANSWER_HEADER_BYTES_MAX, LB_ANSWER_HEADERS_MAX } from '../../proto/wire/limits.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { publicError } from '../plugins/public-error.ts';

/** Body of a refusal. Ours have a code; those of keys have the shape of the public service. */
type LbBody = Readonly<{ code?: ErrorCode } & Record<string, unknown>>;

/** A refusal with its body. */
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
}

/** The key is missing or does not do. */
export function notAllowed(detail: 'no token provided' | 'invalid api key'): LbError {
  return new LbError(401, { status: 401, title: 'Unauthorized', detail });
}

/** A worker is ready now, but not for a facade. */
export function needsEdge(): LbError {
  const error = 'The workers of this endpoint speak HTTP/2 (a grpc port): only an edge carries requests to them. Through one, send it again.';
  return new LbError(503, { error, code: 'needs_edge' }, 1);
}

/** By path nobody reaches a pod without one. */
export function noPodKey(): LbError {
  return new LbError(401, { error: 'A port of a pod needs a key of its account: Authorization: Bearer KEY.', code: 'unauthorized' });
}

/** The pod does not run, or its program does not listen there. */
export function podSilent(port: number): LbError {
  return new LbError(502, { error: `Nobody listens on port ${port} of the pod, or it does not run.`, code: 'pod_not_listening' });
}

/** What follows the request could be its body, or the first bytes of the other protocol. */
export function upgradeWithBody(): LbError {
  return new LbError(400, { error: 'A request that asks for a WebSocket cannot have a body.', code: 'invalid_request' });
}

/** The worker that a client insists on is not there any more. */
export function workerGone(): LbError {
  const error = 'The worker that X-Runpod-Worker-Id names is not there any more; send the request without the header to get another one.';
  return new LbError(404, { error, reason: 'affinity_worker_gone', code: 'affinity_worker_gone' });
}

/** The worker that a client insists on did not become ready. */
export function workerTimeout(): LbError {
  const error = 'The worker that X-Runpod-Worker-Id names did not become ready in time.';
  return new LbError(400, { error, reason: 'worker_timeout', code: 'worker_timeout' });
}

/** Nobody could take the request. */
export function noWorkers(): LbError {
  return new LbError(503, { error: 'no workers available', code: 'no_workers_available' }, 5);
}

/** Too many wait already. */
export function tooManyWait(whose: 'endpoint' | 'account' | 'service'): LbError {
  const status = whose === 'service' ? 503 : 429;
  return new LbError(status, { error: `Too many requests of this ${whose} wait for a worker; try again shortly.`, code: 'queue_full' }, 1);
}

/** The request or the answer is larger than may be. */
export function tooLarge(what: 'request' | 'response'): LbError {
  return new LbError(413, { error: `The ${what} body is larger than 30 MB.`, code: 'payload_too_large' });
}

/** The worker took too long. */
export function tooSlow(): LbError {
  return new LbError(504, { error: 'The worker did not answer in time.', code: 'processing_timeout' });
}

/** The worker ended, or its connection did, before it answered. */
export function workerFailed(): LbError {
  const error = 'The worker ended the connection before it answered. The request may have been begun and is not repeated.';
  return new LbError(502, { error, code: 'worker_failed' });
}

/** What the worker sent is no answer to anything. */
export function noHttp(): LbError {
  return new LbError(502, { error: 'The worker did not answer with a final HTTP status, which is 200 or more.', code: 'worker_failed' });
}

/** Its answer begins with more than anybody takes. */
export function wordyWorker(): LbError {
  const error = `The headers of the worker's answer are too large: at most ${LB_ANSWER_HEADER_BYTES_MAX} bytes and ${LB_ANSWER_HEADERS_MAX} headers.`;
  return new LbError(502, { error, code: 'worker_failed' });
}

/** Any failure as one of these. */
export function toLbError(error: unknown): LbError {
  if (error instanceof LbError) return error;
  const shown = publicError(error instanceof CoreError ? error : new CoreError('INTERNAL', String(error)));
  return new LbError(shown.status, { error: shown.text, code: shown.code }, shown.retryAfterSeconds);
}

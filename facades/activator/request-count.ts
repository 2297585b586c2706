/** Counts one request to a load-balancing endpoint: who served it, how it ended, how long it took, and its bytes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EndedRequest, RequestOutcome } from '@slipway/kit/observe/request-counts';
import { FAILED_PATH_LENGTH_MAX, outcomeOf } from '@slipway/kit/observe/request-counts';
import type { Clock } from '@slipway/kit/time/clock';
import type { FailedRequest } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { toLbError } from './lb-error.ts';
import type { LbTarget } from './lb-target.ts';

/** Receives each request when it has ended. `failed` is set if it failed. */
export type RequestListener = (
  where: { endpointId: string; apiKey: string; workerId: string },
  ended: EndedRequest,
  failed?: FailedRequest,
) => void;

interface RequestParts {
  request: IncomingMessage;
  reply: ServerResponse;
  target: LbTarget;
  apiKey: string;
  gone: AbortSignal;
  clock: Clock;
  listener: RequestListener;
}

/** Status of an own answer from which the request counts as failed, besides broken ones: too many wait. */
const REJECTED_MIN = 429;

export class RequestCount {
  readonly #parts: RequestParts;
  readonly #startedAtMs: number;
  #ended = false;
  /** Worker that has the request. Empty: none. */
  workerId = '';
  #bytesIn = 0;
  #bytesOut = 0;
  #isBroken = false;

  constructor(parts: RequestParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonicMs();
  }

  /** Adds bytes of the request's body. */
  addIn(bytes: number): void {
    this.#bytesIn += bytes;
  }

  /** Adds bytes of the response's body. */
  addOut(bytes: number): void {
    this.#bytesOut += bytes;
  }

  /** Records that the response broke off. */
  break(): void {
    this.#isBroken = true;
  }

  /** Reports a request that a worker answered, or whose client left. */
  end(): void {
    const { reply, gone } = this.#parts;
    if (this.#isBroken) this.#report('BROKEN', 0, 'connection_broken');
    else if (gone.aborted && !reply.writableEnded) this.#report('ABANDONED', 0, '');
    else this.#report(outcomeOf(reply.statusCode), reply.statusCode, '');
  }

  /** Reports a request whose connection was switched to another protocol. */
  join(): void {
    this.#report('SUCCEEDED', 101, '');
  }

  /** Reports a request that this service rejected. */
  reject(error: unknown): void {
    const { status, code } = toLbError(error);
    if (this.#parts.gone.aborted) this.#report('ABANDONED', 0, '');
    else this.#report(outcomeOf(status), status, code);
  }

  #report(outcome: RequestOutcome, status: number, cause: string): void {
    if (this.#ended) return;
    this.#ended = true;
    const { request, target, apiKey, clock, listener } = this.#parts;
    const { workerId } = this;
    const durationMs = Math.round(clock.monotonicMs() - this.#startedAtMs);
    const isFailed = outcome === 'BROKEN' || outcome === 'SERVER_ERROR' || (cause !== '' && status >= REJECTED_MIN);
    const [path = '', query] = target.path.split('?', 2);
    listener(
      { endpointId: target.endpointId, apiKey, workerId },
      { outcome, bytesIn: this.#bytesIn, bytesOut: this.#bytesOut, durationMs },
      isFailed
        ? {
            time: new Date(clock.nowMs()),
            method: request.method ?? '',
            path: path.slice(0, FAILED_PATH_LENGTH_MAX),
            hasQuery: query !== undefined,
            status,
            durationMs,
            workerId,
            cause,
          }
        : undefined,
    );
  }
}

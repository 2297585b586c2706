/**
 * Delays a response until the rest of the request body has been read and discarded, behind an edge. Envoy closes the
 * connection when a response is complete before its request, and a client that sends everything first would see a
 * broken connection instead of the response. Without an edge the response is sent at once and the rest is read
 * afterwards.
 */
import type { IncomingMessage } from 'node:http';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import { EDGE_HEADER, isEdgeText } from '@slipway/kit/net/activation';
import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';

/** Most bytes that are discarded, and longest time in milliseconds; then the response is sent anyway. */
const DISCARD_BYTES_MAX = 64 * 1024 * 1024;
const DISCARD_MS_MAX = 20_000;

export class ReadBeforeAnswer {
  readonly #edgeKeys: EdgeKeys;
  readonly #clock: Clock;

  /** Delays all responses of an app's handlers. `edgeKeys`: if there are none, nothing is delayed. */
  constructor(app: FastifyInstance, edgeKeys: EdgeKeys, clock: Clock) {
    this.#edgeKeys = edgeKeys;
    this.#clock = clock;
    if (edgeKeys.length === 0) return;
    app.addHook('onSend', (request, _reply, _payload, done) => {
      if (this.mustWait(request.raw)) void this.read(request.raw).then(() => done());
      else done();
    });
  }

  /** Returns whether the response has to wait. A client with `Expect` may send no body. */
  mustWait(request: IncomingMessage): boolean {
    const { [EDGE_HEADER]: edge, expect, upgrade } = request.headers;
    if (request.complete || expect !== undefined || upgrade !== undefined) return false;
    return typeof edge === 'string' && isEdgeText(this.#edgeKeys, edge);
  }

  /** Resolves when the body has been read to its end or its bound, or the client has gone. Never rejects. */
  read(request: IncomingMessage): Promise<void> {
    return new Promise((resolve) => {
      let bytes = 0;
      const end = (): void => {
        timer.cancel();
        for (const name of ['end', 'close', 'error']) request.off(name, end);
        request.off('data', count);
        resolve();
      };
      const count = (piece: Buffer): void => {
        bytes += piece.length;
        if (bytes > DISCARD_BYTES_MAX) end();
      };
      const timer = this.#clock.after(DISCARD_MS_MAX, end);
      for (const name of ['end', 'close', 'error']) request.once(name, end);
      request.on('data', count);
      request.resume();
      if (request.readableEnded || request.destroyed) end();
    });
  }
}

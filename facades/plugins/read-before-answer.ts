/**
 * Delays a response until the rest of the request body has been read and discarded, behind a proxy. Envoy closes the
 * connection, or over HTTP/2 the stream, when a response is complete before its request, and a client that is still
 * sending would see that instead of the response. Without a proxy the response is sent at once and the rest is read
 * afterwards (connections/lingering-close.ts).
 */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import { DISCARD_BYTES_MAX, DISCARD_MS_MAX, SILENCE_MS_MAX } from './connections/lingering-close.ts';

/**
 * Headers of requests that come through a proxy, as every edge sends one. Nothing proves them: a client that sends one
 * itself only gets its own response later.
 */
const OF_PROXIES = new Set(['x-forwarded-for', 'forwarded', 'via']);

export class ReadBeforeAnswer {
  readonly #clock: Clock;
  readonly #silenceMs: number;

  /** Delays responses of an app's handlers. `idleMs`: longest time without a byte of a body, at most 5 s. */
  constructor(app: FastifyInstance, clock: Clock, idleMs: number) {
    this.#clock = clock;
    this.#silenceMs = Math.min(SILENCE_MS_MAX, idleMs);
    app.addHook('onSend', (request, _reply, _payload, done) => {
      if (this.mustWait(request.raw)) void this.read(request.raw).then(() => done());
      else done();
    });
  }

  /** Returns whether the response has to wait. A client with `Expect` may send no body. */
  mustWait(request: IncomingMessage): boolean {
    const { complete, headers, rawHeaders } = request;
    if (complete || headers.expect !== undefined || headers.upgrade !== undefined) return false;
    // Headers that cannot be trusted have been removed from `headers`.
    return rawHeaders.some((name, at) => at % 2 === 0 && OF_PROXIES.has(name.toLowerCase()));
  }

  /**
   * Resolves when the body has been read to its end, or up to a bound, or the client has gone. The response is sent in
   * each case. Never rejects.
   */
  read(request: IncomingMessage): Promise<void> {
    return new Promise((resolve) => {
      let bytes = 0;
      const end = (): void => {
        timer.cancel();
        silence.cancel();
        for (const name of ['end', 'close', 'error']) request.off(name, end);
        request.off('data', count);
        resolve();
      };
      const count = (piece: Buffer): void => {
        bytes += piece.length;
        silence.cancel();
        if (bytes > DISCARD_BYTES_MAX) end();
        else silence = this.#clock.after(this.#silenceMs, end);
      };
      let silence = this.#clock.after(this.#silenceMs, end);
      const timer = this.#clock.after(DISCARD_MS_MAX, end);
      for (const name of ['end', 'close', 'error']) request.once(name, end);
      request.on('data', count);
      request.resume();
      if (request.readableEnded || request.destroyed) end();
    });
  }
}

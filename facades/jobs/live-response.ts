/** Writes a response piece by piece with backpressure. */
import { once } from 'node:events';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { FastifyReply } from 'fastify';
import { HEARTBEAT } from './sse.ts';

export class LiveResponse {
  readonly #reply: FastifyReply;
  readonly #gone = new AbortController();
  readonly #onGone: (() => void)[] = [];
  #started = false;

  constructor(reply: FastifyReply) {
    this.#reply = reply;
    const leave = (): void => {
      this.#gone.abort();
      for (const fn of this.#onGone.splice(0)) fn();
    };
    if (reply.raw.closed) leave();
    else reply.raw.once('close', leave);
  }

  /** Returns whether the client has disconnected or the response has ended. */
  get closed(): boolean {
    return this.#gone.signal.aborted;
  }

  /** Returns whether the status line was sent: errors can then only be reported in the body. */
  get started(): boolean {
    return this.#started;
  }

  /** Calls `fn` once when the client disconnects, or at once if it already has. Call the result to unregister. */
  whenGone(fn: () => void): () => void {
    if (this.closed) {
      fn();
      return () => undefined;
    }
    this.#onGone.push(fn);
    return () => {
      const index = this.#onGone.indexOf(fn);
      if (index >= 0) this.#onGone.splice(index, 1);
    };
  }

  /** Sends status 200 and the headers. */
  start(contentType: string): void {
    this.#started = true;
    this.#reply.hijack();
    this.#reply.raw.writeHead(200, {
      'content-type': contentType,
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    this.#reply.raw.flushHeaders();
  }

  /**
   * Sends the headers and a comment after `firstMs`, and a comment every `everyMs`, while nothing else is written:
   * proxies close silent connections. Returns a function that stops it. That must be called before the first chunk,
   * because a comment inside an event would break the event.
   */
  keepAlive(clock: Clock, { firstMs, everyMs }: { firstMs: number; everyMs: number }, contentType: string): () => void {
    const beat = (): void => {
      if (this.closed) return;
      if (!this.#started) this.start(contentType);
      this.#reply.raw.write(HEARTBEAT);
      timer = clock.after(everyMs, beat);
    };
    let timer: Timer = clock.after(firstMs, beat);
    return () => timer.cancel();
  }

  /** Writes a piece. Resolves when more may be written, or when the client has disconnected. */
  async write(piece: string | Buffer): Promise<void> {
    if (this.closed || this.#reply.raw.write(piece)) return;
    await once(this.#reply.raw, 'drain', { signal: this.#gone.signal }).catch(() => undefined);
  }

  /** Ends the response. */
  end(): void {
    if (!this.closed) this.#reply.raw.end();
  }
}

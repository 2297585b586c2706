/**
 * A request that is held open until there is something to say, or for at most 20 s
 * (docs/reference/worker-protocol.md#taking-jobs).
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { bytesIn, smallJoined } from 'slipway-worker/frames';
import { onceOver } from './connection-use.ts';

/** How long a poll is held before it is answered 204, in milliseconds. The shortest client limit is 30 s. */
const POLL_HOLD_MS = 20_000;

export class LongPoll {
  /** By the steady clock. */
  readonly openedAtMs: number;
  readonly #response: ServerResponse;
  /** The response has none any more once it is answered. */
  readonly #socket: Socket;
  readonly #timer: Timer;
  readonly #onClosed: () => void;
  #open = true;

  /** `onClosed` is called once, when it is answered or its client has left. */
  constructor(options: { response: ServerResponse; clock: Clock; onClosed: () => void; holdMs?: number }) {
    this.#response = options.response;
    this.#socket = options.response.req.socket;
    this.#onClosed = options.onClosed;
    this.openedAtMs = options.clock.monotonicMs();
    this.#timer = options.clock.after(options.holdMs ?? POLL_HOLD_MS, () => this.empty());
    options.response.once('close', () => this.#close());
    // A response whose client has left emits an error when it is written to; its close tells all there is to know.
    options.response.on('error', () => {});
  }

  /** It can still be answered. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Answers 204: nothing to say. Harmless when it is closed. */
  empty(): void {
    if (!this.#open) return;
    this.#close();
    this.#response.writeHead(204).end();
  }

  /**
   * Answers with a JSON body. Resolves to true once the operating system has all of it, to false when the client left
   * before.
   */
  answer(body: readonly Uint8Array[], headers?: Record<string, string>): Promise<boolean> {
    if (!this.#open) return Promise.resolve(false);
    this.#close();
    return new Promise((resolve) => {
      this.#response.once('finish', () => resolve(true));
      this.#response.once('close', () => resolve(this.#response.writableFinished));
      // The Python SDK wants exactly this content type (docs/reference/worker-protocol.md#taking-jobs).
      this.#response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': bytesIn(body),
        ...headers,
      });
      const writes = smallJoined(body);
      const last = writes.pop();
      for (const bytes of writes) this.#response.write(bytes);
      this.#response.end(last);
    });
  }

  /**
   * Calls `listener` once the connection of an answer carries another request, or has ended. To be called after the
   * answer.
   */
  onOver(listener: () => void): void {
    onceOver(this.#socket, listener);
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#timer.cancel();
    this.#onClosed();
  }
}

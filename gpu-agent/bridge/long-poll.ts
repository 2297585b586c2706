/**
 * A request that is held open until there is an answer, or for at most 20 s
 * (docs/reference/worker-protocol.md#taking-jobs).
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { bytesIn, smallJoined } from 'slipway-worker/frames';
import { onceOver } from './connection-use.ts';

/** Time after which a poll is answered 204, in milliseconds. The shortest client limit is 30 s. */
const POLL_HOLD_MS = 20_000;

export class LongPoll {
  /** By the monotonic clock. */
  readonly openedAtMs: number;
  readonly #response: ServerResponse;
  /** Kept here, because an answered response no longer has its socket. */
  readonly #socket: Socket;
  readonly #timer: Timer;
  readonly #onClosed: () => void;
  #open = true;

  /** `onClosed` is called once, when the poll is answered or its client has left. */
  constructor(options: { response: ServerResponse; clock: Clock; onClosed: () => void; holdMs?: number }) {
    this.#response = options.response;
    this.#socket = options.response.req.socket;
    this.#onClosed = options.onClosed;
    this.openedAtMs = options.clock.monotonicMs();
    this.#timer = options.clock.after(options.holdMs ?? POLL_HOLD_MS, () => this.empty());
    options.response.once('close', () => this.#close());
    // A response whose client has left emits an error on a write. Its close event is all we need.
    options.response.on('error', () => {});
  }

  /** True if it can still be answered. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Sends a 204: there is nothing. Does nothing if it is closed. */
  empty(): void {
    if (!this.#open) return;
    this.#close();
    this.#response.writeHead(204).end();
  }

  /**
   * Sends a JSON body. Resolves to true once the operating system has all of it, to false if the client left
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
   * Calls `listener` once the connection of an answer carries another request, or has ended. Must be called after the
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

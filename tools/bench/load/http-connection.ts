/**
 * One keep-alive HTTP/1.1 connection that sends the same requests again and again. It is written by hand without
 * objects for headers, streams and promises, so that generating the load costs much less than serving it.
 */

import type { Socket } from 'node:net';
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

/** Called for every answer with its status, the milliseconds since the request was sent, and the body. */
type OnAnswer = (status: number, ms: number, body: Buffer) => void;

export class HttpConnection {
  readonly #socket: Socket;
  readonly #requests: readonly Buffer[];
  #turn = 0;
  readonly #onAnswer: OnAnswer;
  #received: Buffer = Buffer.alloc(0);
  /** Pieces of an answer after `received`, and the number of bytes needed before it is worth parsing. */
  #more: Buffer[] = [];
  #bytes = 0;
  #needed = 0;
  #sentAt = 0;
  #waiting = false;
  readonly #again: boolean;
  #stopped = false;
  readonly closed: Promise<void>;

  /** `again`: the next request is sent after each answer. Otherwise `start` sends each request. */
  constructor(host: string, port: number, requests: readonly Buffer[], onAnswer: OnAnswer, again = true) {
    this.#again = again;
    this.#requests = requests;
    this.#onAnswer = onAnswer;
    this.#socket = connect({ host, port, noDelay: true });
    this.#socket.on('data', (data) => this.#receive(data));
    this.closed = new Promise((resolve, reject) => {
      this.#socket.on('close', () => {
        if (this.#waiting) reject(new Error('the server closed a connection in the middle'));
        else resolve();
      });
      this.#socket.on('error', reject);
    });
  }

  /** True while the connection waits for an answer. */
  get busy(): boolean {
    return this.#waiting;
  }

  /** Sends a request. */
  start(): void {
    this.#send();
  }

  /** Sends no more requests. `closed` resolves after the last answer. */
  stop(): void {
    this.#stopped = true;
    if (!this.#again && !this.#waiting) this.#socket.end();
  }

  #send(): void {
    this.#waiting = true;
    this.#sentAt = performance.now();
    this.#socket.write(this.#requests[this.#turn++ % this.#requests.length]!);
  }

  #receive(data: Buffer): void {
    this.#more.push(data);
    this.#bytes += data.length;
    if (this.#bytes < this.#needed) return;
    this.#received = this.#more.length === 1 ? data : Buffer.concat(this.#more);
    this.#more = [this.#received];
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = this.#received.toString('latin1', 0, headEnd);
    const length = /\r\ncontent-length: (\d+)/i.exec(head);
    if (!length) throw new Error(`an answer without content-length: ${head}`);
    const bodyStart = headEnd + HEAD_END.length;
    const end = bodyStart + Number(length[1]);
    this.#needed = end;
    if (this.#received.length < end) return;
    this.#waiting = false;
    this.#onAnswer(
      Number(head.slice(9, 12)),
      performance.now() - this.#sentAt,
      this.#received.subarray(bodyStart, end),
    );
    this.#more = this.#received.length === end ? [] : [this.#received.subarray(end)];
    this.#bytes = this.#received.length - end;
    this.#needed = 0;
    if (this.#stopped) this.#socket.end();
    else if (this.#again) this.#send();
  }
}

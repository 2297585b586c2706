/**
 * One keep-alive HTTP/1.1 connection that sends the same request again and again. Written by hand, so that generating the load costs a
 * small part of serving it: no headers objects, no streams, no promises.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

/** Called for every answer: status, milliseconds since the request was sent, body. */
export type OnAnswer = (status: number, ms: number, body: Buffer) => void;

export class HttpConnection {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #onAnswer: OnAnswer;
  #received: Buffer = Buffer.alloc(0);
  #sentAt = 0;
  #waiting = false;
  readonly #again: boolean;
  #stopped = false;
  readonly closed: Promise<void>;

  /** `again`: each answer is followed by the next request; else `start` sends each one. */
  constructor(host: string, port: number, request: Buffer, onAnswer: OnAnswer, again = true) {
    this.#again = again;
    this.#request = request;
    this.#onAnswer = onAnswer;
    this.#socket = connect({ host, port, noDelay: true });
    this.#socket.on('data', (data) => this.#receive(data));
    this.closed = new Promise((resolve, reject) => {
      this.#socket.on('close', () => { if (this.#waiting) reject(new Error('the server closed a connection in the middle')); else resolve(); });
      this.#socket.on('error', reject);
    });
  }

  /** It waits for an answer. */
  get busy(): boolean {
    return this.#waiting;
  }

  /** Sends. */
  start(): void {
    this.#send();
  }

  /** Sends nothing more; `closed` resolves after the last answer. */
  stop(): void {
    this.#stopped = true;
    if (!this.#again && !this.#waiting) this.#socket.end();
  }

  #send(): void {
    this.#waiting = true;
    this.#sentAt = performance.now();
    this.#socket.write(this.#request);
  }

  #receive(data: Buffer): void {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = this.#received.toString('latin1', 0, headEnd);
    const length = /\r\ncontent-length: (\d+)/i.exec(head);
    if (!length) throw new Error(`an answer without content-length: ${head}`);
    const bodyStart = headEnd + HEAD_END.length;
    const end = bodyStart + Number(length[1]);
    if (this.#received.length < end) return;
    this.#waiting = false;
    this.#onAnswer(Number(head.slice(9, 12)), performance.now() - this.#sentAt, this.#received.subarray(bodyStart, end));
    this.#received = this.#received.subarray(end);
    if (this.#stopped) this.#socket.end();
    else if (this.#again) this.#send();
  }
}

/** The worker's end of the link to its agent: calls and their answers on one connection (frames.ts). */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Answer, FrameReader, FrameWriter, LINK_PROTOCOL } from './frames.ts';
import { request } from './node-http.ts';

/** Longest time for the agent to open a link, in milliseconds. */
const OPEN_MS_MAX = 10_000;

interface Waiting {
  resolve(answer: { empty: boolean; body: Buffer }): void;
  reject(error: Error): void;
}

export class AgentLink {
  readonly #socket: Duplex;
  readonly #reader = new FrameReader();
  readonly #writer: FrameWriter;
  readonly #calls = new Map<number, Waiting>();
  #call = 0;

  private constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    this.#writer = new FrameWriter(socket, setImmediate);
    socket.on('data', (piece: Buffer) => this.#receive(piece));
    // The close event follows.
    socket.on('error', () => {});
    socket.once('close', () => this.#fail(new Error('the link to the agent has broken')));
    if (head.length > 0) this.#receive(head);
  }

  /** Opens a link; `undefined` if this agent does not support links. Rejects if the agent cannot be reached. */
  static open(url: string, headers: Record<string, string>): Promise<AgentLink | undefined> {
    return new Promise((resolve, reject) => {
      const call = request(url, {
        agent: false,
        timeout: OPEN_MS_MAX,
        headers: { ...headers, connection: 'Upgrade', upgrade: LINK_PROTOCOL },
      });
      call.once(
        'upgrade',
        (
          _: IncomingMessage,
          socket: Duplex & { setNoDelay?(on: boolean): void; setTimeout?(ms: number): void },
          head: Buffer,
        ) => {
          socket.setNoDelay?.(true);
          socket.setTimeout?.(0);
          resolve(new AgentLink(socket, head));
        },
      );
      call.once('response', (response) => {
        response.resume();
        resolve(undefined);
      });
      call.once('timeout', () => call.destroy(new Error('the agent did not open a link in time')));
      call.once('error', reject);
      call.end();
    });
  }

  /** True if calls can be made. */
  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** Calls the agent. Rejects if the agent could not handle the call, or if the link breaks before the answer. */
  ask(kind: number, name: string, flag = 0, body = ''): Promise<{ empty: boolean; body: Buffer }> {
    if (!this.isOpen) return Promise.reject(new Error('the link to the agent has broken'));
    this.#call = (this.#call + 1) % 2 ** 32;
    const call = this.#call;
    return new Promise((resolve, reject) => {
      this.#calls.set(call, { resolve, reject });
      this.#writer.add({ call, kind, flag, name, body });
    });
  }

  #receive(piece: Buffer): void {
    try {
      for (const { call, flag, body } of this.#reader.push(piece)) {
        const waiting = this.#calls.get(call);
        this.#calls.delete(call);
        if (flag === Answer.FAILED) waiting?.reject(new Error('the agent could not do it'));
        else waiting?.resolve({ empty: flag === Answer.EMPTY, body });
      }
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #fail(error: Error): void {
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }
}

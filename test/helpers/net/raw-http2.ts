/** An HTTP/2 client that writes its frames itself, so that it can break rules that every library keeps. */

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const HEAD_BYTES = 9;
const TYPES = { headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7 } as const;
const ACK = 1;
const END_HEADERS = 4;
/** Identifier of the setting SETTINGS_MAX_CONCURRENT_STREAMS. */
const STREAMS_MAX = 3;
/** Code of a reset stream that the server did not process. */
const REFUSED_STREAM = 7;
/** Frames that are written before the server is asked whether it has read them. */
const AT_ONCE = 500;

export class RawHttp2 {
  /** Streams that the server refused, and streams that it reset for another reason. */
  readonly refused = new Set<number>();
  readonly reset = new Set<number>();
  /** The announced limit of open streams. `undefined` before the server's settings. */
  streamsMax: number | undefined;
  /** Whether the server has ended the connection. */
  isEnded = false;
  readonly #socket: Socket;
  #pings: (() => void)[] = [];
  #received = Buffer.alloc(0);
  #opened = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', () => undefined);
    socket.once('close', () => this.#end());
  }

  /** Connects to a server without TLS and sends empty settings. Never acknowledges the server's settings by itself. */
  static async connect(host: string, port: number): Promise<RawHttp2> {
    const socket = connect(port, host);
    await once(socket, 'connect');
    const client = new RawHttp2(socket);
    client.#socket.write(PREFACE);
    client.#write(TYPES.settings, 0, 0);
    await client.ping();
    return client;
  }

  /** Number of streams opened by this client that the server did not reset. */
  get held(): number {
    return this.#opened - this.refused.size - this.reset.size;
  }

  /** Acknowledges the server's settings. */
  acknowledge(): void {
    this.#write(TYPES.settings, ACK, 0);
  }

  /** Begins `count` requests whose bodies never come. Returns when the server has read them or ended the connection. */
  async openStreams(count: number, headers: Record<string, string>): Promise<void> {
    const block = headerBlock(headers);
    for (let begun = 0; begun < count && !this.isEnded; begun += 1) {
      this.#write(TYPES.headers, END_HEADERS, 2 * this.#opened + 1, block);
      this.#opened += 1;
      if (begun % AT_ONCE === AT_ONCE - 1) await this.ping();
    }
    await this.ping();
  }

  /** Resolves when the server has read everything sent before, or has ended the connection. */
  async ping(): Promise<void> {
    if (this.isEnded) return;
    await new Promise<void>((resolve) => {
      this.#pings.push(resolve);
      this.#write(TYPES.ping, 0, 0, Buffer.alloc(8));
    });
  }

  /** Ends the connection. */
  close(): void {
    this.#socket.destroy();
  }

  #write(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): void {
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    this.#socket.write(Buffer.concat([head, payload]));
  }

  #read(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (;;) {
      if (this.#received.length < HEAD_BYTES) return;
      const end = HEAD_BYTES + this.#received.readUIntBE(0, 3);
      if (this.#received.length < end) return;
      const frame = this.#received.subarray(0, end);
      this.#received = this.#received.subarray(end);
      this.#take(frame[3]!, frame[4]!, frame.readUInt32BE(5), frame.subarray(HEAD_BYTES));
    }
  }

  #take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === TYPES.reset) (payload.readUInt32BE() === REFUSED_STREAM ? this.refused : this.reset).add(stream);
    if (type === TYPES.goaway) this.#end();
    if (type === TYPES.ping && flags === ACK) this.#pings.shift()?.();
    if (type !== TYPES.settings) return;
    for (let at = 0; at < payload.length; at += 6)
      if (payload.readUInt16BE(at) === STREAMS_MAX) this.streamsMax = payload.readUInt32BE(at + 2);
  }

  #end(): void {
    this.isEnded = true;
    for (const done of this.#pings.splice(0)) done();
  }
}

/** Encodes headers without compression, each as a literal with a new name (RFC 7541, 6.2.2). */
function headerBlock(headers: Record<string, string>): Buffer {
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]),
  );
}

function literal(text: string): Buffer {
  if (text.length > 126) throw new Error('a longer text has a length of several bytes');
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
}

/** Sends HTTP as bytes on a socket, for requests that no client would send. */

import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** A request as bytes. */
export interface RawRequest {
  /** Bytes in the order of sending. */
  pieces: (string | Uint8Array)[];
  /** Pause between two pieces, in milliseconds. Default: 0, all at once. */
  pauseMs?: number;
}

/** The answer to a raw request. */
export interface RawAnswer {
  /** 0 if the connection ended without an answer. */
  status: number;
  headers: Map<string, string>;
  text: string;
  /** The body as JSON. `undefined` if it is not JSON. */
  json: Record<string, unknown> | undefined;
}

/** Sends a request. Returns the first whole answer, or the bytes received when the connection ends. */
export async function exchange(url: string, { pieces, pauseMs = 0 }: RawRequest): Promise<RawAnswer> {
  const socket = open(url);
  try {
    const answer = receive(socket);
    await Promise.race([send(socket, pieces, pauseMs), answer]);
    return await answer;
  } finally {
    socket.destroy();
  }
}

/** Sends a request and disconnects without waiting for an answer. Resolves when the connection is closed. */
export async function sendAndLeave(url: string, { pieces, pauseMs = 0 }: RawRequest): Promise<void> {
  const socket = open(url);
  await send(socket, pieces, pauseMs);
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  socket.destroy();
  await closed;
}

/**
 * Sends the same request `count` times over a few connections, one after the other on each. This is far faster than any
 * client. Returns the number of answers by status.
 */
export async function flood(
  url: string,
  request: Uint8Array,
  count: number,
  connections = 8,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let left = count;
  await Promise.all(
    Array.from(
      { length: Math.min(connections, count) },
      () =>
        new Promise<void>((resolve) => {
          const socket = open(url);
          const next = (): void => {
            if (left === 0) return void socket.destroy();
            left -= 1;
            socket.write(request);
          };
          let bytes = Buffer.alloc(0);
          socket.on('data', (piece: Buffer) => {
            bytes = Buffer.concat([bytes, piece]);
            const answer = parse(bytes);
            if (!answer) return;
            statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
            bytes = Buffer.alloc(0);
            next();
          });
          socket.once('close', () => resolve());
          next();
        }),
    ),
  );
  return statuses;
}

/** Returns the text of a request with a correct content-length; `headers` override the default ones. */
export function requestText(method: string, path: string, headers: Record<string, string>, body: Uint8Array): Buffer {
  const all: Record<string, string> = {
    host: 'slipway',
    connection: 'close',
    'content-length': String(body.length),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'), body]);
}

/** Opens a connection to a URL's host, over TLS if the URL says so. Errors are ignored; the connection just closes. */
export function open(url: string): Socket {
  const { protocol, hostname, port } = new URL(url);
  const to = { port: Number(port), host: hostname, noDelay: true };
  const socket = protocol === 'https:' ? connectTls(to) : connect(to);
  socket.on('error', () => undefined);
  return socket;
}

async function send(socket: Socket, pieces: (string | Uint8Array)[], pauseMs: number): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    if (index > 0 && pauseMs > 0)
      await new Promise((resolve) => {
        setTimeout(resolve, pauseMs);
      });
    if (socket.destroyed) return;
    await new Promise((resolve) => {
      socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece, resolve);
    });
  }
}

function receive(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    socket.on('data', (piece: Buffer) => {
      bytes = Buffer.concat([bytes, piece]);
      const answer = parse(bytes);
      if (answer) resolve(answer);
    });
    socket.once('close', () => resolve(parse(bytes) ?? { status: 0, headers: new Map(), text: '', json: undefined }));
  });
}

/** Returns the answer when it is complete; interim answers (100 Continue) are skipped. */
function parse(bytes: Buffer): RawAnswer | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(first!.split(' ')[1]);
  if (status < 200) return parse(bytes.subarray(end + 4));
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = bytes.subarray(end + 4);
  if (body.length < Number(headers.get('content-length') ?? 0)) return undefined;
  const text = body.toString();
  return { status, headers, text, json: asJson(text) };
}

function asJson(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

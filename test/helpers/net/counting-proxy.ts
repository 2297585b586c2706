/** A TCP proxy before PostgreSQL that counts the statements of one process by their text. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { Test } from 'tap';

/** Length of a message's type and of its length, in bytes. */
const TYPE_BYTES = 1;
const LENGTH_BYTES = 4;

export type CountingProxy = Awaited<ReturnType<typeof countingProxy>>;

/** Starts one before the server of a postgres:// URL; it ends with the test. */
export async function countingProxy(t: Test, url: string) {
  const target = new URL(url);
  const counts = new Map<string, number>();
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const reader = new StatementReader((text) => {
      counts.set(text, (counts.get(text) ?? 0) + 1);
    });
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        (socket === client ? upstream : client).destroy();
      });
    }
    client.on('data', (part: Buffer) => {
      reader.read(part);
      upstream.write(part);
    });
    upstream.on('data', (part: Buffer) => {
      client.write(part);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.toString(),
    /** Statements since the last call, by text. */
    take: (): Map<string, number> => {
      const taken = new Map(counts);
      counts.clear();
      return taken;
    },
  };
}

/**
 * Reads a client's messages on one connection: simple queries, and executions of statements that were parsed before.
 */
class StatementReader {
  readonly #onStatement: (text: string) => void;
  readonly #texts = new Map<string, string>();
  #rest: Buffer = Buffer.alloc(0);
  #started = false;
  #bound = '';

  constructor(onStatement: (text: string) => void) {
    this.#onStatement = onStatement;
  }

  read(part: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, part]);
    for (;;) {
      // The first message has no type.
      const at = this.#started ? TYPE_BYTES : 0;
      if (this.#rest.length < at + LENGTH_BYTES) return;
      const end = at + this.#rest.readUInt32BE(at);
      if (this.#rest.length < end) return;
      if (this.#started)
        this.#message(String.fromCharCode(this.#rest[0]!), this.#rest.subarray(at + LENGTH_BYTES, end));
      this.#started = true;
      this.#rest = this.#rest.subarray(end);
    }
  }

  #message(type: string, body: Buffer): void {
    const [first = '', second = ''] = body.toString('latin1').split('\0', 2);
    if (type === 'Q') this.#onStatement(first);
    if (type === 'P') this.#texts.set(first, second.replace(/\s+/g, ' ').trim());
    if (type === 'B') this.#bound = this.#texts.get(second) ?? '?';
    if (type === 'E') this.#onStatement(this.#bound);
  }
}

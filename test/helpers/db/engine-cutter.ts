/** A socket before a container engine that loses the requests or the answers of one kind of call, or rejects it. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { scratch } from '../scratch.ts';

/** Answer of a Podman whose database another process has locked. */
const BUSY = [
  'HTTP/1.1 500 Internal Server Error',
  'Content-Type: application/json',
  'Content-Length: 32',
  'Connection: close',
  '',
  '{"message":"database is locked"}',
].join('\r\n');

/**
 * Opens the socket. `call` matches the first line of the calls to cut. ASKED: the request never reaches the engine.
 * ANSWERED: the engine executes the call, and its answer is lost. BUSY: the same as ASKED, but the answer is an error.
 */
export async function engineCutter(t: Test, engineSocket: string, call: RegExp, cut: 'ASKED' | 'ANSWERED' | 'BUSY') {
  const { folder } = await scratch(t);
  const socket = join(folder, 'engine.sock');
  let cuts = 0;
  let heals = false;
  const server = createServer((client) => {
    const engine = connect(engineSocket);
    let doomed = false;
    const end = (): void => {
      client.destroy();
      engine.destroy();
    };
    for (const side of [client, engine]) side.on('error', end).on('close', end);
    client.on('data', (part) => {
      doomed ||= !heals && call.test(String(part).split('\r\n', 1)[0]!);
      if (!doomed || cut === 'ANSWERED') return void engine.write(part);
      cuts += 1;
      if (cut === 'BUSY') client.end(BUSY);
      else end();
    });
    engine.on('data', (part) => {
      if (!doomed) return void client.write(part);
      cuts += 1;
      end();
    });
  });
  server.listen(socket);
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
  });
  return {
    socket,
    cuts: (): number => cuts,
    /** From now on it cuts nothing. */
    heal: (): void => {
      heals = true;
    },
  };
}

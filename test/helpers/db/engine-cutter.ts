/** A socket before a container engine that loses what one kind of call asked or what it was answered. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { scratch } from '../scratch.ts';

/**
 * Opens one; `call` is how the first line of the calls goes that are cut. ASKED: the engine never hears of it.
 * ANSWERED: it did it, and nobody hears.
 */
export async function engineCutter(t: Test, engineSocket: string, call: RegExp, cut: 'ASKED' | 'ANSWERED') {
  const { folder } = await scratch(t);
  const socket = join(folder, 'engine.sock');
  let cuts = 0;
  const server = createServer((client) => {
    const engine = connect(engineSocket);
    let doomed = false;
    const end = (): void => {
      client.destroy();
      engine.destroy();
    };
    for (const side of [client, engine]) side.on('error', end).on('close', end);
    client.on('data', (part) => {
      doomed ||= call.test(String(part).split('\r\n', 1)[0]!);
      if (!doomed || cut === 'ANSWERED') return void engine.write(part);
      cuts += 1;
      end();
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
  return { socket, cuts: (): number => cuts };
}

/** A socket before a container engine that loses the requests or the answers of one kind of call. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { scratch } from '../scratch.ts';

/**
 * Opens the socket. `call` matches the first line of the calls to cut. ASKED: the request never reaches the engine.
 * ANSWERED: the engine executes the call, and its answer is lost.
 */
export async function engineCutter(t: Test, engineSocket: string, call: RegExp, cut: 'ASKED' | 'ANSWERED') {
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
  return {
    socket,
    cuts: (): number => cuts,
    /** From now on it cuts nothing. */
    heal: (): void => {
      heals = true;
    },
  };
}

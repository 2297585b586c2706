/** A GPU driver and a container engine that answer an agent only when its test lets them. */
import { rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';

/** Returns a driver, by the PATH to it, and an engine, by its socket, that answer nothing while they are stalled. */
export async function slowInventory(t: Test, engine: string) {
  const folder = t.testdir({});
  const stalled = join(folder, 'stalled');
  writeFileSync(join(folder, 'nvidia-smi'), `#!/bin/sh\nwhile [ -e ${stalled} ]; do sleep 0.1; done\nexit 9\n`, {
    mode: 0o755,
  });
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const sockets = new Set<Socket>();
  const proxy = createServer({ allowHalfOpen: true }, (socket) => {
    const upstream = connect({ path: engine, allowHalfOpen: true });
    for (const end of [socket, upstream])
      sockets.add(end.on('close', () => sockets.delete(end)).on('error', () => end.destroy()));
    upstream.pipe(socket);
    void gate.promise.then(() => socket.pipe(upstream));
  });
  const socket = join(folder, 'engine.sock');
  await new Promise<void>((resolve, reject) => {
    proxy.once('error', reject).listen(socket, resolve);
  });
  t.teardown(() => {
    for (const end of sockets) end.destroy();
    proxy.close();
  });
  return {
    socket,
    path: `${folder}:${process.env['PATH']}`,
    stall: () => {
      gate = Promise.withResolvers();
      writeFileSync(stalled, '');
    },
    answer: () => {
      rmSync(stalled);
      gate.resolve();
    },
  };
}

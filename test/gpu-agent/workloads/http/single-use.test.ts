/** Which HTTP servers get a connection for each request: real servers of all the kinds that there are. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { isSingleUse } from '@slipway/gpu-agent/workloads/http/single-use';
import { delay, systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';

t.jobs = 8;

async function ask(t: Test, server: Server): Promise<boolean> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
  });
  return isSingleUse({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, path: '/ping' }, systemClock);
}

/** Without a word of how long it keeps connections, as uvicorn, hypercorn or gunicorn. */
function wordless(onAnswered: (socket: Socket, server: Server) => void): Server {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      const isLast = /connection: close/i.test(data.toString('latin1'));
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      if (isLast) socket.end();
      else onAnswered(socket, server);
    });
  });
  return server;
}

function http(
  keepAliveTimeout: number,
  answer = (_: IncomingMessage, reply: ServerResponse): unknown => reply.end('ok'),
): Server {
  const server = createHttpServer(answer);
  server.keepAliveTimeout = keepAliveTimeout;
  return server;
}

t.test('no: it keeps idle connections for long, and announces it', async (t) => t.notOk(await ask(t, http(5_000))));

t.test('no: it keeps them without announcing it', async (t) =>
  t.notOk(
    await ask(
      t,
      wordless(() => undefined),
    ),
  ),
);

t.test('yes: it announces a shorter time', async (t) => t.ok(await ask(t, http(1_000))));

t.test('yes: it closes them soon, without announcing it', async (t) => {
  t.ok(
    await ask(
      t,
      wordless((socket) => {
        void delay(systemClock, 30).then(() => socket.end());
      }),
    ),
  );
  t.ok(
    await ask(
      t,
      wordless((socket) => {
        void delay(systemClock, 30).then(() => socket.resetAndDestroy());
      }),
    ),
  );
});

t.test('yes: it serves one connection at a time', async (t) => {
  const waiting: Socket[] = [];
  let open: Socket | undefined;
  const next = (): void => {
    open = waiting.shift();
    open
      ?.on('data', () => open!.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
      .once('close', next)
      .resume();
  };
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => undefined);
    waiting.push(socket);
    if (!open) next();
  });
  t.ok(await ask(t, server));
});

t.test('no: it closes each connection after its answer, and announces it', async (t) => {
  t.notOk(
    await ask(
      t,
      http(5_000, (_, reply) => {
        reply.shouldKeepAlive = false;
        reply.end('ok');
      }),
    ),
  );
});

t.test('no: the server has exited', async (t) => {
  t.notOk(
    await ask(
      t,
      wordless((socket, server) => {
        server.close();
        socket.resetAndDestroy();
      }),
    ),
  );
});

t.test('no: no listener, or truncated answers', async (t) => {
  t.notOk(await isSingleUse({ host: '127.0.0.1', port: 1, path: '/' }, systemClock));
  t.notOk(
    await ask(
      t,
      http(5_000, (_, reply) => {
        reply.write('begun');
        reply.destroy();
      }),
    ),
  );
});

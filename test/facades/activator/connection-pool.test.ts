/** Connections to workers that are pool for the next request, real ones: for how long, to whom, and when not. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { EndpointQueue } from '@slipway/facades/activator/endpoint-queue';
import { ConnectionPool } from '@slipway/facades/activator/forwarding/connection-pool';
import { forward } from '@slipway/facades/activator/forwarding/forward';
import { dial } from '@slipway/facades/activator/forwarding/worker-connection';
import type { SlotRequest } from '@slipway/facades/activator/worker-slot';
import { systemClock } from '@slipway/kit/time/clock';
import { EndpointRotation } from '@slipway/proto/gen/slipway/v1/edge_service';
import { LB_KEPT_MS } from '@slipway/proto/wire/limits';
import type { Test } from 'tap';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const LIMITS = { processingMs: 60_000, socketIdleMs: 60_000 };

/** One whose timers may be late. */
class LateClock extends ManualClock {
  lateMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.lateMs;
  }
}

async function serve(t: Test, answer: (request: IncomingMessage, reply: ServerResponse) => void) {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return { server, address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A worker, and a front that carries requests to it as an activator does. */
async function carried(t: Test, answer: (request: IncomingMessage, reply: ServerResponse) => void) {
  const clock = new LateClock();
  const pool = new ConnectionPool(clock);
  t.teardown(() => pool.destroy());
  const worker = await serve(t, answer);
  const opened: Socket[] = [];
  worker.server.on('connection', (socket: Socket) => {
    opened.push(socket);
  });
  const { address } = worker;
  const front = await serve(t, async (request, reply) => {
    const gone = new AbortController().signal;
    const target = { endpointId: 'e', path: request.url!, prefix: '', queryKey: undefined, isShared: false };
    const place = { workerId: 'w', expectsContinue: true, disableContinue: () => undefined };
    const way =
      pool.has(address) && request.url !== '/dialled'
        ? { pool, address }
        : { pool, address, socket: (await dial(address, gone))! };
    await forward({ request, reply, target, gone }, way, place, LIMITS, systemClock).catch(() => {
      reply.writeHead(502).end();
    });
  });
  const send = async (path: string, body?: string): Promise<string> => {
    const answer = await fetch(`http://${front.address}${path}`, body === undefined ? {} : { method: 'POST', body });
    return `${answer.status} ${await answer.text()}`;
  };
  return {
    clock,
    pool,
    address,
    opened,
    send,
    rest: () => waitFor('the connection to fall silent', () => pool.has(address)),
  };
}

const echo = (request: IncomingMessage, reply: ServerResponse): void => {
  let text = `${request.method} ${request.url} ${request.headers.connection} `;
  request
    .setEncoding('utf8')
    .on('data', (piece: string) => {
      text += piece;
    })
    .on('end', () => reply.end(text));
};

t.test('sequential requests share a connection; after an idle second it closes', async (t) => {
  const { clock, pool, address, opened, send, rest } = await carried(t, echo);
  for (let count = 0; count < 5; count += 1) {
    t.equal(await send(`/${count}`), `200 GET /${count} keep-alive `);
    await rest();
    t.equal(await send(`/${count}`, 'body'), `200 POST /${count} keep-alive body`);
    await rest();
  }
  t.equal(opened.length, 1);
  clock.pass(LB_KEPT_MS - 1);
  t.equal(await send('/again'), '200 GET /again keep-alive ');
  await rest();
  clock.pass(LB_KEPT_MS - 1);
  t.ok(pool.has(address), 'its silence counts anew');
  const closed = once(opened[0]!, 'close');
  clock.pass(2);
  await closed;
  t.equal(await send('/later'), '200 GET /later keep-alive ');
  t.equal(opened.length, 2);
});

t.test('connections closed by the worker or overdue for closing are not used', async (t) => {
  const { clock, pool, address, opened, send, rest } = await carried(t, echo);
  await send('/a');
  await rest();
  opened[0]!.end();
  await waitFor('it to be gone', () => !pool.has(address));
  t.match(await send('/b', 'x'), /^200 POST/);
  await rest();
  clock.lateMs = LB_KEPT_MS + 1;
  t.notOk(pool.has(address), 'its timer has not fired');
  t.match(await send('/c', 'x'), /^200 POST/);
  t.equal(opened.length, 3);
});

t.test('a connection opened beside an idle one is not kept beside it', async (t) => {
  const { opened, send, rest } = await carried(t, echo);
  await send('/a');
  await rest();
  t.match(await send('/dialled'), /^200 GET/);
  await rest();
  await waitFor('it to be ended', () => opened[1]?.destroyed === true);
  t.match(await send('/b'), /^200 GET/);
  t.same(
    opened.map(({ destroyed }) => destroyed),
    [false, true],
  );
});

t.test('an unread body never precedes the next request', async (t) => {
  const { pool, address, opened, send } = await carried(t, (request, reply) => {
    if (request.url !== '/no') return echo(request, reply);
    reply.writeHead(403).end('no');
  });
  t.equal(await send('/no', 'x'.repeat(1_000_000)), '403 no');
  t.notOk(pool.has(address));
  t.match(await send('/yes', 'x'), /^200 POST/);
  t.equal(opened.length, 2);
});

t.test('pooled only for workers known to keep connections', async (t) => {
  const clock = new ManualClock();
  const queue = new EndpointQueue(clock, () => undefined);
  const asked: SlotRequest = {
    workerId: undefined,
    strict: false,
    waitMs: 0,
    isRetry: false,
    signal: new AbortController().signal,
  };
  const isKept = (): boolean | undefined => {
    const place = queue.tryAcquire(asked);
    place?.release();
    return place?.isPooled;
  };
  const tell = (keepsConnections: boolean, ready = true): void =>
    queue.update(
      EndpointRotation.fromPartial({
        endpointId: 'e',
        workerConcurrency: 1,
        keepsConnections,
        workers: [{ workerId: 'w', address: '127.0.0.1:1', ready }],
      }),
    );
  tell(true);
  t.equal(isKept(), false, 'nobody has seen yet what it does');
  clock.pass(10_000);
  t.equal(isKept(), true);
  tell(false);
  t.equal(isKept(), false);
  tell(true, false);
  clock.pass(10_000);
  tell(true);
  t.equal(isKept(), false, 'it may be another program');
});

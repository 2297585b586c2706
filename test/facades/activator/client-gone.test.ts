// test: postgres
/**
 * A client that disconnected while core checked its key. The disconnect was not observed then, and nothing may be done
 * for the client.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as ask, createServer, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { Activator } from '@slipway/facades/activator/activator';
import { clientGone } from '@slipway/facades/activator/client-gone';
import { LoadBalancer, WAIT_BOUNDS } from '@slipway/facades/activator/load-balancer';
import { PodProxy } from '@slipway/facades/activator/pod-proxy';
import { Tunnels } from '@slipway/facades/activator/tunnels';
import type { UpgradeSocket } from '@slipway/facades/activator/upgrade-socket';
import { EndpointSetLink } from '@slipway/facades/core-client/endpoint-set-link';
import { KeyWatch } from '@slipway/facades/plugins/limits/key-watch';
import { systemTransport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { FastifyReply } from 'fastify';
import type { Test } from 'tap';
import t from 'tap';
import { logger } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const limits = { processingMs: 120_000, socketIdleMs: 120_000 };
const keys = new KeyWatch(
  {
    checkLive: async () => {
      throw new Error('nobody asks');
    },
  },
  systemClock,
);
const tunnels = new Tunnels({ clock: systemClock, logger, authorize: async () => '' });

/** Returns a request whose client has gone, as a server sees it. */
async function left(t: Test): Promise<[IncomingMessage, ServerResponse]> {
  const front = createServer().listen(0, '127.0.0.1');
  t.teardown(() => front.close());
  await once(front, 'listening');
  const client = ask({ host: '127.0.0.1', port: (front.address() as AddressInfo).port }).on('error', () => undefined);
  client.end();
  const [request, reply] = (await once(front, 'request')) as [IncomingMessage, ServerResponse];
  const closed = once(reply, 'close');
  client.destroy();
  await closed;
  return [request, reply];
}

t.test('a vanished client waits for no worker', async (t) => {
  const link = new EndpointSetLink({
    addresses: ['127.0.0.1:1'],
    edgeKey: '',
    transport: systemTransport,
    clock: systemClock,
    random: systemRandom,
    logger,
  });
  const loadBalancer = new LoadBalancer({ link, waits: WAIT_BOUNDS, clock: systemClock, logger });
  const activator = new Activator({
    loadBalancer,
    tunnels,
    keys,
    limits: { ...limits, holdMs: 120_000, waits: WAIT_BOUNDS },
    clock: systemClock,
  });
  const [request, reply] = await left(t);
  const target = { endpointId: 'e', path: '/', prefix: '', queryKey: undefined, isShared: false };
  const served = activator.serve(request, reply, target, { apiKey: '', accountId: 'a' });
  t.equal(loadBalancer.waiting, 0);
  await loadBalancer.start();
  await loadBalancer.stop();
  await served;
});

t.test('a client that leaves while waiting for a WebSocket is noticed; its early data is not lost', async (t) => {
  const front = createServer().listen(0, '127.0.0.1');
  t.teardown(() => front.close());
  await once(front, 'listening');
  const asked = async (): Promise<{ client: Socket; upgrade: UpgradeSocket; reply: ServerResponse }> => {
    const client = connect((front.address() as AddressInfo).port, '127.0.0.1');
    client
      .on('error', () => undefined)
      .write('GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
    const [request, socket, head] = (await once(front, 'upgrade')) as [IncomingMessage, Socket, Buffer];
    t.teardown(() => socket.destroy());
    const reply = new ServerResponse(request);
    reply.assignSocket(socket);
    return { client, upgrade: { socket, head }, reply };
  };
  const leaving = await asked();
  const gone = clientGone(leaving.reply, leaving.upgrade);
  const seen = once(gone, 'abort');
  leaving.client.destroy();
  await seen;

  const early = await asked();
  const stays = clientGone(early.reply, early.upgrade);
  early.client.write('early');
  const { socket } = early.upgrade;
  await waitFor('its word', () => socket.readableLength === 5);
  socket.removeAllListeners('readable');
  const read = once(socket.pipe(new PassThrough()), 'data');
  t.equal(String((await read)[0]), 'early');
  t.notOk(stays.aborted);
  early.client.destroy();
});

t.test('no pod gets its request', async (t) => {
  let heard = 0;
  const pod = createServer(() => {
    heard += 1;
  })
    .on('connection', () => {
      heard += 1;
    })
    .listen(0, '127.0.0.1');
  t.teardown(() => pod.close());
  await once(pod, 'listening');
  const [request, reply] = await left(t);
  request.headers.authorization = 'Bearer k';
  const address = `127.0.0.1:${(pod.address() as AddressInfo).port}`;
  const locate = async () => ({ accountId: 'a', address, tunnelMachineId: '' });
  const proxy = new PodProxy({
    locate,
    tunnels,
    rateLimit: undefined,
    keys,
    limits: { ...limits, processingMs: 500 },
    clock: systemClock,
  });
  const pretended = { raw: reply, hijack: () => undefined } as unknown as FastifyReply;
  await proxy
    .serve(request, pretended, { podId: 'abcdefghijklmn', port: 80, path: '/', prefix: '/pods/abcdefghijklmn/80' })
    .catch(() => undefined);
  t.equal(heard, 0);
});

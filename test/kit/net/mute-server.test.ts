// test: alone
/**
 * A server that accepts a connection, sends nothing and vanishes without closing it, as a host that froze and was
 * reset: a channel reaches the next server at the same address. So it does behind a proxy that speaks TLS for it.
 */
import '../../helpers/time/short-timers.ts';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { Authority, createAuthority } from '@slipway/kit/tls/authority';
import {
  AgentServiceClient,
  AgentServiceService,
  SettleImageRequest,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(120_000);

t.test('a channel leaves a server that sends nothing', async (t) => {
  const accepted: Socket[] = [];
  const mute = createServer((socket) => {
    accepted.push(socket.resume());
  });
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const address = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
  const client = systemTransport.openClient(AgentServiceClient, address);
  t.teardown(() => {
    client.close();
    for (const socket of accepted) socket.destroy();
  });
  const settle = (): Promise<{ digest: string }> =>
    call(client, 'settleImage', SettleImageRequest.fromPartial({}), 'key');
  const early = settle().catch((error: { reason?: string }) => error.reason);
  await waitFor('a connection', () => accepted.length === 1);
  // Its listener goes, the accepted connection stays.
  mute.close();

  const settleImage = (_call: unknown, done: (error: null, answer: { digest: string }) => void): void =>
    done(null, { digest: 'sha256:1' });
  const server = openServer([[AgentServiceService, { settleImage } as never]]);
  await systemTransport.listen(server, address);
  t.teardown(() => server.forceShutdown());
  t.match(await waitFor('an answer', settle), { digest: 'sha256:1' });
  await early;
});

t.test('a channel leaves a proxy whose server sends nothing', async (t) => {
  const nowMs = Date.now();
  const authority = new Authority(createAuthority('Slipway test', nowMs, randomBytes(16)));
  const { certificate, key } = authority.issueServer(['127.0.0.1'], { nowMs, days: 1, serial: randomBytes(16) });
  const accepted: Socket[] = [];
  const proxy = createTlsServer({ cert: certificate, key, ALPNProtocols: ['h2'] }, (socket) => {
    accepted.push(socket.on('error', () => undefined).resume());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const client = systemTransport.openClient(
    AgentServiceClient,
    `grpcs://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    { tls: new TlsSource(undefined, authority.certificate) },
  );
  t.teardown(() => {
    client.close();
    for (const socket of accepted) socket.destroy();
    proxy.close();
  });
  const early = call(client, 'settleImage', SettleImageRequest.fromPartial({}), 'key').catch(() => undefined);
  const first = await waitFor('a connection', () => accepted[0]);
  t.ok(await waitFor('its end', () => first.closed));
  await early;
});

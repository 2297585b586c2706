// test: alone
/**
 * A server that accepts a connection, sends nothing and vanishes without closing it, as a host that froze and was
 * reset: a channel reaches the next server at the same address.
 */
import '../../helpers/time/short-timers.ts';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
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

/** Connections of the client of the Kubernetes API, at a real HTTPS server. */
import { readFileSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { httpsServer } from '../../../helpers/net/https-server.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

/** Timer of a connection in /proc/net/tcp that sends a check when no bytes have come for a while. */
const KEEP_ALIVE_TIMER = '02';

t.test('streams resume the TLS session of a call: only the first connection has a full handshake', async (t) => {
  const resumed: boolean[] = [];
  const { server, access } = await httpsServer(t, (_, response) => {
    response.end('{}');
  });
  server.on('secureConnection', (socket: TLSSocket) => resumed.push(socket.isSessionReused()));
  const api = new ApiClient(access, systemClock);
  t.teardown(() => api.close());
  await api.call('GET', '/version');
  for (const pod of ['a', 'b', 'c']) for await (const _ of await api.stream(`/log/${pod}`));
  t.strictSame(resumed, [false, true, true, true]);
});

t.test('the connection of a stream is checked while no bytes come: one that was cut silently ends', async (t) => {
  const { access } = await httpsServer(t, (_, response) => {
    response.flushHeaders();
  });
  const api = new ApiClient(access, systemClock);
  t.teardown(() => api.close());
  const stream = await api.stream('/log/quiet');
  const port = Number(new URL(access.server).port).toString(16).toUpperCase().padStart(4, '0');
  await waitFor('its timer', () => {
    const rows = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    const timer = rows.find(([, , remote]) => remote?.endsWith(`:${port}`))?.[5];
    return timer?.startsWith(KEEP_ALIVE_TIMER);
  });
  stream.destroy();
  t.pass();
});

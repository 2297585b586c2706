/** Connections of CONNECT when the server closes. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { addHttpRules } from '@slipway/facades/plugins/http-rules';
import { fastify } from 'fastify';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

t.test('a client of CONNECT that never closes does not keep the server from closing', async (t) => {
  const app = fastify();
  addHttpRules(app, new ManualClock());
  await app.listen({ port: 0, host: '127.0.0.1' });
  // Half open, so that only the server ends the connection.
  const client = connect({ port: (app.server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  client.on('error', () => undefined);
  t.teardown(() => client.destroy());
  client.write('CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n');
  const [answer] = (await once(client, 'data')) as [Buffer];
  t.match(answer.toString(), /^HTTP\/1\.1 404 /);
  await app.close();
});

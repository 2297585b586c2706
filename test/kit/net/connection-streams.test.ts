/** Limit of open calls on one connection to core: calls are opened before any key is checked. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { CONNECTION_STREAMS_MAX, openServer, systemTransport } from '@slipway/kit/net/channel';
import t from 'tap';

t.test('a connection announces its limit of open calls', async (t) => {
  const server = openServer([]);
  const port = await systemTransport.listen(server, '127.0.0.1:0');
  t.teardown(() => server.forceShutdown());
  const session = connect(`http://127.0.0.1:${port}`);
  t.teardown(() => session.destroy());
  const [settings] = (await once(session, 'remoteSettings')) as [{ maxConcurrentStreams: number }];
  t.equal(settings.maxConcurrentStreams, CONNECTION_STREAMS_MAX);
});

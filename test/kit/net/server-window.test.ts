/** Bytes that a client may send before core has read them. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
import t from 'tap';

/** Windows of HTTP/2 without settings: a body of 10 MB takes 320 turns of both processes. */
const DEFAULT_BYTES = 65_535;
const WINDOW_BYTES = 256 * 1024;

t.test('a call and a connection may send 256 KiB at a time', async (t) => {
  const server = openServer([]);
  const port = await systemTransport.listen(server, '127.0.0.1:0');
  t.teardown(() => server.forceShutdown());
  const session = connect(`http://127.0.0.1:${port}`);
  t.teardown(() => session.destroy());
  const [settings] = (await once(session, 'remoteSettings')) as [{ initialWindowSize: number }];
  t.equal(settings.initialWindowSize, WINDOW_BYTES);
  // The window of the connection comes in a frame of its own after the settings.
  await new Promise((resolve) => {
    session.ping(resolve);
  });
  t.ok(session.state.remoteWindowSize! > DEFAULT_BYTES);
  t.equal(session.state.remoteWindowSize, WINDOW_BYTES);
});

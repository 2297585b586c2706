/** The two sides of a tunnel: silence is an end, life is not. */
import { once } from 'node:events';
import { connect as connectHttp2, performServerHandshake } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { TUNNEL_OPTIONS, watchTunnel } from '@slipway/kit/net/tunnel';
import type { Test } from 'tap';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** Returns a facade's side, and the connection at its other end. */
async function halfTunnel(t: Test) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [far] = (await once(server, 'connection')) as [Socket];
  far.on('error', () => undefined);
  const session = connectHttp2('http://tunnel', { ...TUNNEL_OPTIONS, createConnection: () => near });
  t.teardown(() => {
    session.destroy();
    far.destroy();
    server.close();
  });
  return { session, far };
}

t.test('a side silent for 15 s is gone', async (t) => {
  const { session } = await halfTunnel(t);
  const clock = new ManualClock();
  const ended = once(session, 'error');
  watchTunnel(session, clock);
  clock.pass(5_000);
  clock.pass(5_000);
  t.notOk(session.destroyed);
  clock.pass(5_000);
  t.match((await ended)[0], { message: /silent for 15 s/ });
});

t.test('an answering side stays, however long', async (t) => {
  const { session, far } = await halfTunnel(t);
  let asked = 0;
  performServerHandshake(far, TUNNEL_OPTIONS).on('ping', () => {
    asked += 1;
  });
  await once(session, 'remoteSettings');
  const clock = new ManualClock();
  watchTunnel(session, clock);
  for (let times = 1; times <= 12; times += 1) {
    clock.pass(5_000);
    await waitFor('a question', () => asked === times);
  }
  t.notOk(session.destroyed);
});

t.test('a machine suspended for a minute keeps its tunnel: the other side answers', async (t) => {
  const { session, far } = await halfTunnel(t);
  let asked = 0;
  performServerHandshake(far, TUNNEL_OPTIONS).on('ping', () => {
    asked += 1;
  });
  await once(session, 'remoteSettings');
  const clock = new ManualClock();
  watchTunnel(session, clock);
  clock.pass(5_000);
  await waitFor('a question', () => asked === 1);
  clock.pass(60_000);
  t.notOk(session.destroyed);
  await waitFor('another question', () => asked === 2);
});

/** The open connections of one client address are bounded, except those of proxies and edges. */
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import { EDGE_HEADER, edgeText } from '@slipway/kit/net/activation';
import type { Test } from 'tap';
import t from 'tap';
import { makeCertificates } from '../helpers/system/edge.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const EDGE_KEY = 'an edge key of more than thirty-two characters';

interface Client {
  socket: Socket;
  /** Asks over the connection. Resolves with the status, or with 0 if the connection ended without an answer. */
  ask(headers?: string): Promise<number>;
}

/** Starts a facade that allows an address four connections. Returns how to connect to it. */
async function facade(t: Test, env: Record<string, string>) {
  const config = readFacadeConfig({
    SLIPWAY_CORE_ADDRESS: '127.0.0.1:1',
    SLIPWAY_HTTP_PORT: '0',
    SLIPWAY_GRAPHQL_AT_START: 'false',
    SLIPWAY_METRICS_LISTEN: '127.0.0.1:0',
    SLIPWAY_CONNECTIONS_PER_ADDRESS: '4',
    SLIPWAY_TRUSTED_PROXIES: '',
    ...env,
  });
  const built = buildFacade(config, { logger: createLogger('test', 'silent') });
  const sockets: Socket[] = [];
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    await built.stop();
  });
  const { url, metrics } = await built.start();
  const port = Number(new URL(url).port);
  const open = (ca?: string): Client => {
    const socket = ca === undefined ? connect(port, '127.0.0.1') : connectTls({ host: '127.0.0.1', port, ca });
    socket.on('error', () => undefined);
    sockets.push(socket);
    const ask = async (headers = ''): Promise<number> => {
      if (socket.destroyed) return 0;
      const answer = new Promise<number>((resolve) => {
        socket.once('data', (bytes) => resolve(Number(String(bytes).split(' ', 2)[1])));
        socket.once('close', () => resolve(0));
      });
      socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
      return answer;
    };
    return { socket, ask };
  };
  const rejected = async (): Promise<string | undefined> => {
    const text = await (await fetch(`http://${metrics}/metrics`)).text();
    return /^slipway_facade_connections_rejected_total (\d+)$/m.exec(text)?.[1];
  };
  return { open, rejected };
}

/** Asks over new connections, one after the other. They stay open. */
async function askOver(open: () => Client, count: number): Promise<{ clients: Client[]; statuses: number[] }> {
  const clients: Client[] = [];
  const statuses: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const client = open();
    clients.push(client);
    statuses.push(await client.ask());
  }
  return { clients, statuses };
}

t.test('connections beyond the limit are closed; open ones continue', async (t) => {
  const { open, rejected } = await facade(t, { SLIPWAY_EDGE_KEY: EDGE_KEY });
  const { clients, statuses } = await askOver(open, 6);
  t.same(statuses, [200, 200, 200, 200, 0, 0]);
  t.equal(await rejected(), '2');
  t.equal(await clients[0]!.ask(`${EDGE_HEADER}: no edge\r\n`), 200, 'an open one still answers');
  t.equal(await open().ask(), 0, 'and a made-up edge is none');
  clients[1]!.socket.destroy();
  await waitFor('room for another', async () => (await open().ask()) === 200);
});

t.test('closed TLS connections are not counted', async (t) => {
  const { file, issue, read } = await makeCertificates(t);
  issue('next', 'DNS:localhost,IP:127.0.0.1');
  const { open } = await facade(t, {
    SLIPWAY_HTTP_CERT_FILE: file('live/server.pem'),
    SLIPWAY_HTTP_CERT_KEY_FILE: file('live/server.key'),
  });
  const ca = read('ca.pem').toString();
  const { clients, statuses } = await askOver(() => open(ca), 5);
  t.same(statuses, [200, 200, 200, 200, 0]);
  for (const { socket } of clients) socket.destroy();
  await waitFor('room for four more', async () => (await open(ca).ask()) === 200);
});

t.test('a trusted proxy has no limit', async (t) => {
  const { open, rejected } = await facade(t, { SLIPWAY_TRUSTED_PROXIES: '127.0.0.0/8' });
  t.same((await askOver(open, 9)).statuses, new Array(9).fill(200));
  t.equal(await rejected(), '0');
});

t.test('an edge with its key has no limit', async (t) => {
  const { open } = await facade(t, { SLIPWAY_EDGE_KEY: EDGE_KEY });
  const { clients } = await askOver(open, 2);
  t.equal(await clients[0]!.ask(`${EDGE_HEADER}: ${edgeText(EDGE_KEY)}\r\n`), 200);
  t.same((await askOver(open, 9)).statuses, new Array(9).fill(200));
});

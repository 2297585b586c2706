// test: postgres, envoy, 20 s
/**
 * Clients that open more streams on an HTTP/2 connection to the edge than it allows. They are refused or lose their
 * connection, and other clients are served.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_STREAMS_MAX } from '@slipway/edge/envoy-config/limits';
import { memoryMib } from '@slipway/tools/bench/load/process-usage';
import t from 'tap';
import { RawHttp2 } from '../../helpers/net/raw-http2.ts';
import { skipWithoutEnvoy } from '../../helpers/system/edge.ts';
import { startProcesses } from '../../helpers/system/processes.ts';

const FEW_MORE = 500;
const MANY = 50_000;
const GROWTH_MIB_MAX = 60;

t.setTimeout(600_000);

t.test('more streams than the edge allows on a connection', { skip: skipWithoutEnvoy() }, async (t) => {
  const system = await startProcesses(t, { edge: true, agents: 0 });
  const { hostname, port } = new URL(system.url);
  const running = join(system.folder, 'edge/running.json');
  const { pid } = JSON.parse(readFileSync(running, 'utf8')) as { pid: number };
  // Bodies that never come: each request waits for its body.
  const asking = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': '/v2/none/run',
    ':authority': 'edge',
    authorization: `Bearer ${system.key}`,
    'content-type': 'application/json',
    'content-length': '100',
  };
  const open = async (): Promise<RawHttp2> => {
    const client = await RawHttp2.connect(hostname, Number(port));
    t.teardown(() => client.close());
    return client;
  };
  const isServed = async (): Promise<boolean> => (await system.request('GET', '/v1/endpoints')).status === 200;
  const before = memoryMib(pid).now;

  for (const acknowledges of [false, true]) {
    await t.test(`a client that ${acknowledges ? 'knows' : 'ignores'} the limit`, async (t) => {
      const client = await open();
      t.equal(client.streamsMax, CLIENT_STREAMS_MAX);
      if (acknowledges) client.acknowledge();
      await client.openStreams(CLIENT_STREAMS_MAX + FEW_MORE, asking);
      t.ok(client.isEnded || client.refused.size > 0, `${client.refused.size} refused`);
      t.ok(await isServed(), 'another client is served');
      client.close();
    });
  }

  await t.test('a client that does not stop takes bounded memory', async (t) => {
    const client = await open();
    await client.openStreams(MANY, asking);
    t.ok(client.isEnded || client.refused.size > 0, `${client.refused.size} refused`);
    const grown = memoryMib(pid).now - before;
    t.ok(grown < GROWTH_MIB_MAX, `${Math.round(grown)} MiB more`);
    t.ok(await isServed(), 'another client is served');
  });
});

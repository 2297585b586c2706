// test: postgres, 20 s
/**
 * Clients without a key that open more calls on a connection to core than it allows. Further calls are refused, the
 * connection ends at last, and other clients are served.
 */

import { CONNECTION_STREAMS_MAX } from '@slipway/kit/net/channel';
import { memoryMib } from '@slipway/tools/bench/load/process-usage';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { RawHttp2 } from '../../../helpers/net/raw-http2.ts';
import { startProcesses } from '../../../helpers/system/processes.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

/** Node ends a connection on which it has refused a thousand streams. */
const FEW_MORE = 500;
/** Without the limit, these calls took some 150 MiB. */
const MANY = 50_000;
const GROWTH_MIB_MAX = 60;
const CALL = {
  ':method': 'POST',
  ':scheme': 'http',
  ':path': '/slipway.v1.JobService/GetHealth',
  ':authority': 'core',
  'content-type': 'application/grpc',
  te: 'trailers',
};

t.setTimeout(600_000);
const system = await startProcesses(t, { agents: 0, facades: 0 });
const [host, port] = system.coreAddresses[0]!.split(':') as [string, string];
const used = (): number => memoryMib(system.cores[0]!.pid!).now;
const open = async (): Promise<RawHttp2> => {
  const client = await RawHttp2.connect(host, Number(port));
  t.teardown(() => client.close());
  return client;
};
/** Calls core on another connection. */
const isServed = async (): Promise<boolean> => {
  const { accounts } = await call(system.clients.access, 'listAccounts', {}, system.rootKey);
  return accounts.length > 0;
};

t.test('calls beyond the limit are refused, even if the client ignores the settings', async (t) => {
  const client = await open();
  t.equal(client.streamsMax, CONNECTION_STREAMS_MAX);
  await client.openStreams(CONNECTION_STREAMS_MAX + FEW_MORE, CALL);
  t.notOk(client.isEnded);
  t.same([client.held, client.refused.size], [CONNECTION_STREAMS_MAX, FEW_MORE]);
  t.ok(await isServed(), 'another client is served');
  client.close();
});

t.test('a client that knows the limit and exceeds it loses its connection', async (t) => {
  const client = await open();
  client.acknowledge();
  await client.openStreams(CONNECTION_STREAMS_MAX, CALL);
  t.same([client.isEnded, client.held], [false, CONNECTION_STREAMS_MAX]);
  await client.openStreams(1, CALL);
  t.ok(client.isEnded);
  t.ok(await isServed(), 'another client is served');
});

t.test('a client that does not stop takes bounded memory', async (t) => {
  const before = used();
  const client = await open();
  await client.openStreams(MANY, CALL);
  t.ok(client.isEnded);
  t.ok(used() - before < GROWTH_MIB_MAX, `${Math.round(used() - before)} MiB more`);
  t.ok(await isServed(), 'another client is served');
  const next = await open();
  await next.openStreams(CONNECTION_STREAMS_MAX, CALL);
  await waitFor('its calls', () => next.held === CONNECTION_STREAMS_MAX);
  t.notOk(next.isEnded, 'the limit is that of one connection');
});

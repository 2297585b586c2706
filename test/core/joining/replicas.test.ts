// test: alone, postgres, 40 s
/** Parts that are given one core replica learn the others from it, and never call a false one. */

import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { replicaList } from '@slipway/facades/core-client/replica-parts';
import { createLogger } from '@slipway/kit/log/logger';
import { systemTransport } from '@slipway/kit/net/channel';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { pinText } from '@slipway/kit/tls/pin';
import t from 'tap';
import { digestAt } from '../../helpers/net/authority-at.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startRealAgent } from '../../helpers/system/real-agent.ts';
import { DIVISOR } from '../../helpers/time/short-timers.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(300_000);

const LISTEN = { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' };
const logger = createLogger('test', process.env['SLIPWAY_LOG_LEVEL'] ?? 'silent');

/** Settings of a part that is given only the first replica. */
async function firstOnly({ replicas }: CoreReplicas): Promise<Record<string, string>> {
  const [{ secureAddress }] = replicas as [CoreReplicas['replicas'][number]];
  return { SLIPWAY_CORE_ADDRESS: secureAddress, SLIPWAY_CORE_CA: pinText(await digestAt(secureAddress)) };
}

/** Returns a logger with the text that it has written. */
function kept() {
  const log = { text: '', logger };
  const write = (line: string): void => {
    log.text += line;
  };
  log.logger = createLogger('test', 'info', { write });
  return log;
}

t.ok(DIVISOR > 1, 'lists are read sooner');

t.test('a facade and an agent that were given one replica use the other when that one leaves', async (t) => {
  const core = await startReplicas(t, 1, LISTEN);
  const settings = await firstOnly(core);
  const logs = [kept(), kept()] as const;
  const facade = buildFacade(readFacadeConfig({ ...settings, SLIPWAY_HTTP_PORT: '0' }), { logger: logs[0].logger });
  t.teardown(() => facade.stop());
  const { url } = await facade.start();
  await startRealAgent(t, core, settings, undefined, logs[1].logger);
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  const [first] = core.replicas as [CoreReplicas['replicas'][number]];
  const second = await core.startReplica();
  const request = publicRequest(url, core.key);
  for (const log of logs)
    await waitFor('the second replica to be learned', () => log.text.includes(second.secureAddress));

  let submitted = 0;
  await first.stop();
  await waitFor('jobs to be accepted', async () => {
    const { status } = await request('POST', `/v2/${endpointId}/run`, { input: {} });
    submitted += status === 200 ? 1 : 0;
    return submitted >= 3;
  });
  await waitFor('the machine at the second replica', async () => {
    const rows = await core.sql<{ address: string }[]>`
      SELECT replica_address AS address FROM machine WHERE lease_expires_at > now()`;
    return rows.length === 1 && rows[0]!.address === second.secureAddress;
  });
  t.strictSame(
    (await core.sql<{ address: string }[]>`SELECT address FROM core_replica`).map((row) => row.address),
    [second.secureAddress],
    'a replica that stops leaves the list',
  );
});

t.test('a false replica is never used', async (t) => {
  const core = await startReplicas(t, 1, LISTEN);
  const other = await startReplicas(t, 1, LISTEN);
  const { SLIPWAY_CORE_ADDRESS: first = '' } = await firstOnly(core);
  const list = replicaList({
    configured: [first],
    tls: new TlsSource({ caFile: '', certFile: '', certKeyFile: '', caDigests: [await digestAt(first)] }),
    transport: systemTransport,
    clock: systemClock,
    random: systemRandom,
    logger,
  });
  const [{ address: plain }] = core.replicas as [CoreReplicas['replicas'][number]];
  const falseOnes = [other.replicas[0]!.secureAddress, plain, 'not an address', 'grpcs://127.0.0.1:1'];
  for (const address of falseOnes) await core.sql`INSERT INTO core_replica (address) VALUES (${address})`;
  t.teardown(() => list.stop());
  const changed = new Promise<void>((resolve) => {
    list.onChange(resolve);
  });
  await list.start();
  const second = await core.startReplica();
  await changed;
  t.strictSame(list.addresses, [first, second.secureAddress]);
  await second.stop();
  await waitFor('the second replica to be forgotten', () => list.addresses.length === 1);
  t.strictSame(list.addresses, [first], 'the configured one stays');
});

t.test('a name that stands for several replicas in turn: none that is known is dropped', async (t) => {
  const core = await startReplicas(t, 2, { SLIPWAY_CORE_LISTEN: '127.0.0.1:0' });
  let connections = 0;
  const balancer = createServer((inbound) => {
    const { address } = core.replicas[connections++ % 2]!;
    const outbound = connect(Number(address.split(':').at(-1)), '127.0.0.1');
    inbound.pipe(outbound).pipe(inbound);
    for (const socket of [inbound, outbound]) socket.on('error', () => [inbound, outbound].map((one) => one.destroy()));
  });
  await new Promise<void>((resolve) => {
    balancer.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => balancer.close());
  const name = `127.0.0.1:${(balancer.address() as AddressInfo).port}`;
  const list = replicaList({
    configured: [name],
    transport: systemTransport,
    clock: systemClock,
    random: systemRandom,
    logger,
  });
  t.teardown(() => list.stop());
  const seen: string[][] = [];
  list.onChange(() => seen.push([...list.addresses]));
  await list.start();
  await waitFor('both to be learned', () => list.addresses.length === 3);
  const asked = connections;
  await waitFor('three more questions', () => connections >= asked + 3);
  t.strictSame(
    seen.map((addresses) => addresses.length),
    [2, 3],
    'each change adds one',
  );
});

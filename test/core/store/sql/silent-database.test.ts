// test: postgres, 10 s
/**
 * The host of the database vanishes silently, as after a power failure, and another host takes its address: core
 * continues there within seconds.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/**
 * Starts a host before the database. When it goes, open connections get no more data and no error, and new ones are not
 * accepted.
 */
async function hostBefore(t: Test, target: { host: string; port: number }) {
  const upstreams = new Set<Socket>();
  const clients = new Set<Socket>();
  let gone = false;
  const server = createServer((client) => {
    const upstream = connect(target);
    clients.add(client);
    upstreams.add(upstream);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('data', (part) => {
      if (!gone) upstream.write(part);
    });
    upstream.on('data', (part) => {
      if (!gone) client.write(part);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => {
      if (!gone) client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const go = (): void => {
    gone = true;
    server.close();
    for (const upstream of upstreams) upstream.destroy();
  };
  t.teardown(() => {
    go();
    for (const client of clients) client.destroy();
  });
  return { port: (server.address() as AddressInfo).port, go };
}

t.test('a host that vanishes silently', async (t) => {
  const url = new URL((await createDatabase(t)).url);
  const target = { host: url.hostname, port: Number(url.port) };
  const [first, second] = [await hostBefore(t, target), await hostBefore(t, target)];
  const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}`;
  const core = await startReplicas(t, 1, {}, { url: url.href.replace(url.host, hosts) });
  const agent = await core.joinAgent({ onAssignment: () => undefined });
  let ended = false;
  void agent.ended.then(() => {
    ended = true;
  });
  const endpointId = await core.createEndpoint({ workersMin: 2 });
  await core.ready(endpointId, 2);
  const running = await core.submit(endpointId);
  const { ref } = await waitFor('it to run', () => agent.assignments[0]);

  first.go();
  // Hangs: its statement went to the vanished host.
  const submitted = core.submit(endpointId).then(
    () => 'stored',
    (error: { reason?: string }) => error.reason,
  );
  agent.finish(ref!);
  t.match(await submitted, /^(stored|UNAVAILABLE)$/, 'it is answered');
  t.equal((await core.wait(endpointId, running.id)).state, JobState.COMPLETED, 'what had ended is written');
  await waitFor('another to run', async () =>
    core.submit(endpointId).then(
      () => agent.assignments.length > 1,
      () => false,
    ),
  );
  t.equal(ended, false, 'the agent kept its session, and with it its attempts');
});

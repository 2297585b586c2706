/** Where others reach a pod in a container: through ports of its host, which end with it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FreePorts } from '@slipway/gpu-agent/workloads/http/free-ports';
import { forClients, forFacades, httpPorts, PodPorts, tcpPorts } from '@slipway/gpu-agent/workloads/http/pod-ports';
import { PublicPorts, readPublicPorts } from '@slipway/gpu-agent/workloads/http/public-ports';
import { EnvReader } from '@slipway/kit/host/env';
import { systemRandom } from '@slipway/kit/time/clock';
import { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.test('a port of the host for each http port, as long as the pod is there', async (t) => {
  const server = createServer((request, reply) => reply.end(request.url)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const spec = WorkerSpec.fromPartial({ imageName: 'web', ports: [`${port}/http`, '22/tcp', 'nonsense'] });
  let changes = 0;
  const shown = new PodPorts({
    named: httpPorts,
    open: forFacades({ advertiseHost: 'localhost', tunnels: false, ports: new FreePorts(systemRandom) }),
    onChanged: () => {
      changes += 1;
    },
    onFailed: (_port, error) => t.fail(String(error)),
  });
  shown.update('', spec);
  shown.update('127.0.0.1', spec);
  await waitFor('the ports', () => changes === 1);
  t.match(shown.shown, [{ port, address: /^localhost:\d+$/ }]);
  const url = `http://${shown.shown[0]!.address}/x`;
  t.equal(await (await fetch(url)).text(), '/x');
  shown.update(undefined, spec);
  t.same(shown.shown, []);
  await waitFor('its end', () =>
    fetch(url).then(
      () => false,
      () => true,
    ),
  );
});

t.test('a pod that is restarted at its address while its ports are being opened leaves none open', async (t) => {
  let open = 0;
  class CountedPorts extends FreePorts {
    override take(): Promise<number> {
      open += 1;
      return super.take();
    }

    override give(port: number): void {
      open -= 1;
      super.give(port);
    }
  }
  const spec = WorkerSpec.fromPartial({ imageName: 'web', ports: ['80/http'] });
  const shown = new PodPorts({
    named: httpPorts,
    open: forFacades({ advertiseHost: 'localhost', tunnels: false, ports: new CountedPorts(systemRandom) }),
    onChanged: () => undefined,
    onFailed: (_port, error) => t.fail(String(error)),
  });
  for (const host of ['127.0.0.1', '', '127.0.0.1']) shown.update(host, spec);
  await waitFor('its port', () => shown.shown.length === 1);
  await waitFor('the end of the other', () => open === 1);
  shown.update(undefined, spec);
  t.equal(open, 0);
});

t.test('tcp ports of clients: none for a command, the same number again, a failure is reported', async (t) => {
  t.same(tcpPorts(WorkerSpec.fromPartial({ imageName: 'box', ports: ['22/tcp', '80/http', '053/tcp'] })), [22, 53]);
  t.same(tcpPorts(WorkerSpec.fromPartial({ ports: ['22/tcp'] })), [], 'it is a port of the host');
  const server = createServer((request, reply) => reply.end(request.url)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const spec = WorkerSpec.fromPartial({ imageName: 'box', ports: [`${port}/tcp`] });
  const ports = new PublicPorts({ publicHost: 'localhost', publicPorts: [10_000, 19_999] });
  const failed: number[] = [];
  let changes = 0;
  const published = (by: PublicPorts): PodPorts =>
    new PodPorts({
      named: tcpPorts,
      open: forClients(by, 'pod1'),
      onChanged: () => void (changes += 1),
      onFailed: (number) => void failed.push(number),
    });
  const shown = published(ports);
  shown.update('127.0.0.1', spec);
  await waitFor('its port', () => changes === 1);
  const { address } = shown.shown[0]!;
  t.equal(await (await fetch(`http://${address}/tcp`)).text(), '/tcp');
  const second = published(ports);
  second.update('127.0.0.1', spec);
  await waitFor('another port', () => changes === 2);
  t.not(second.shown[0]!.address, address, 'a taken one is never given twice');
  shown.update(undefined, spec);
  shown.update('127.0.0.1', spec);
  await waitFor('it again', () => changes === 3);
  t.same(shown.shown, [{ port, address }]);
  const none = published(
    new PublicPorts({ publicHost: 'localhost', publicPorts: [10_000, 10_009] }, async () => false),
  );
  none.update('127.0.0.1', spec);
  await waitFor('the failure', () => failed.length === 1);
  t.same([none.shown, failed], [[], [port]]);
  for (const each of [shown, second]) each.update(undefined, spec);
});

t.test('settings of public ports', async (t) => {
  const read = (env: Record<string, string>) => {
    const reader = new EnvReader(env);
    const settings = readPublicPorts(reader);
    reader.finish();
    return settings;
  };
  t.same(read({}), { publicHost: '', publicPorts: [10_000, 19_999] });
  t.same(read({ SLIPWAY_PUBLIC_HOST: '[fd00::1]', SLIPWAY_PUBLIC_PORTS: '1024-1024' }), {
    publicHost: 'fd00::1',
    publicPorts: [1_024, 1_024],
  });
  for (const range of ['1023-2000', '5000-4999', '1-65536', '10000', '-', '1e4-2e4', '10000-19999x'])
    t.throws(() => read({ SLIPWAY_PUBLIC_PORTS: range }), { message: /SLIPWAY_PUBLIC_PORTS is/ }, range);
  for (const host of ['http://a', 'a b', 'a:22', 'a/b', 'x'.repeat(300)])
    t.throws(() => read({ SLIPWAY_PUBLIC_HOST: host }), { message: /SLIPWAY_PUBLIC_HOST is/ }, host);
  const listenHost = (publicHost: string) => new PublicPorts({ publicHost, publicPorts: [1_024, 1_024] }).listenHost;
  t.same(['127.0.0.1', '::1', 'localhost', 'gpu1.example'].map(listenHost), [
    '127.0.0.1',
    '::1',
    'localhost',
    undefined,
  ]);
});

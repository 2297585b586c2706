/** Who reaches what from a container: the agent's bridge, and nothing else of the host, nor a neighbour. */
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import t from 'tap';
import type { Test } from 'tap';
import { launchOf, makeExecutor, startContainer } from '../../../helpers/containers.ts';
import { podmanSkip, startPodman } from '../../../helpers/podman.ts';
import { waitFor } from '../../../helpers/wait-for.ts';

t.setTimeout(120_000);

/** Says of each address and port whether a connection can be made, in order. */
const PROBE = `
import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit('|', 1)
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    probe = socket.socket(family)
    probe.settimeout(1.5)
    try:
        address = socket.getaddrinfo(host, int(port), family)[0][4]
        probe.connect(address)
        print(target, 'open', flush=True)
    except OSError:
        print(target, 'shut', flush=True)
`;

/** Listens as a program of this host does, on all addresses unless one is said; it ends with the test. */
async function listen(t: Test, host: string): Promise<number> {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  t.teardown(() => new Promise((resolve) => { server.close(resolve); }));
  return (server.address() as AddressInfo).port;
}

t.test('networks of containers', { skip: podmanSkip }, async (t) => {
  const podman = await startPodman();
  let bridgePort = 0;
  const { executor, networks } = makeExecutor(podman, {}, async (address) => (bridgePort = await listen(t, address)));
  const bridge = new URL(await executor.bridgeUrl());
  t.equal(Number(bridge.port), bridgePort);
  // What stands for core and PostgreSQL here: they may listen everywhere.
  const everywhere = await listen(t, '0.0.0.0');
  const everywhere6 = await listen(t, '::');
  const host = Object.values(networkInterfaces()).flat().find((entry) => entry!.family === 'IPv4' && !entry!.internal)!.address;

  const neighbour = launchOf('exec python3 -u -m http.server 8000');
  const other = await startContainer(executor, neighbour);
  await waitFor('the neighbour to listen', () => neighbour.output().includes('8000') && other.address);
  t.ok(await fetch(`http://${other.address}:8000/`).then((response) => response.ok), 'the host reaches a unit: health checks do');

  const probe = launchOf('', {});
  const own = other.address.replace(/\d+$/, '1');
  const targets = [
    `${bridge.hostname}|${bridge.port}`, `${bridge.hostname}|${everywhere}`, `${host}|${everywhere}`, `${own}|${everywhere}`,
    `${bridge.hostname}|${everywhere6}`, `${other.address}|8000`, '169.254.169.254|80',
  ];
  const unit = await startContainer(executor, { ...probe, command: ['/usr/bin/python3', '-c', PROBE, ...targets] });
  t.same(await unit.ended, { code: 0, signal: undefined, failure: undefined });
  const expected = targets.map((target, index) => `${target} ${index === 0 ? 'open' : 'shut'}`);
  t.same(probe.output().trim().split('\n'), expected, 'the bridge answers, the rest does not');

  await t.test('nor by the address that the host has by itself on IPv6', async (t) => {
    const names = (await podman.cli('ps', '--format={{.Names}}')).trim().split('\n');
    const inOther = names.find((name) => name.endsWith(neighbour.unitId))!;
    const list = (await podman.cli('network', 'ls', '--format={{.Name}}')).split('\n');
    const found = await podman.cli('network', 'inspect', list.find((name) => name.endsWith(neighbour.unitId))!);
    const [{ network_interface: device }] = JSON.parse(found) as [{ network_interface: string }];
    const link = networkInterfaces()[device]?.find((entry) => entry.family === 'IPv6')?.address;
    if (!link) return t.pass('no IPv6 here');
    t.match(await podman.cli('exec', inOther, '/usr/bin/python3', '-c', PROBE, `${link}%eth0|${everywhere6}`), 'shut');
  });

  await t.test('rules and address stay while a unit runs, and go after the last', async (t) => {
    const rules = (): string => execFileSync('iptables-save', ['-t', 'mangle'], { encoding: 'utf8' });
    t.match(rules(), `-d ${bridge.hostname}/32`);
    other.kill();
    await other.ended;
    await executor.close();
    await networks.close();
    t.notMatch(rules(), `-d ${bridge.hostname}/32`);
    t.notOk(Object.values(networkInterfaces()).flat().some((entry) => entry!.address === bridge.hostname));
  });
});

/**
 * Network access of a container on either engine: it reaches the agent's bridge, and nothing else of the host, nor a
 * neighbour.
 */
import { execFileSync } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Test } from 'tap';
import { launchOf, makeExecutor, startContainer } from '../../../helpers/engines/containers.ts';
import type { TestEngine } from '../../../helpers/system/test-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

/** Says of each address and port whether a connection can be made, in order. */
const PROBE = `
import socket, sys
from concurrent.futures import ThreadPoolExecutor

def ask(target):
    host, port = target.rsplit('|', 1)
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    probe = socket.socket(family)
    probe.settimeout(1.5)
    try:
        address = socket.getaddrinfo(host, int(port), family)[0][4]
        probe.connect(address)
        return 'open'
    except OSError:
        return 'shut'

targets = sys.argv[1:]
for target, answer in zip(targets, ThreadPoolExecutor(len(targets)).map(ask, targets)):
    print(target, answer, flush=True)
`;

/** Listens as a program of this host does, on all addresses unless one is said; it ends with the test. */
async function listen(t: Test, host: string): Promise<number> {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  t.teardown(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
      }),
  );
  return (server.address() as AddressInfo).port;
}

/** Runs them all as parts of a test. */
export async function networkCases(t: Test, engine: TestEngine): Promise<void> {
  let bridgePort = 0;
  const { executor, networks } = makeExecutor(engine, {}, async (address) => (bridgePort = await listen(t, address)));
  const bridge = new URL(await executor.bridgeUrl());
  t.equal(Number(bridge.port), bridgePort);
  // Stands in for core and PostgreSQL, which may listen on all addresses.
  const everywhere = await listen(t, '0.0.0.0');
  const everywhere6 = await listen(t, '::');
  const host = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry!.family === 'IPv4' && !entry!.internal)!.address;

  const neighbour = launchOf('exec python3 -u -m http.server 8000');
  const other = await startContainer(executor, neighbour);
  await waitFor('the neighbour to listen', () => neighbour.output().includes('8000') && other.address);
  t.ok(
    await fetch(`http://${other.address}:8000/`).then((response) => response.ok),
    'the host reaches a workload: health checks do',
  );

  const probe = launchOf('', {});
  const own = other.address.replace(/\d+$/, '1');
  const targets = [
    `${bridge.hostname}|${bridge.port}`,
    `${bridge.hostname}|${everywhere}`,
    `${host}|${everywhere}`,
    `${own}|${everywhere}`,
    `${bridge.hostname}|${everywhere6}`,
    `${other.address}|8000`,
    '169.254.169.254|80',
  ];
  const workload = await startContainer(executor, { ...probe, command: ['/usr/bin/python3', '-c', PROBE, ...targets] });
  t.same(await workload.ended, { code: 0, signal: undefined, failure: undefined });
  const expected = targets.map((target, index) => `${target} ${index === 0 ? 'open' : 'shut'}`);
  t.same(probe.output().trim().split('\n'), expected, 'the bridge answers, the rest does not');

  await t.test("nor by the host's link-local IPv6 address", async (t) => {
    const inOther = (await engine.names())
      .trim()
      .split('\n')
      .find((name) => name.endsWith(neighbour.workloadId))!;
    const device = Object.values(networkInterfaces()).find((entries) =>
      entries!.some(({ address }) => address === own),
    );
    const link = device?.find(({ family }) => family === 'IPv6')?.address;
    if (!link) return t.pass('no IPv6 here');
    t.match(await engine.exec(inOther, '/usr/bin/python3', '-c', PROBE, `${link}%eth0|${everywhere6}`), 'shut');
  });

  await t.test('rules and address stay while a workload runs, and go after the last', async (t) => {
    const rules = (): string => execFileSync('iptables-save', ['-t', 'mangle'], { encoding: 'utf8' });
    t.match(rules(), `-d ${bridge.hostname}/32`);
    other.kill();
    await other.ended;
    await executor.close();
    await networks.close();
    t.notMatch(rules(), `-d ${bridge.hostname}/32`);
    t.notOk(
      Object.values(networkInterfaces())
        .flat()
        .some((entry) => entry!.address === bridge.hostname),
    );
  });
}

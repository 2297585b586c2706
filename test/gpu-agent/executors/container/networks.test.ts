// test: alone, python, 10 s
/**
 * Network access of a container on a real Podman. A test's Podman also removes what a killed agent left of its
 * networks.
 */
import { execFileSync } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { askEngine } from '@slipway/gpu-agent/executors/container/engine';
import { HostFirewall } from '@slipway/gpu-agent/executors/container/host-firewall';
import { hostPrograms } from '@slipway/gpu-agent/executors/container/host-programs';
import { interfacePrefix, WorkloadNetworks } from '@slipway/gpu-agent/executors/container/workload-networks';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { freshId } from '../../../helpers/engines/containers.ts';
import { podmanSkip, startPodman } from '../../../helpers/engines/podman.ts';
import { networkCases } from './network-cases.ts';

t.setTimeout(600_000);

t.test('networks of containers', { skip: podmanSkip }, async (t) => networkCases(t, await startPodman()));

t.test('concurrent calls set each rule once', { skip: podmanSkip }, async (t) => {
  const prefix = interfacePrefix(freshId());
  const firewall = new HostFirewall(prefix, hostPrograms);
  t.teardown(() => firewall.close());
  await Promise.all(Array.from({ length: 4 }, () => firewall.open({ address: '127.0.0.9', port: 9 })));
  const rules = execFileSync('iptables-save', ['-t', 'mangle'], { encoding: 'utf8' }).split('\n');
  t.equal(rules.filter((rule) => rule === `-A INPUT -j slipway-${prefix}-in`).length, 1);
});

t.test('a pause and an end follow a change that is under way', { skip: podmanSkip }, async (t) => {
  const prefix = interfacePrefix(freshId());
  const firewall = new HostFirewall(prefix, hostPrograms);
  t.teardown(() => firewall.close());
  const rules = (): string => execFileSync('iptables-save', { encoding: 'utf8' });
  const opening = firewall.open({ address: '127.0.0.9', port: 9 });
  const pausing = firewall.pause();
  await opening;
  await pausing;
  const [first] = rules()
    .split('\n')
    .filter((rule) => rule.startsWith(`-A slipway-${prefix}-in `));
  if (firewall.isPatient) t.match(first, /--dport 9 .*-j DROP$/, 'it is not flushed again');
  const other = new HostFirewall(prefix, hostPrograms);
  const opened = other.open({ address: '127.0.0.9', port: 9 });
  await other.close();
  await opened;
  t.notMatch(rules(), prefix, 'nothing is left');
});

t.test('leftovers of a killed agent are removed with the Podman of a test', { skip: podmanSkip }, async (t) => {
  const podman = await startPodman();
  const machineId = freshId();
  const prefix = interfacePrefix(machineId);
  const firewall = new HostFirewall(prefix, hostPrograms);
  const networks = new WorkloadNetworks({
    machineId,
    firewall,
    programs: hostPrograms,
    asRoot: true,
    openBridge: async () => 9,
  });
  const engine = await askEngine(podman.socket, systemClock);
  const { hostname } = new URL(await networks.bridgeUrl(engine));
  const rules = (): string =>
    execFileSync('iptables-save', { encoding: 'utf8' }) + execFileSync('ip6tables-save', { encoding: 'utf8' });
  const hasAddress = (): boolean =>
    Object.values(networkInterfaces())
      .flat()
      .some((entry) => entry!.address === hostname);
  t.match(rules(), `slipway-${prefix}-in`);
  t.ok(hasAddress());
  const ids = ['abcdefghijklm1', 'abcdefghijklm2'];
  const names = await Promise.all(ids.map((id) => networks.open(engine, id)));
  const there = (await engine.docker.listNetworks()).map(({ Name }) => Name);
  t.same(
    names.filter((name) => !there.includes(name)),
    [],
    'ids that differ only in their last character have a network each',
  );
  await podman.remove();
  t.notMatch(rules(), `slipway-${prefix}-`);
  t.notOk(hasAddress());
});

/**
 * The system of `npm run chaos`: two cores, two facades behind Envoy, three agents with network namespaces of their
 * own, Podman in the namespace of the first, and PostgreSQL with a standby that Patroni keeps.
 */
import { existsSync } from 'node:fs';
import postgres from 'postgres';
import type { Test } from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import type { CuttingProxy } from '../../helpers/net/cutting-proxy.ts';
import { cuttingProxy } from '../../helpers/net/cutting-proxy.ts';
import type { Host } from '../../helpers/net/hosts.ts';
import { skipWithoutHosts, startHosts } from '../../helpers/net/hosts.ts';
import { ENVOY } from '../../helpers/system/edge.ts';
import { skipWithoutPython } from '../../helpers/system/handlers.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { skipWithoutPatroni, startCluster } from '../patroni/cluster.ts';

const AGENTS = ['agent-1', 'agent-2', 'agent-3'];
const CLUSTER = ['etcd', 'db-1', 'db-2'];
/** Seconds after which the standby replaces a silent primary. A busy machine is silent for less. */
const SILENT_SECONDS = 6;

export type ChaosSystem = Awaited<ReturnType<typeof startChaosSystem>>;

/** Starts all of it that this machine can run, and ends it with the test. */
export async function startChaosSystem(t: Test) {
  const without = (what: string, reason: string | false): boolean => {
    if (reason !== false) t.comment(`without ${what}: ${reason}`);
    return reason !== false;
  };
  const noHosts = without('network namespaces', skipWithoutHosts());
  const noCluster = noHosts || without('a standby', skipWithoutPatroni());
  const noPodman = noHosts || without('containers', podmanSkip || skipWithoutPython('new'));
  if (!existsSync(ENVOY)) t.comment('without Envoy: run `npm run test:python`');

  const hosts = noHosts ? [] : await startHosts(t, [...(noCluster ? [] : CLUSTER), ...AGENTS]);
  const agentHosts = hosts.filter(({ name }) => AGENTS.includes(name));
  const podman = noPodman ? undefined : await startPodman({ inside: agentHosts[0]!.inside });
  const database = noCluster ? undefined : await startPair(t, hosts);
  const host = hosts[0]?.testAddress;
  const proxies: CuttingProxy[] = [];
  const proxied = async (target: string): Promise<string> => {
    const { hostname, port } = new URL(`tcp://${target}`);
    const proxy = await cuttingProxy(t, { host: hostname, port: Number(port) }, host);
    proxies.push(proxy);
    return `${host ?? '127.0.0.1'}:${proxy.port}`;
  };
  const processes = await startProcesses(t, {
    ...{ cores: 2, facades: 2, agents: AGENTS.length, names: true, edge: existsSync(ENVOY) },
    ...(host !== undefined && { host }),
    inside: (name) => agentHosts.find((each) => each.name === name)?.inside,
    agentEnv: (number): Record<string, string> =>
      number === 1 && podman ? { SLIPWAY_AGENT_CONTAINERS: podman.socket } : {},
    databaseUrl: async (text) => {
      if (database) return database.urlAt(await Promise.all(database.nodes.map((node) => proxied(node.host))));
      const url = new URL(text);
      url.host = await proxied(url.host);
      return url.href;
    },
  });
  return {
    slipway: { ...processes, sql: database?.sql ?? processes.sql },
    agentHosts,
    podman,
    /** PostgreSQL with its standby. `undefined`: `slipway.database` is all there is. */
    database: database && { ...database, hosts: hosts.filter(({ name }) => CLUSTER.includes(name)) },
    /** Every connection of a core to the database goes through one of them. */
    proxies,
  };
}

/** Starts PostgreSQL with a standby, and makes the database of cores. */
async function startPair(t: Test, hosts: readonly Host[]) {
  const places = hosts.filter(({ name }) => CLUSTER.includes(name));
  const { url, urlAt, ...cluster } = await startCluster(t, { places, silentSeconds: SILENT_SECONDS });
  const admin = postgres(url('postgres'), { max: 1 });
  await admin`CREATE DATABASE slipway`;
  await admin.end();
  const sql = postgres(url('slipway'), { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end({ timeout: 1 }));
  return { ...cluster, sql, urlAt: (addresses: readonly string[]) => urlAt(addresses.join(), 'slipway') };
}

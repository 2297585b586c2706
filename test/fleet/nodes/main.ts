/**
 * Measures how soon workers run on many nodes of a real API server whose kubelets kwok plays, and what each program
 * costs. `--plain`: the same machines without Kubernetes, whose workers are processes. `--seconds`: counts the CPU of
 * so many seconds at least, so that two runs have equal work. Run it as
 * `npx node test/fleet/nodes/main.ts --nodes 200`.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { startDatabase } from '@slipway/tools/bench/database';
import { cpuUs } from '@slipway/tools/bench/load/process-usage';
import type { Cluster } from '@slipway/tools/kube/cluster';
import { startCluster } from '@slipway/tools/kube/cluster';
import { quietPort } from '../../helpers/net/ports.ts';
import { startMeasured } from '../measured-core.ts';
import { gpuNodes, startAgents } from './node-agents.ts';
import { NodeFleet } from './node-fleet.ts';

const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const;

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '200' },
    plain: { type: 'boolean' },
    seconds: { type: 'string', default: '0' },
    profile: { type: 'string' },
  },
});
const nodes = Number(values.nodes);
const began = performance.now();
const said = (text: string): void =>
  console.log(`${((performance.now() - began) / 1_000).toFixed(1).padStart(6)} s  ${text}`);

async function cluster(): Promise<Cluster> {
  return startCluster({
    folder: await mkdtemp(join(tmpdir(), 'slipway-kube-')),
    ports: [await quietPort(), await quietPort(), await quietPort(), await quietPort()],
    controllers: true,
    nodes: gpuNodes(nodes),
  });
}

const database = await startDatabase({});
const measured = await startMeasured(database, values.profile);
const core = {
  addresses: () => [measured.core().ready.address!],
  clients: measured.clients,
  rootKey: measured.rootKey,
  sql: measured.sql,
};
const kube = values.plain ? undefined : await cluster();
const stopAgents = await startAgents(core, nodes, kube);
const fleet = new NodeFleet(core, nodes, kube);
await fleet.joined();
said(`${nodes} machines joined`);

/** Returns CPU seconds by program. */
function used(): Map<string, number> {
  const { user, system } = process.cpuUsage();
  return new Map([
    ['core', cpuUs(measured.core().pid) / 1e6],
    ['PostgreSQL', cpuUs(database.pid) / 1e6],
    ['agents', (user + system) / 1e6],
    ...(kube ? PROGRAMS.map((name): [string, number] => [name, cpuUs(kube.pid(name)) / 1e6]) : []),
  ]);
}

const before = used();
await fleet.deploy();
let last = '';
const fill = performance.now();
await fleet.filled(({ placed, pods, bound, running }) => {
  const line = `placed ${placed}, Pods ${pods}, bound ${bound}, running ${running}`;
  if (line !== last) said(line);
  last = line;
});
const tookMs = performance.now() - fill;
said(`filled ${fleet.workers} workers in ${(tookMs / 1_000).toFixed(1)} s`);
await delay(systemClock, Math.max(0, Number(values.seconds) * 1_000 - tookMs));
for (const [name, seconds] of used()) {
  const spent = seconds - before.get(name)!;
  said(`${name}: ${spent.toFixed(1)} s of CPU, ${((spent * 1_000) / fleet.workers).toFixed(1)} ms a worker`);
}
await fleet.empty();
said('all workers ended');
await stopAgents();
await measured.stop();
await database.stop();
await kube?.stop();

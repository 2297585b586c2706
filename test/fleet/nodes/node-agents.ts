/** Real agents by the hundred in one process. Each is a machine of its own: a Kubernetes node, or one without. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Agent } from '@slipway/gpu-agent/app';
import { buildAgent } from '@slipway/gpu-agent/app';
import { readAgentConfig } from '@slipway/gpu-agent/config';
import { createLogger } from '@slipway/kit/log/logger';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { FakeNode } from '@slipway/tools/kube/fake-nodes';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { agentToken } from '../../helpers/kube/agent-account.ts';
import { many, range } from '../../helpers/many.ts';
import type { FleetCore } from '../fleet-options.ts';

/** GPUs of a node. */
export const GPUS = 8;
/** GPU type of all nodes, by the driver's name. */
export const GPU = 'NVIDIA H100 80GB HBM3';

/** Returns nodes with eight GPUs each, by the labels of NVIDIA's GPU feature discovery. */
export function gpuNodes(count: number): FakeNode[] {
  const labels = { 'nvidia.com/gpu.product': GPU.replaceAll(' ', '-'), 'nvidia.com/gpu.memory': '81559' };
  return range(count).map((n) => ({ name: nodeName(n), gpus: GPUS, labels }));
}

function nodeName(n: number): string {
  return `node-${String(n).padStart(4, '0')}`;
}

/**
 * Starts an agent for each node. Without a cluster the machines have the same GPUs and run commands. The result stops
 * all of them and removes their folders.
 */
export async function startAgents(core: FleetCore, count: number, cluster?: Cluster): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-nodes-'));
  const kubeconfig = cluster && (await agentKubeconfig(cluster, folder));
  const agents = await many(range(count), async (n) => {
    const name = nodeName(n);
    const request = { name, scope: KeyScope.AGENT, endpointIds: [], accountId: '', permissions: undefined };
    const { secret } = await call(core.clients.keys, 'createKey', request, core.rootKey);
    const logger = createLogger('node', process.env.SLIPWAY_LOG_LEVEL ?? 'silent');
    const agent = buildAgent(
      readAgentConfig({
        SLIPWAY_CORE_ADDRESS: core.addresses().join(','),
        SLIPWAY_AGENT_KEY: secret,
        SLIPWAY_AGENT_NAME: name,
        SLIPWAY_AGENT_DATA_DIR: join(folder, name),
        SLIPWAY_WORKER_USER: 'same',
        SLIPWAY_AGENT_CONTAINERS: 'none',
        SLIPWAY_WORKER_GRACE_MS: '500',
        PATH: process.env.PATH,
        ...(kubeconfig === undefined ? asHost() : asNode(kubeconfig, name)),
      }),
      { logger },
    );
    await agent.start();
    return agent;
  });
  return async () => {
    await many(agents, (agent: Agent) => agent.stop());
    await rm(folder, { recursive: true, force: true });
  };
}

/** Writes a kubeconfig with the rights of agents: the calls of administrators pass the API server's queues by. */
async function agentKubeconfig(cluster: Cluster, folder: string): Promise<string> {
  const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8')) as { users: { user: object }[] };
  config.users[0]!.user = { token: await agentToken(cluster) };
  const path = join(folder, 'kubeconfig');
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

function asNode(kubeconfig: string, name: string): Record<string, string> {
  return {
    SLIPWAY_KUBERNETES: 'true',
    SLIPWAY_KUBERNETES_NODE: name,
    SLIPWAY_KUBERNETES_HOST_IP: '127.0.0.1',
    SLIPWAY_KUBERNETES_CONFIG: kubeconfig,
  };
}

function asHost(): Record<string, string> {
  return { SLIPWAY_VIRTUAL_GPUS: `${GPU}:81559x${GPUS}`, SLIPWAY_AGENT_ALLOW_COMMANDS: 'true' };
}

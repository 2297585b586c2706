// test: alone, kubernetes-node, postgres, python, 110 s
/**
 * A real kubelet and containerd run workers of a real image, which they pull with credentials, while processes are
 * killed and the node is drained: no job is lost, and none has two outcomes.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import { kubeProgram } from '@slipway/tools/kube/kube-programs';
import { REAL_NODE, REAL_NODE_IP } from '@slipway/tools/kube/real-node/real-node';
import t from 'tap';
import { startPodman } from '../helpers/engines/podman.ts';
import { makeWorkerImage } from '../helpers/engines/podman-images.ts';
import { REGISTRY_USER, registrySkip, startRegistry } from '../helpers/engines/registry.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { skipWithoutRealNode, startRealCluster } from '../helpers/kube/real-node.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { PYTHONS, skipWithoutPython } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const PODS = '/api/v1/namespaces/default/pods';
/** Jobs that are submitted before each fault. Two workers run them one by one, a second each. */
const JOBS = 10;
const PATIENCE_MS = 180_000;

interface Output {
  number: number;
  mark: string;
}

t.setTimeout(900_000);

const skip = skipWithoutRealNode() || registrySkip || skipWithoutPython('new');
t.test('a real node', { skip }, async (t) => {
  const podman = await startPodman();
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../handlers/mark.py'), 'localhost/mark:1');
  const registry = await startRegistry(podman);
  const imageName = await registry.push('localhost/mark:1', 'mark:1');
  const cluster = await startRealCluster();
  const kubectl = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(kubeProgram('kubectl'), [`--kubeconfig=${cluster.kubeconfig}`, ...args])).stdout;
  const slipway = await startProcesses(t, {
    env: { SLIPWAY_PRIVATE_REGISTRIES: registry.address },
    agentEnv: {
      SLIPWAY_KUBERNETES: 'true',
      SLIPWAY_KUBERNETES_NODE: REAL_NODE,
      SLIPWAY_KUBERNETES_HOST_IP: REAL_NODE_IP,
      SLIPWAY_KUBERNETES_CONFIG: cluster.kubeconfig,
      SLIPWAY_AGENT_ALLOW_COMMANDS: 'false',
      SLIPWAY_AGENT_NAME: REAL_NODE,
    },
  });
  const [agent] = slipway.agents;
  const credentials = { ...REGISTRY_USER, name: 'test' };
  const { registryAuth } = await call(slipway.clients.registryAuths, 'createRegistryAuth', credentials, slipway.key);
  const endpointId = await slipway.createEndpoint({
    command: [],
    imageName,
    registryAuthId: registryAuth!.id,
    fields: { workersMin: 2 },
    workersMax: 2,
    retryLimit: 10,
  });
  const jobs = endpointJobs(slipway, endpointId);
  const ids: string[] = [];
  const ended = async (): Promise<number> => {
    const [row] = await slipway.sql<{ n: number }[]>`
      SELECT count(*)::int AS n FROM job WHERE endpoint_id = ${endpointId} AND finished_at IS NOT NULL`;
    return row!.n;
  };
  const running = async (): Promise<number> => {
    const [row] = await slipway.sql<{ n: number }[]>`
      SELECT count(*)::int AS n FROM job WHERE endpoint_id = ${endpointId} AND state = 'IN_PROGRESS'`;
    return row!.n;
  };
  const pods = async (): Promise<string[]> =>
    (await cluster.api.send<{ items: KubeObject[] }>('GET', PODS)).items.map(({ metadata }) => metadata.name).sort();
  /** Does something while two jobs run and others wait. Returns how many Pods went on when all jobs have ended. */
  const during = async (what: string, fault: () => Promise<unknown>): Promise<number> => {
    const before = await pods();
    for (let n = 0; n < JOBS; n += 1) ids.push(await jobs.run({ number: ids.length, pause: 1 }));
    await waitFor(`two jobs to run before ${what}`, async () => (await running()) === 2, PATIENCE_MS);
    const startedMs = Date.now();
    await fault();
    await waitFor(`the jobs to end after ${what}`, async () => (await ended()) === ids.length, PATIENCE_MS);
    const { jobs: counts } = await jobs.health();
    const same = (await pods()).filter((name) => before.includes(name)).length;
    t.comment(`${what}: ${Date.now() - startedMs} ms, ${counts.retried} attempts lost so far, ${same} Pods went on`);
    return same;
  };

  await waitFor('two Pods', async () => (await pods()).length === 2, PATIENCE_MS);
  await during('nothing', async () => undefined);
  t.match(await kubectl('get', 'pods', '--output=json'), '"imageID": "127.0.0.1:');
  await during('kill -9 of the agent', async () => {
    await agent!.kill();
    await agent!.start();
  });
  for (const program of ['kubelet', 'kube-apiserver'] as const) {
    const wentOn = await during(`kill -9 of ${program}`, async () => {
      await cluster.kill(program);
      await cluster.start(program);
    });
    t.equal(wentOn, 2, `no worker ends because ${program} is away`);
  }
  await during('a drain by Kubernetes', async () => {
    await kubectl('drain', REAL_NODE, '--force', '--delete-emptydir-data', '--timeout=60s');
    await kubectl('uncordon', REAL_NODE);
  });
  await during('a drain by Slipway', async () => {
    const drain = { id: REAL_NODE, deadlineMs: undefined, reason: 'a test' };
    await call(slipway.clients.machines, 'drainMachine', drain, slipway.rootKey);
    await waitFor('its Pods to end', async () => (await pods()).length === 0, PATIENCE_MS);
    await call(slipway.clients.machines, 'cordonMachine', { id: REAL_NODE, cordoned: false }, slipway.rootKey);
  });

  const outputs: (Output | undefined)[] = [];
  for (const id of ids) outputs.push((await jobs.look(id)).output as Output | undefined);
  t.same(
    outputs.map((output) => output?.number),
    ids.map((_, number) => number),
    'all are COMPLETED, each with its own output',
  );
  const { jobs: counts } = await jobs.counted({ inProgress: 0, inQueue: 0 });
  t.match(counts, { completed: ids.length, failed: 0 }, 'each has one outcome');
  t.equal(new Set(outputs.map((output) => output?.mark)).size, ids.length);
  await slipway.request('PATCH', `/v1/endpoints/${endpointId}`, { workersMin: 0, workersMax: 0 });
  await waitFor('the last Pod to be gone', async () => (await pods()).length === 0, PATIENCE_MS);
});

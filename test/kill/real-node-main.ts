/**
 * A real kubelet and containerd run workers of a real image while processes are killed and the node is drained: no job
 * is lost, none has two outcomes. Needs root and the programs of `npm run kube -- --real-node --build`, which take too
 * long to build for the suite. Run it as `npx node test/kill/real-node-main.ts`.
 */
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startCluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import { kubeProgram } from '@slipway/tools/kube/kube-programs';
import t from 'tap';
import { startPodman } from '../helpers/engines/podman.ts';
import { makeWorkerImage } from '../helpers/engines/podman-images.ts';
import { REGISTRY_USER, startRegistry } from '../helpers/engines/registry.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { quietPort } from '../helpers/net/ports.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { PYTHONS } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const NODE = 'real-0';
const NODE_IP = '10.99.0.1';
const PODS = '/api/v1/namespaces/default/pods';
/** Jobs that are submitted before each fault. Two workers run them one by one, a second each. */
const JOBS = 10;
const PATIENCE_MS = 180_000;

interface Output {
  number: number;
  mark: string;
}

t.setTimeout(900_000);

t.test('a real node', async (t) => {
  const podman = await startPodman();
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../handlers/mark.py'), 'localhost/mark:1');
  const registry = await startRegistry(podman);
  const imageName = await registry.push('localhost/mark:1', 'mark:1');
  const cluster = await startCluster({
    folder: await mkdtemp(join(tmpdir(), 'slipway-kube-')),
    ports: [await quietPort(), await quietPort(), await quietPort(), await quietPort()],
    controllers: true,
    realNode: true,
  });
  t.teardown(() => cluster.stop());
  const kubectl = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(kubeProgram('kubectl'), [`--kubeconfig=${cluster.kubeconfig}`, ...args])).stdout;
  const slipway = await startProcesses(t, {
    env: { SLIPWAY_PRIVATE_REGISTRIES: registry.address },
    agentEnv: {
      SLIPWAY_KUBERNETES: 'true',
      SLIPWAY_KUBERNETES_NODE: NODE,
      SLIPWAY_KUBERNETES_HOST_IP: NODE_IP,
      SLIPWAY_KUBERNETES_CONFIG: cluster.kubeconfig,
      SLIPWAY_AGENT_ALLOW_COMMANDS: 'false',
      SLIPWAY_AGENT_NAME: NODE,
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
  /** Does something while two jobs run and others wait. Returns when all have ended. */
  const during = async (what: string, fault: () => Promise<unknown>): Promise<void> => {
    const before = await pods();
    for (let n = 0; n < JOBS; n += 1) ids.push(await jobs.run({ number: ids.length, pause: 1 }));
    await waitFor(`two jobs to run before ${what}`, async () => (await running()) === 2, PATIENCE_MS);
    const startedMs = Date.now();
    await fault();
    await waitFor(`the jobs to end after ${what}`, async () => (await ended()) === ids.length, PATIENCE_MS);
    const { jobs: counts } = await jobs.health();
    const same = (await pods()).filter((name) => before.includes(name)).length;
    t.comment(`${what}: ${Date.now() - startedMs} ms, ${counts.retried} attempts lost so far, ${same} Pods went on`);
  };

  await waitFor('two Pods', async () => (await pods()).length === 2, PATIENCE_MS);
  await during('nothing', async () => undefined);
  t.match(await kubectl('get', 'pods', '--output=json'), '"imageID": "127.0.0.1:');
  await during('kill -9 of the agent', async () => {
    await agent!.kill();
    await agent!.start();
  });
  await during('kill -9 of the kubelet', async () => {
    await cluster.kill('kubelet');
    await cluster.start('kubelet');
  });
  await during('kill -9 of the API server', async () => {
    await cluster.kill('kube-apiserver');
    await cluster.start('kube-apiserver');
  });
  await during('a drain by Kubernetes', async () => {
    await kubectl('drain', NODE, '--force', '--delete-emptydir-data', '--timeout=60s');
    await kubectl('uncordon', NODE);
  });
  await during('a drain by Slipway', async () => {
    const drain = { id: NODE, deadlineMs: undefined, reason: 'a test' };
    await call(slipway.clients.machines, 'drainMachine', drain, slipway.rootKey);
    await waitFor('its Pods to end', async () => (await pods()).length === 0, PATIENCE_MS);
    await call(slipway.clients.machines, 'cordonMachine', { id: NODE, cordoned: false }, slipway.rootKey);
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

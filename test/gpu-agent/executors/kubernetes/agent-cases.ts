/**
 * The whole path on a real API server: core places a worker on the agent of a node, it runs as a Pod, takes a job over
 * the bridge and ends; and an agent that is replaced in the middle of a job loses nothing.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GpuHandover } from '@slipway/proto/gen/slipway/v1/machine';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startKubelet } from '../../../helpers/kube/fake-kubelet.ts';
import { scratch } from '../../../helpers/scratch.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { startRealAgent } from '../../../helpers/system/real-agent.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const PODS = '/api/v1/namespaces/default/pods';

/** Runs them all as parts of a test. */
export async function agentCases(t: Test, cluster: Cluster): Promise<void> {
  const kubelet = await startKubelet(cluster, {
    node: 'node-1',
    gpus: 2,
    labels: { 'nvidia.com/gpu.product': 'NVIDIA-L4', 'nvidia.com/gpu.memory': '24576' },
    leaves: (pod) => pod.metadata.name === 'train',
  });
  t.teardown(() => kubelet.stop());
  await cluster.api.send('POST', PODS, {
    metadata: { name: 'train' },
    spec: {
      nodeName: 'node-1',
      containers: [{ name: 'c', image: 'train', resources: { limits: { 'nvidia.com/gpu': '1' } } }],
    },
  });
  const core = await startReplicas(t);
  const env = {
    SLIPWAY_KUBERNETES: 'true',
    SLIPWAY_KUBERNETES_NODE: 'node-1',
    SLIPWAY_KUBERNETES_HOST_IP: '127.0.0.1',
    SLIPWAY_KUBERNETES_CONFIG: cluster.kubeconfig,
    SLIPWAY_AGENT_ALLOW_COMMANDS: 'false',
  };
  const first = await startRealAgent(t, core, env);
  const template = (handler: string): Promise<string> =>
    core.createTemplate({ imageName: 'localhost/worker:1', startCommand: jsHandler(handler) });
  const pods = async (): Promise<string[]> => {
    const { items } = await cluster.api.send<{ items: KubeObject[] }>('GET', PODS);
    return items.map(({ metadata }) => metadata.name).filter((name) => name !== 'train');
  };

  await t.test('its machine has the GPUs of the node, and names foreign holders', async (t) => {
    const machine = await waitFor('the machine', async () => {
      const { machines } = await call(core.clients.machines, 'listMachines', {}, core.rootKey);
      return machines.find(({ machine: each }) => each?.gpus.some(({ occupiedBy }) => occupiedBy !== ''))?.machine;
    });
    t.match(machine, {
      name: 'node-1',
      standbyMax: 0,
      cpuCount: 64,
      memoryMib: 512 * 1024,
      containerEngine: { name: 'kubernetes', gpuHandover: GpuHandover.DEVICE_REQUEST },
    });
    t.same(
      machine.gpus.map(({ uuid, name, memoryMib, occupiedBy }) => [uuid, name, memoryMib, occupiedBy]),
      [
        ['node-1-gpu-0', 'NVIDIA L4', 24_576, ''],
        ['node-1-gpu-1', 'NVIDIA L4', 24_576, 'Pod default/train'],
      ],
    );
    const gpus = { gpuIds: ['NVIDIA L4'], gpuCount: 2 };
    const endpointId = await core.createEndpoint({ templateId: await template('talker.js'), ...gpus });
    const why = await waitFor('the reason', async () => {
      const { workers } = await call(core.clients.jobs, 'getHealth', { endpointId }, core.rootKey);
      return workers!.cannotRunReason || workers!.throttledReason;
    });
    t.match(why, /1 is held outside Slipway, by Pod default\/train/);
    await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
  });

  await t.test("a job runs in a Pod, whose log is the worker's", async (t) => {
    const endpointId = await core.createEndpoint({ templateId: await template('talker.js'), workersMax: 1 });
    const { id } = await core.submit(endpointId, { words: ['ahoy'] });
    const job = await core.wait(endpointId, id);
    t.match(job, { state: 3 });
    const [workerId = ''] = await pods();
    t.equal(job.workerId, workerId);
    const log = await waitFor('its log', async () => {
      const request = { workerId, tailBytes: 1_000 };
      const text = (await call(core.clients.machines, 'getWorkerLog', request, core.key)).log.toString();
      return text.includes('saying ahoy') && text;
    });
    t.match(log, /the talker is here\nsaying ahoy\n/);
    await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
    await waitFor('its Pod to be gone', async () => (await pods()).length === 0);
  });

  await t.test('the agent is replaced while a job runs: same worker, one result', async (t) => {
    const { folder } = await scratch(t);
    const [gate, notes] = [join(folder, 'gate'), join(folder, 'notes')];
    const endpointId = await core.createEndpoint({ templateId: await template('in-flight.js'), workersMax: 1 });
    const { id } = await core.submit(endpointId, { gate, notes, ms: 0, number: 7 });
    const stateOf = async (): Promise<string | undefined> =>
      (await core.sql<{ state: string }[]>`SELECT state FROM job WHERE id = ${id}`)[0]?.state;
    await waitFor('the job to run', async () => (await stateOf()) === 'IN_PROGRESS');
    const before = await pods();
    await first.stop({ keepContainers: true });
    t.same(await pods(), before, 'the Pod goes on');
    await startRealAgent(t, core, env, first.dataDir);
    appendFileSync(gate, '');
    const job = await core.wait(endpointId, id);
    t.match(job, { state: 3, workerId: before[0], attempt: 1 });
    t.equal(readFileSync(notes, 'utf8').trim().split('\n').length, 1);
    t.same(await pods(), before);
  });
}

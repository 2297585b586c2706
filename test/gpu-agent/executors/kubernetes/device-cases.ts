/** GPUs by claim: the devices that a DRA driver offers in a real API, the claim of a Pod, and the claims of others. */
import { readApiAccess } from '@slipway/gpu-agent/executors/kubernetes/api-access';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { NodeSurvey } from '@slipway/gpu-agent/executors/kubernetes/node-survey';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import type { Test } from 'tap';
import { launchOf } from '../../../helpers/engines/containers.ts';
import { makeKubeExecutor } from '../../../helpers/kube/kube-executor.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const API = '/apis/resource.k8s.io/v1';
const CLAIMS = `${API}/namespaces/default/resourceclaims`;
const device = (name: string, uuid: string) => ({
  name,
  attributes: {
    uuid: { string: uuid },
    productName: { string: 'NVIDIA L4' },
    cudaDriverVersion: { version: '13.0.0' },
  },
  capacity: { memory: { value: '24Gi' } },
});

/** Runs them all as parts of a test. */
export async function deviceCases(t: Test, cluster: Cluster): Promise<void> {
  const { api } = cluster;
  await api.send('POST', `${API}/resourceslices`, {
    metadata: { name: 'node-0-gpus' },
    spec: {
      driver: 'gpu.nvidia.com',
      nodeName: 'node-0',
      pool: { name: 'node-0', generation: 1, resourceSliceCount: 1 },
      devices: [device('gpu-0', 'GPU-a'), device('gpu-1', 'GPU-b')],
    },
  });
  const client = new ApiClient(await readApiAccess(cluster.kubeconfig), systemClock);
  t.teardown(() => client.close());
  const survey = new NodeSurvey(client, 'node-0', createLogger('test', 'silent'));
  const gpus = await survey.gpus(await survey.node());
  const { executor, machineId } = await makeKubeExecutor(cluster, { devices: () => gpus.devices });

  await t.test('a Pod claims the exact card, and its claim is deleted with it', async (t) => {
    t.same(
      gpus.gpus.map(({ uuid, name, memoryMib }) => [uuid, name, memoryMib]),
      [
        ['GPU-a', 'NVIDIA L4', 24_576],
        ['GPU-b', 'NVIDIA L4', 24_576],
      ],
    );
    t.equal(gpus.cudaVersion, '13.0');
    const launch = launchOf('echo up; sleep 100', { gpus: [{ uuid: 'GPU-b', virtual: false }] });
    await executor.prepare(launch, () => undefined, new AbortController().signal);
    const workload = executor.start(launch);
    t.same([...executor.gpusInUse()], ['GPU-b']);
    const claim = await api.send('GET', `${CLAIMS}/${launch.workloadId}-gpus`);
    const expression = 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].uuid == "GPU-b"';
    t.match(claim, {
      metadata: { ownerReferences: [{ kind: 'Pod', name: launch.workloadId }] },
      spec: {
        devices: {
          requests: [{ exactly: { deviceClassName: 'gpu.nvidia.com', selectors: [{ cel: { expression } }] } }],
        },
      },
    });
    workload.kill();
    await workload.ended;
    await waitFor('the claim to be gone', () =>
      api.send('GET', `${CLAIMS}/${launch.workloadId}-gpus`).then(
        () => false,
        (error: { code?: number }) => error.code === 404,
      ),
    );
  });

  await t.test('a card no longer offered by the driver is refused', async (t) => {
    const launch = launchOf('', { gpus: [{ uuid: 'GPU-c', virtual: false }] });
    await t.rejects(
      executor.prepare(launch, () => undefined, new AbortController().signal),
      /its node does not offer its GPU any more/,
    );
  });

  await t.test('claims of others hold their cards', async (t) => {
    const claim: KubeObject = {
      metadata: { name: 'train' },
      spec: { devices: { requests: [{ name: 'a', exactly: { deviceClassName: 'gpu.nvidia.com' } }] } },
    };
    const { metadata } = await api.send('POST', CLAIMS, claim);
    await api.send('PATCH', `${CLAIMS}/train/status`, {
      metadata: { resourceVersion: metadata['resourceVersion'] },
      status: {
        allocation: {
          devices: { results: [{ request: 'a', driver: 'gpu.nvidia.com', pool: 'node-0', device: 'gpu-0' }] },
        },
        reservedFor: [{ resource: 'pods', name: 'train', uid: 'u' }],
      },
    });
    t.same([...(await survey.occupants(gpus, machineId, new Set()))], [['GPU-a', 'Pod default/train']]);
    await api.send('DELETE', `${CLAIMS}/train`);
  });
}

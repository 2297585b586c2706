/**
 * Processors and memory in use by Pods, from the metrics API. No kubelet runs here, so a resource with the same group
 * and fields takes the place of metrics-server.
 */

import { readApiAccess } from '@slipway/gpu-agent/executors/kubernetes/api-access';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { PodUses } from '@slipway/gpu-agent/executors/kubernetes/pod-uses';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import type { Test } from 'tap';
import { launchOf } from '../../../helpers/engines/containers.ts';
import { makeKubeExecutor } from '../../../helpers/kube/kube-executor.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const METRICS = '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods';
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'pods.metrics.k8s.io', annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
  spec: {
    group: 'metrics.k8s.io',
    scope: 'Namespaced',
    names: { plural: 'pods', singular: 'podmetrics', kind: 'PodMetrics', listKind: 'PodMetricsList' },
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

/** Makes the resource. Returns when the API serves it. */
export async function serveMetrics({ api }: Cluster): Promise<void> {
  await api.send('POST', DEFINITIONS, DEFINITION as unknown as KubeObject);
  await waitFor('the metrics API', () =>
    api.send('GET', METRICS).then(
      () => true,
      () => false,
    ),
  );
}

/** Runs them all as parts of a test. */
export async function useCases(t: Test, cluster: Cluster): Promise<void> {
  const { api } = cluster;
  const client = new ApiClient(await readApiAccess(cluster.kubeconfig), systemClock);
  t.teardown(() => client.close());

  await t.test('without a metrics server nothing is known', async (t) => {
    const lines: string[] = [];
    const logger = createLogger('test', 'info', { write: (line) => lines.push(line) });
    const uses = new PodUses({ api: client, namespace: 'default', labelSelector: 'a=b', clock: systemClock, logger });
    t.equal(await uses.of('some'), undefined);
    t.same(lines, [], 'and that is no fault');
  });

  await t.test('with one', async (t) => {
    await serveMetrics(cluster);
    const { executor, machineId } = await makeKubeExecutor(cluster);
    const launch = launchOf('sleep 100');
    await executor.prepare(launch, () => undefined, new AbortController().signal);
    const workload = executor.start(launch);
    const metrics = (name: string, containers: object[], machine = machineId): Promise<unknown> =>
      api.send('POST', METRICS, {
        apiVersion: 'metrics.k8s.io/v1beta1',
        kind: 'PodMetrics',
        metadata: { name, labels: { 'slipway.machine': machine } },
        containers,
      } as unknown as KubeObject);
    const measured = (cpu: string, memory: string) => ({ name: 'workload', usage: { cpu, memory } });
    await metrics(launch.workloadId, [measured('1234567890n', '204800Ki'), measured('10m', '1Mi')]);
    await metrics('partly', [measured('1', '1Gi'), { name: 'new' }]);
    await metrics('foreign', [measured('1', '1Gi')], 'other');
    t.same(await workload.use?.(), { processors: 1.24, memoryUsedMib: 201 }, 'the sum of its containers');
    const uses = new PodUses({
      ...{ api: client, namespace: 'default', labelSelector: `slipway.machine=${machineId}`, clock: systemClock },
      logger: createLogger('test', 'silent'),
    });
    t.equal(await uses.of('partly'), undefined, 'a Pod with a container that is not measured');
    t.equal(await uses.of('foreign'), undefined, 'a Pod of another machine');
    workload.kill();
    await workload.ended;
  });
}

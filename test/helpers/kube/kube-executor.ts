/** A real executor of Pods on a test's own cluster, and launches for it. */
import { readApiAccess } from '@slipway/gpu-agent/executors/kubernetes/api-access';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import type { KubernetesExecutorOptions } from '@slipway/gpu-agent/executors/kubernetes/kubernetes-executor';
import { KubernetesExecutor } from '@slipway/gpu-agent/executors/kubernetes/kubernetes-executor';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Cluster } from '@slipway/tools/kube/cluster';
import root from 'tap';
import { freshId } from '../engines/containers.ts';

/** Makes an executor for a new machine, or for the given one of an earlier executor. `watches`: it follows its Pods. */
export async function makeKubeExecutor(
  cluster: Cluster,
  more: Partial<KubernetesExecutorOptions> = {},
  watches = true,
) {
  const machineId = more.machineId ?? freshId().slice(0, 12);
  const executor = new KubernetesExecutor({
    api: new ApiClient(await readApiAccess(cluster.kubeconfig), systemClock),
    namespace: 'default',
    node: 'node-0',
    template: {},
    owner: undefined,
    graceSeconds: 5,
    volumes: { folder: '/nowhere', claim: '' },
    bridge: () => ({ host: '127.0.0.1', port: 9 }),
    devices: () => undefined,
    clock: systemClock,
    random: systemRandom,
    logger: createLogger('test', process.env.SLIPWAY_LOG_LEVEL ?? 'silent'),
    ...more,
    machineId,
  });
  if (watches) executor.open();
  root.teardown(() => executor.close());
  return { executor, machineId };
}

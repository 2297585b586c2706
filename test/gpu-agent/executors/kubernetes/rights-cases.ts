/** The agent needs no more rights than its page lists: everything is done by an account that has only those. */
import { readApiAccess } from '@slipway/gpu-agent/executors/kubernetes/api-access';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { NodeSurvey } from '@slipway/gpu-agent/executors/kubernetes/node-survey';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { Test } from 'tap';
import { launchOf } from '../../../helpers/engines/containers.ts';
import { agentToken } from '../../../helpers/kube/agent-account.ts';
import { makeKubeExecutor } from '../../../helpers/kube/kube-executor.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const METRICS = '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=slipway.machine%3Dnone';

/** Runs them all as parts of a test. Devices and metrics must be in the API already. */
export async function rightsCases(t: Test, cluster: Cluster): Promise<void> {
  await t.test('the rights that the page lists are enough', async (t) => {
    const token = await agentToken(cluster);
    const access = { ...(await readApiAccess(cluster.kubeconfig)), token: async () => token };
    const [api, own] = [new ApiClient(access, systemClock), new ApiClient(access, systemClock)];
    t.teardown(() => own.close());
    const lines: string[] = [];
    const survey = new NodeSurvey(own, 'node-0', createLogger('test', 'info', { write: (line) => lines.push(line) }));
    const gpus = await survey.gpus(await survey.node());
    const { executor, machineId } = await makeKubeExecutor(cluster, { api, devices: () => gpus.devices });
    await executor.sweep(new Set());
    const launch = launchOf('echo up; sleep 100', { gpus: [{ uuid: 'GPU-a', virtual: false }] });
    launch.image = { ...launch.image!, credentials: { username: 'ada', password: 'p' } };
    await executor.prepare(launch, () => undefined, new AbortController().signal);
    const workload = executor.start(launch);
    await waitFor('its log', () => launch.output() === 'up\n');
    await survey.occupants(gpus, machineId, new Set());
    await survey.occupants({ ...gpus, devices: undefined }, machineId, new Set());
    t.same((await own.call<{ items: unknown[] }>('GET', METRICS)).items, [], 'it may ask what its Pods use');
    workload.stop();
    t.match(await workload.ended, { signal: 'SIGTERM' });
    await waitFor('its objects to be gone', async () => {
      const query = `?labelSelector=slipway.machine=${machineId}`;
      const lists = await Promise.all(
        ['/api/v1/namespaces/default/secrets', '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims'].map(
          (path) => cluster.api.send<{ items: unknown[] }>('GET', `${path}${query}`),
        ),
      );
      return lists.every(({ items }) => items.length === 0);
    });
    t.same(lines, [], 'nothing was forbidden');
    await t.rejects(own.call('GET', '/api/v1/secrets'), /forbidden/, 'and the account has no others');
  });
}

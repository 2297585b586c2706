/** Answers of the API that are lost: what the request has made must not stay. */
import { readApiAccess } from '@slipway/gpu-agent/executors/kubernetes/api-access';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { systemClock } from '@slipway/kit/time/clock';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { Test } from 'tap';
import { launchOf } from '../../../helpers/engines/containers.ts';
import { makeKubeExecutor } from '../../../helpers/kube/kube-executor.ts';
import { holdingProxy } from '../../../helpers/net/holding-proxy.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const PODS = '/api/v1/namespaces/default/pods';

/** Runs them all as parts of a test. */
export async function lostAnswerCases(t: Test, cluster: Cluster): Promise<void> {
  const { api, url, kubeconfig } = cluster;
  const find = (name: string): Promise<unknown> => api.send('GET', `${PODS}/${name}`).catch(() => undefined);

  await t.test('a start that is cancelled ends the Pod whose creation was not confirmed', async (t) => {
    const proxy = await holdingProxy(t, { host: '127.0.0.1', port: Number(new URL(url).port) });
    const access = { ...(await readApiAccess(kubeconfig)), server: `https://127.0.0.1:${proxy.port}` };
    const client = new ApiClient(access, systemClock);
    // The watch may be late: here it never comes.
    const { executor } = await makeKubeExecutor(cluster, { api: client }, false);
    await client.call('GET', '/version');
    const [launch, abort] = [launchOf('sleep 100'), new AbortController()];
    proxy.hold('', 'ANSWER');
    const prepared = executor.prepare(launch, () => undefined, abort.signal);
    prepared.catch(() => undefined);
    await waitFor('the Pod', () => find(launch.workloadId));
    await waitFor('the answer', () => proxy.holds);
    abort.abort(new Error('not wanted'));
    proxy.cut();
    await waitFor('the Pod to be gone', async () => (await find(launch.workloadId)) === undefined);
    t.pass();
  });
}

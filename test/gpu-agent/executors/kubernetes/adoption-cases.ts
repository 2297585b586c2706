/** Pods that outlive what watches them: an agent that comes back, and an API server that goes away. */
import type { ApiPod } from '@slipway/gpu-agent/executors/kubernetes/api-types';
import type { KubernetesExecutor } from '@slipway/gpu-agent/executors/kubernetes/kubernetes-executor';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import type { Test } from 'tap';
import { freshId, launchOf } from '../../../helpers/engines/containers.ts';
import { makeKubeExecutor } from '../../../helpers/kube/kube-executor.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const PODS = '/api/v1/namespaces/default/pods';
const SECRETS = '/api/v1/namespaces/default/secrets';
const ANY = new AbortController().signal;

/** Runs them all as parts of a test. */
export async function adoptionCases(t: Test, cluster: Cluster, executor: KubernetesExecutor): Promise<void> {
  const { api } = cluster;
  const read = (name: string): Promise<ApiPod> => api.send<ApiPod & KubeObject>('GET', `${PODS}/${name}`);
  const isGone = (path: string) => (): Promise<boolean> =>
    api.send('GET', path).then(
      () => false,
      (error: { code?: number }) => error.code === 404,
    );

  await t.test('the next agent adopts running Pods, and removes unknown ones', async (t) => {
    const own = { machineId: freshId().slice(0, 12) };
    const { executor: before } = await makeKubeExecutor(cluster, own);
    const [stays, goes] = [launchOf('echo up; sleep 100'), launchOf('echo up; sleep 100')];
    for (const launch of [stays, goes]) {
      await before.prepare(launch, () => undefined, ANY);
      before.start(launch);
      await waitFor('it to run', () => launch.output() === 'up\n');
    }
    await before.close();
    const { executor: after } = await makeKubeExecutor(cluster, own);
    t.same([...(await after.running())].sort(), [stays.workloadId, goes.workloadId].sort());
    await after.sweep(new Set([stays.workloadId]));
    await waitFor('the other to be gone', isGone(`${PODS}/${goes.workloadId}`));
    let output = '';
    const adopted = await after.adopt(stays.workloadId, (bytes) => (output += String(bytes)));
    await waitFor('its log from the beginning', () => output === 'up\n');
    t.equal(await after.adopt(freshId(), () => undefined), undefined);
    adopted!.stop();
    t.match(await adopted!.ended, { signal: 'SIGTERM' });
  });

  await t.test('an unknown Pod of the same name is replaced; the same request twice creates one Pod', async (t) => {
    const own = { machineId: freshId().slice(0, 12) };
    const { executor: before } = await makeKubeExecutor(cluster, own);
    const plain = launchOf('echo up; sleep 100');
    const launch = { ...plain, image: { ...plain.image!, credentials: { username: 'ada', password: 'secret' } } };
    await before.prepare(launch, () => undefined, ANY);
    before.start(launch);
    const old = await read(launch.workloadId);
    await before.close();
    const { executor: after } = await makeKubeExecutor(cluster, own);
    await after.synced;
    await after.prepare(launch, () => undefined, ANY);
    const made = await read(launch.workloadId);
    t.not(made.metadata.uid, old.metadata.uid);
    const credentials = await api.send<KubeObject>('GET', `${SECRETS}/${launch.workloadId}-pull`);
    t.match(credentials.metadata.ownerReferences, [{ uid: made.metadata.uid }], 'it has its credentials');
    const workload = after.start(launch);
    workload.kill();
    await workload.ended;
  });

  await t.test('the API server is killed while Pods run: none ends, and what happened meanwhile is seen', async (t) => {
    const [stays, ends] = [launchOf('echo up; sleep 100'), launchOf('echo up; sleep 100')];
    const workloads = [];
    for (const launch of [stays, ends]) {
      await executor.prepare(launch, () => undefined, ANY);
      workloads.push(executor.start(launch));
      await waitFor('it to run', () => launch.output() === 'up\n');
    }
    let over = 0;
    for (const { ended } of workloads) void ended.then(() => (over += 1));
    const late = launchOf('echo late; exit 4');
    await cluster.kill('kube-apiserver');
    workloads[1]!.stop();
    const prepared = executor.prepare(late, () => undefined, ANY);
    t.equal(over, 0, 'an API that is away says nothing of the end');
    await cluster.start('kube-apiserver');
    await prepared;
    t.match(await executor.start(late).ended, { code: 4 });
    t.match(await workloads[1]!.ended, { signal: 'SIGTERM' });
    t.equal(over, 1);
    workloads[0]!.kill();
    await workloads[0]!.ended;
  });
}

/** The watch of Pods when its connection is cut, and when the API has forgotten where it was. */
import { readApiAccess } from '@slipway/gpu-agent/executors/kubernetes/api-access';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { PodWatch } from '@slipway/gpu-agent/executors/kubernetes/pod-watch';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { Test } from 'tap';
import { cuttingProxy } from '../../../helpers/net/cutting-proxy.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const PODS = '/api/v1/namespaces/default/pods';

/** Runs them all as parts of a test. */
export async function watchCases(t: Test, { api, url, kubeconfig, kill, start }: Cluster): Promise<void> {
  await t.test('an interrupted or expired watch misses nothing and reports nothing twice', async (t) => {
    const proxy = await cuttingProxy(t, { host: '127.0.0.1', port: Number(new URL(url).port) });
    const access = await readApiAccess(kubeconfig);
    const client = new ApiClient({ ...access, server: `https://127.0.0.1:${proxy.port}` }, systemClock);
    const [seen, gone]: [Set<string>, string[]] = [new Set(), []];
    const watch = new PodWatch({
      api: client,
      namespace: 'default',
      labelSelector: 'watched=yes',
      onPod: ({ metadata }) => seen.add(metadata.name),
      onGone: ({ metadata }) => gone.push(metadata.name),
      clock: systemClock,
      random: systemRandom,
      logger: createLogger('test', 'silent'),
    });
    t.teardown(async () => {
      await watch.close();
      client.close();
    });
    const create = (name: string) =>
      api.send('POST', PODS, {
        metadata: { name, labels: { watched: 'yes' } },
        spec: { nodeName: 'no-node', containers: [{ name: 'c', image: 'x' }] },
      });
    const remove = (name: string) =>
      api.send('DELETE', `${PODS}/${name}`, { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 });
    for (const name of ['one', 'two']) await create(name);
    watch.start();
    await watch.synced;
    t.same([...seen].sort(), ['one', 'two']);
    // No try to connect succeeds until the Pods have changed.
    for (let count = 0; count < 50; count += 1) proxy.cutNext(0, 'RESET');
    proxy.cut(0, 'RESET');
    await remove('one');
    await create('three');
    proxy.calm();
    await waitFor('the changes', () => seen.has('three') && gone.length > 0);
    t.same(gone, ['one']);

    // A new API server may know the old position or not (410): both ways lead on.
    for (let count = 0; count < 50; count += 1) proxy.cutNext(0, 'RESET');
    await kill('kube-apiserver');
    await start('kube-apiserver');
    await remove('two');
    await create('four');
    proxy.calm();
    await waitFor('the changes', () => seen.has('four') && gone.length > 1);
    t.same(gone, ['one', 'two']);
    for (const name of ['three', 'four']) await remove(name);
  });
}

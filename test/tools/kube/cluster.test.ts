// test: kubernetes, 10 s
/** The control plane that tests of Kubernetes use: it is real, its nodes pretend, and nothing of it stays. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import { KubeApiError } from '@slipway/tools/kube/kube-api';
import t from 'tap';
import { skipWithoutKube, startKube } from '../../helpers/kube/cluster.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

interface Pod extends KubeObject {
  status: { phase: string; podIP?: string; containerStatuses?: { state: object }[] };
}

const PODS = '/api/v1/namespaces/default/pods';
const pod = (name: string, annotations: Record<string, string> = {}): KubeObject => ({
  metadata: { name, annotations },
  spec: {
    nodeName: 'gpu-0',
    containers: [{ name: 'worker', image: 'localhost/worker:1', resources: { limits: { 'nvidia.com/gpu': '1' } } }],
  },
});

t.setTimeout(600_000);
t.test('a cluster without controllers', { skip: skipWithoutKube() }, async (t) => {
  const cluster = await startKube({ nodes: [{ name: 'gpu-0', gpus: 8 }] });
  const { api } = cluster;
  const read = (name: string): Promise<Pod> => api.send<Pod>('GET', `${PODS}/${name}`);
  const inPhase = (name: string, phase: string): Promise<Pod> =>
    waitFor(`${name} to be ${phase}`, async () => {
      const found = await read(name);
      return found.status.phase === phase && found;
    });

  await t.test('Pods run, with an address and a log', async (t) => {
    await api.send('POST', PODS, pod('runs', { 'slipway.test/ip': '127.0.0.2' }));
    t.equal((await inPhase('runs', 'Running')).status.podIP, '127.0.0.2');
    t.equal(await api.read(`${PODS}/runs/log`), 'hello from a fake Pod\n');
    await api.send('DELETE', `${PODS}/runs`);
    await waitFor('the Pod to be gone', () =>
      read('runs').then(
        () => false,
        (error: unknown) => error instanceof KubeApiError && error.code === 404,
      ),
    );
  });

  await t.test('Pods end or wait as their annotations say', async (t) => {
    const ends = {
      'slipway.test/ends-after': '1ms',
      'slipway.test/exit-code': '137',
      'slipway.test/reason': 'OOMKilled',
    };
    await api.send('POST', PODS, pod('ends', ends));
    t.match((await inPhase('ends', 'Failed')).status.containerStatuses![0]!.state, {
      terminated: { exitCode: 137, reason: 'OOMKilled' },
    });
    await api.send('POST', PODS, pod('waits', { 'slipway.test/waiting': 'ImagePullBackOff' }));
    const state = await waitFor('a state', async () => (await read('waits')).status.containerStatuses?.[0]?.state);
    t.match(state, { waiting: { reason: 'ImagePullBackOff' } });
  });

  await t.test('wrong objects are rejected as a real server rejects them', async (t) => {
    await t.rejects(api.send('POST', PODS, { metadata: { name: 'no' }, spec: { containers: [] } }), {
      code: 422,
      reason: 'Invalid',
    });
    await t.rejects(api.send('POST', PODS, pod('ends')), { code: 409, reason: 'AlreadyExists' });
  });

  await t.test('nothing remains of it', async (t) => {
    await cluster.stop();
    t.notOk(existsSync(dirname(cluster.kubeconfig)));
    await t.rejects(fetch(cluster.url));
  });
});

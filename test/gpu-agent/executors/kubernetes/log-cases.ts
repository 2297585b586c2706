/** The log of a Pod on a node that ends each reading at once. */
import { readApiAccess } from '@slipway/gpu-agent/executors/kubernetes/api-access';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { CONTAINER } from '@slipway/gpu-agent/executors/kubernetes/pod-labels';
import { PodLog } from '@slipway/gpu-agent/executors/kubernetes/pod-log';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import type { Test } from 'tap';
import type { FakeKubelet } from '../../../helpers/kube/fake-kubelet.ts';
import { PauseClock } from '../../../helpers/time/pause-clock.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const PODS = '/api/v1/namespaces/default/pods';
/** Readings without news. */
const READINGS = 8;

/** Runs them all as parts of a test. `image`: of Pods that the kubelet leaves to the test. */
export async function logCases(
  t: Test,
  { api, kubeconfig }: Cluster,
  { kubelet, image }: { kubelet: FakeKubelet; image: string },
): Promise<void> {
  await t.test('a log whose readings end without news is read less and less often, until there is news', async (t) => {
    const { metadata } = await api.send<KubeObject & { metadata: { uid: string } }>('POST', PODS, {
      metadata: { name: 'quiet' },
      spec: { nodeName: 'node-0', containers: [{ name: CONTAINER, image }] },
    });
    await kubelet.status('quiet', {
      phase: 'Running',
      containerStatuses: [{ name: CONTAINER, image, imageID: '', state: { running: {} } }],
    });
    kubelet.endReadings(metadata.uid);
    await waitFor('the kubelet', () =>
      api.read(`${PODS}/quiet/log`).then(
        () => true,
        () => false,
      ),
    );
    const before = kubelet.reads(metadata.uid);
    const [clock, client] = [new PauseClock(), new ApiClient(await readApiAccess(kubeconfig), systemClock)];
    let output = '';
    const log = new PodLog({
      api: client,
      namespace: 'default',
      pod: 'quiet',
      onOutput: (bytes) => {
        output += bytes.toString();
      },
      isLive: () => true,
      clock,
      random: systemRandom,
    });
    t.teardown(async () => {
      log.close();
      client.close();
      await kubelet.remove('quiet');
    });
    log.start();
    const pauses: number[] = [];
    for (let n = 0; n < READINGS; n += 1) pauses.push(await clock.end(n));
    t.ok(pauses[0]! >= 500 && pauses[0]! <= 1_000, `first ${pauses[0]} ms`);
    t.ok(pauses.at(-1)! >= 15_000 && pauses.at(-1)! <= 30_000, `last ${pauses.at(-1)} ms`);
    await waitFor('the next reading', () => clock.pauses.length > READINGS);
    t.equal(kubelet.reads(metadata.uid) - before, READINGS + 1, 'one reading for each pause');

    kubelet.log(metadata.uid, '2026-01-02T03:04:05.000000001Z', 'news\n');
    await clock.end(READINGS);
    await waitFor('the news', () => output !== '');
    await waitFor('the pause after it', () => clock.pauses.length > READINGS + 1);
    t.equal(output, 'news\n');
    t.ok(clock.pauses.at(-1)! <= 200, 'and is read again at once');
  });
}

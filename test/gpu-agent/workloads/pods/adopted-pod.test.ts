/** Pods that the previous run of the agent left, before it is known which of them still run. */
import { join } from 'node:path';
import { SharedFolders } from '@slipway/gpu-agent/users/shared-folder';
import { PodFiles } from '@slipway/gpu-agent/workloads/pods/pod-files';
import { PodRegistry } from '@slipway/gpu-agent/workloads/pods/pod-registry';
import { systemRandom } from '@slipway/kit/time/clock';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { wired } from '../../attempts/wired.ts';

const PREVIOUS = { run: 3, disk: 1, image: 'image', gpuUuids: [] };
const { RUNNING } = PodState;

/** Makes the pods of a machine, whose executor answers about adoptions when the test lets it. */
async function adoptedPods(t: Test) {
  const { workloads, reach, executor, clock, logger, folder } = await wired(t);
  const found = Promise.withResolvers<void>();
  executor.adopting = () => found.promise;
  const changed: string[] = [];
  const pods: PodRegistry = new PodRegistry({
    ...workloads,
    reach,
    graceMs: 1,
    files: new PodFiles(join(folder, 'pods'), new SharedFolders(logger)),
    onChanged: (podId) => changed.push(podId),
    clock,
    random: systemRandom,
    logger,
  });
  return { pods, executor, found, changed };
}

t.test('they are listed as running until it is known: a session may open before', async (t) => {
  const { pods } = await adoptedPods(t);
  pods.adopt('p1', PREVIOUS);
  pods.adopt('p2', PREVIOUS);
  t.match(pods.reports(), [
    { podId: 'p1', run: 3, state: RUNNING },
    { podId: 'p2', run: 3, state: RUNNING },
  ]);
  pods.begin(new Set(['p2']));
  t.match(pods.reports(), [{ podId: 'p2', run: 3, state: RUNNING }], 'the other one has ended');
  t.equal(pods.reports().length, 1);
});

t.test('the record of one stays while it is being adopted, and its agent may stop without it', async (t) => {
  const { pods, found, changed } = await adoptedPods(t);
  pods.adopt('p1', PREVIOUS);
  pods.begin(new Set(['p1']));
  t.same(changed, ['p1']);
  t.same(pods.get('p1')!.record, PREVIOUS);
  await pods.stop({ keepContainers: true });
  t.same(pods.get('p1')!.record, PREVIOUS);
  found.resolve();
});

t.test('one of which nothing is left after all has no record and is not said to run', async (t) => {
  const { pods, found } = await adoptedPods(t);
  pods.adopt('p1', PREVIOUS);
  pods.begin(new Set(['p1']));
  found.resolve();
  await waitFor('news', () => pods.get('p1')!.report().state !== RUNNING);
  t.equal(pods.get('p1')!.record, undefined);
});

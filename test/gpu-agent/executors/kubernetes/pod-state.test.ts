/** What the status of a Pod means that has another container beside the workload's, as a service mesh adds one. */
import type { ApiPod } from '@slipway/gpu-agent/executors/kubernetes/api-types';
import { exitOfGone, phaseOf, podDigestOf } from '@slipway/gpu-agent/executors/kubernetes/pod-state';
import t from 'tap';

const DIGEST = `sha256:${'a'.repeat(64)}`;
type Status = NonNullable<NonNullable<ApiPod['status']>['containerStatuses']>[number];

/** Returns a Pod with a proxy, whose status comes first by its name. */
function podOf(state: Status['state'], phase: string): ApiPod {
  return {
    metadata: { name: 'w1' },
    spec: { nodeName: 'n1' },
    status: {
      phase,
      containerStatuses: [
        { name: 'istio-proxy', imageID: `proxy@sha256:${'b'.repeat(64)}`, state: { running: {} } },
        { name: 'workload', imageID: `registry.test/x@${DIGEST}`, ...(state && { state }) },
      ],
    },
  };
}

t.test('the state of the workload counts, not that of a container beside it', async (t) => {
  const waiting = podOf({ waiting: { reason: 'ImagePullBackOff', message: 'no such image' } }, 'Pending');
  t.match(phaseOf(waiting), { is: 'waiting', for: 'image', reason: 'ImagePullBackOff' });
  t.same(phaseOf(podOf({ running: {} }, 'Running')), { is: 'running' });
  t.equal(podDigestOf(waiting), DIGEST);
});

t.test('a workload has ended although a container beside it runs on', async (t) => {
  const ended = podOf({ terminated: { exitCode: 3, reason: 'Error' } }, 'Running');
  t.match(phaseOf(ended), { is: 'over', exit: { code: 3, failure: undefined } });
  t.match(exitOfGone(ended, 'SIGKILL'), { code: 3 });
  const killed = podOf({ terminated: { exitCode: 137, reason: 'OOMKilled' } }, 'Running');
  t.match(phaseOf(killed), { is: 'over', exit: { signal: 'SIGKILL', outOfMemory: true } });
});

/** The lease of a node: where there are controllers, a node that does not renew it counts as lost after 50 seconds. */
import type { KubeApi } from '@slipway/tools/kube/kube-api';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const RENEW_MS = 10_000;

/** Creates the lease of a node, and renews it until the timer that it returns is cleared. */
export async function renewLease(api: KubeApi, name: string): Promise<NodeJS.Timeout> {
  const spec = (): object => ({
    holderIdentity: name,
    leaseDurationSeconds: 40,
    renewTime: new Date().toISOString().replace('Z', '000Z'),
  });
  await api.send('POST', LEASES, { metadata: { name }, spec: spec() });
  // A renewal that fails is followed by the next.
  return setInterval(
    () => void api.send('PATCH', `${LEASES}/${name}`, { spec: spec() }).catch(() => undefined),
    RENEW_MS,
  );
}

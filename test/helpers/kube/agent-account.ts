/** An account in a cluster of tests that has the rights of agents, as docs/operate/kubernetes-nodes.md lists them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const PAGE = join(import.meta.dirname, '../../../docs/operate/kubernetes-nodes.md');
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';

/** Makes an account with the rights of the page's two tables. Returns its token, which is valid for an hour. */
export async function agentToken({ api }: Cluster): Promise<string> {
  const [, namespaced = '', whole = ''] = readFileSync(PAGE, 'utf8').split('## Permissions')[1]!.split('| Resource |');
  await api.send('POST', ACCOUNTS, { metadata: { name: 'agent' } });
  for (const [kind, table, path] of [
    ['Role', namespaced, `${RBAC}/namespaces/default/roles`],
    ['ClusterRole', whole, `${RBAC}/clusterroles`],
  ] as const) {
    await api.send('POST', path, { metadata: { name: 'agent' }, rules: rulesOf(table) } as KubeObject);
    await api.send('POST', path.replace(/roles$/, 'rolebindings'), {
      metadata: { name: 'agent' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: 'agent' },
      subjects: [{ kind: 'ServiceAccount', name: 'agent', namespace: 'default' }],
    });
  }
  const { status } = await api.send<{ status: { token: string } }>('POST', `${ACCOUNTS}/agent/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { audiences: [], expirationSeconds: 3_600 },
  });
  return status.token;
}

/** Returns the rules of a table: rows of resources and verbs. */
function rulesOf(table: string): object[] {
  const rows = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return rows
    .filter(([, resources = '']) => /^[a-z/]+[a-z/, ]*( \((resource|metrics)\.k8s\.io\))?$/.test(resources))
    .map(([, resources = '', verbs = '']) => ({
      apiGroups: resources.includes('(metrics.k8s.io)') ? ['metrics.k8s.io'] : ['', 'resource.k8s.io'],
      resources: resources.replace(/ \(.*\)$/, '').split(', '),
      verbs: verbs.split(', '),
    }));
}

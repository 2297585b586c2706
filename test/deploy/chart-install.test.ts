// test: kubernetes, postgres, 30 s
/**
 * The chart in a real API server, by real helm: every object is accepted there, what it starts becomes ready on nodes
 * that pretend, agents and the setup Job may do what they need and no more, and keys outlive upgrades.
 */
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { Test } from 'tap';
import t from 'tap';
import { skipWithoutKube, startKube } from '../helpers/kube/cluster.ts';
import type { Client } from '../helpers/kube/helm.ts';
import { CHART, kubeClient, setOptions } from '../helpers/kube/helm.ts';
import { scratch } from '../helpers/scratch.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const SLIPWAY = join(import.meta.dirname, '../../cli/slipway');
const NODES = [{ name: 'cpu-0' }, { name: 'gpu-0', gpus: 8 }];
const VALUES = [
  ...['database.existingSecret=slipway-db-app', 'networkPolicy.nodes={10.1.0.0/16}'],
  ...['metrics.serviceMonitor.enabled=true', 'metrics.prometheusRule.enabled=true', 'metrics.dashboards.enabled=true'],
];

t.setTimeout(900_000);
t.test('the chart in a cluster', { skip: skipWithoutKube() }, async (t) => {
  const cluster = await startKube({ controllers: true, nodes: NODES });
  const { api } = cluster;
  const client = await kubeClient(t, cluster.kubeconfig);
  const dataOf = async (name: string, namespace = 'slipway'): Promise<Record<string, string>> =>
    (await api.send<{ data: Record<string, string> }>('GET', `/api/v1/namespaces/${namespace}/secrets/${name}`)).data;
  await prepare(cluster);

  await t.test('its Pods become ready', async (t) => {
    await client.helm(
      'install',
      'slipway',
      CHART,
      '--namespace=slipway',
      '--wait',
      '--timeout=5m',
      ...setOptions(VALUES),
    );
    const states = ['slipway-core 2', 'slipway-edge 2', 'slipway-facade 2'];
    // The autoscaler brings the second facade.
    await waitFor('two replicas of each part', async () => {
      const found = await client.kubectl(
        'get',
        'deployments,statefulsets',
        '--namespace=slipway',
        '--output',
        'jsonpath={range .items[*]}{.metadata.name} {.status.readyReplicas}{"\\n"}{end}',
      );
      return found.trim().split('\n').sort().join() === states.join();
    });
    const agents = await api.send<{ status: { numberReady: number } }>(
      'GET',
      '/apis/apps/v1/namespaces/slipway-workers/daemonsets/slipway-agent',
    );
    t.equal(agents.status.numberReady, 2, 'an agent on each node, on the one with GPUs too');
  });

  await t.test('the certificate of core is for the names by which it is called', async (t) => {
    const { 'tls.crt': chain, 'ca.crt': ca } = await dataOf('slipway-core-tls');
    const [own, authority] = [chain!, ca!].map((text) => new X509Certificate(Buffer.from(text, 'base64')));
    t.ok(own!.verify(authority!.publicKey));
    for (const name of ['slipway-core-1.slipway-core.slipway.svc', 'slipway-core.slipway.svc'])
      t.ok(own!.checkHost(name), name);
  });

  await t.test('agents have only the rights that they need', async (t) => {
    const agent = 'system:serviceaccount:slipway-workers:slipway-agent';
    for (const [verb, resource, namespace, allowed] of [
      ['create', 'pods', 'slipway-workers', true],
      ['get', 'pods/log', 'slipway-workers', true],
      ['delete', 'secrets', 'slipway-workers', true],
      ['create', 'resourceclaims.resource.k8s.io', 'slipway-workers', true],
      ['list', 'pods', 'default', true],
      ['get', 'nodes', '', true],
      ['list', 'secrets', 'slipway', false],
      ['create', 'pods', 'slipway', false],
      ['patch', 'pods', 'slipway-workers', false],
      ['patch', 'nodes', '', false],
      ['create', 'pods/exec', 'slipway-workers', false],
      ['create', 'rolebindings.rbac.authorization.k8s.io', 'slipway-workers', false],
    ] as const)
      t.equal(
        await may(cluster, { user: agent, verb, resource, namespace }),
        allowed,
        `${verb} ${resource} ${namespace}`,
      );
  });

  await t.test('setup makes an account, its key, an endpoint and a join token, once', async (t) => {
    await checkSetup(t, cluster, dataOf);
  });

  await t.test('an upgrade keeps the keys', async (t) => {
    const names = ['slipway-keys', 'slipway-core-tls', 'slipway-edge-tls'];
    const before = await Promise.all(names.map((name) => dataOf(name)));
    await client.helm(
      ...['upgrade', 'slipway', CHART, '--namespace=slipway', '--reset-then-reuse-values', '--wait', '--timeout=5m'],
      '--set=core.replicas=3',
    );
    t.same(await Promise.all(names.map((name) => dataOf(name))), before);
    const facade = await client.kubectl('get', 'deployment', 'slipway-facade', '--namespace=slipway', '--output=yaml');
    t.match(facade, 'slipway-core-2.slipway-core.slipway.svc:50051', 'facades know the new replica');
  });

  await t.test('with a PostgreSQL to try it every object is accepted, too', async (t) => {
    await checkTrial(client);
    t.pass();
  });

  await t.test('the keys outlive the chart', async (t) => {
    await client.helm('uninstall', 'slipway', '--namespace=slipway', '--wait', '--timeout=5m');
    t.ok((await dataOf('slipway-keys'))['secret-key']);
    await t.rejects(dataOf('slipway-core-tls'), { code: 404 });
  });
});

/**
 * Makes what an operator has before the chart: a namespace that lets no privileged Pod in, the Secret of the database,
 * and the kinds of Prometheus Operator.
 */
async function prepare({ api }: Cluster): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await api.send('POST', '/api/v1/namespaces', { metadata: { name: 'slipway', labels } });
  const metadata = { name: 'slipway-db-app' };
  await api.send('POST', '/api/v1/namespaces/slipway/secrets', {
    metadata,
    stringData: { uri: 'postgresql://db/app' },
  });
  for (const kind of ['ServiceMonitor', 'PrometheusRule']) {
    const [singular, plural] = [kind.toLowerCase(), `${kind.toLowerCase()}s`];
    await api.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: `${plural}.monitoring.coreos.com` },
      spec: {
        group: 'monitoring.coreos.com',
        scope: 'Namespaced',
        names: { kind, plural, singular },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    });
  }
}

interface Question {
  user: string;
  verb: string;
  /** `pods`, `pods/log`, or with its group. */
  resource: string;
  namespace: string;
}

/** Returns whether a user may do something, by the API server's own judgement. */
async function may({ api }: Cluster, { user, verb, resource, namespace }: Question): Promise<boolean> {
  const [, name, subresource = '', group = ''] = /^([a-z]+)(?:\/(\w+))?(?:\.(.*))?$/.exec(resource)!;
  const answer = await api.send<{ status: { allowed: boolean } }>(
    'POST',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    { spec: { user, resourceAttributes: { verb, resource: name, subresource, group, namespace } } },
  );
  return answer.status.allowed;
}

/** Runs the script of the setup Job with the rights of its account, against a real core. */
async function checkSetup(
  t: Test,
  { api, url, caFile }: Cluster,
  dataOf: (name: string, namespace?: string) => Promise<Record<string, string>>,
): Promise<void> {
  const core = await startReplicas(t, 1, { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' });
  const { folder, path } = await scratch(t);
  const { status } = await api.send<{ status: { token: string } }>(
    'POST',
    '/api/v1/namespaces/slipway/serviceaccounts/slipway-setup/token',
    { spec: { expirationSeconds: 3_600 } },
  );
  writeFileSync(path('token'), status.token);
  symlinkSync(SLIPWAY, path('slipway'));
  const run = (what: string): Promise<unknown> =>
    promisify(execFile)(process.execPath, [join(CHART, 'files/setup.mjs'), what], {
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        HOME: folder,
        NODE_EXTRA_CA_CERTS: caFile,
        SLIPWAY_CORE_ADDRESS: core.replicas[0]!.address,
        SLIPWAY_ROOT_KEY: core.rootKey,
        SETUP_API: url,
        SETUP_ACCOUNT_FOLDER: folder,
        SETUP_NAME: 'slipway',
        SETUP_NAMESPACE: 'slipway',
        SETUP_AGENT_NAMESPACE: 'slipway-workers',
        SETUP_ACCOUNT: 'main',
        SETUP_EXAMPLE: 'localhost/slipway-agent:1',
        SETUP_TOKEN_USES: '200',
        SETUP_LOCATIONS: 'DE,rack-1',
        SETUP_POOL: 'a100',
      },
    });
  await run('all');
  const first = await dataOf('slipway-first');
  const token = (await dataOf('slipway-join', 'slipway-workers'))['join-token'];
  t.same(Object.keys(first).sort(), ['account', 'api-key', 'endpoint', 'template']);
  const [row] = await core.sql<{ n: number }[]>`SELECT count(*)::int AS n FROM endpoint`;
  t.equal(row!.n, 1);
  t.match(Buffer.from(token!, 'base64').toString(), /^sjt_/);
  await run('all');
  t.same(await dataOf('slipway-first'), first, 'nothing is made twice');
  t.not((await dataOf('slipway-join', 'slipway-workers'))['join-token'], token, 'nodes get a new token');
}

/** Asks the API server whether it would take every object of a trial. */
async function checkTrial(client: Client): Promise<void> {
  const objects = await client.render([
    ...['postgresql.enabled=true', 'agent.namespace=slipway-workers', 'edge.service.type=LoadBalancer'],
    ...['agent.volumeClaim=shared', 'agent.podTemplate.schedulerName=kai', 'facade.autoscaling.enabled=false'],
  ]);
  const items = objects.map((object) =>
    /^(Namespace|ClusterRole.*)$/.test(object.kind)
      ? object
      : { ...object, metadata: { namespace: 'slipway', ...object.metadata } },
  );
  await client.apply({ apiVersion: 'v1', kind: 'List', metadata: {}, items }, '--dry-run=server');
}

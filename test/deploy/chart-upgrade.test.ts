// test: alone, kubernetes, postgres, 20 s
/**
 * A chart is upgraded while jobs run: the DaemonSet controller replaces the agent, whose Pod a kubelet of the test runs
 * as a process with the rights of the chart's account. Its workers go on, no job is lost, and none runs twice.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Cluster } from '@slipway/tools/kube/cluster';
import type { KubeObject } from '@slipway/tools/kube/kube-api';
import t from 'tap';
import { skipWithoutKube, startKube } from '../helpers/kube/cluster.ts';
import { startKubelet } from '../helpers/kube/fake-kubelet.ts';
import { CHART, kubeClient, setOptions } from '../helpers/kube/helm.ts';
import { scratch } from '../helpers/scratch.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODE = 'node-0';
const NAMESPACE = 'slipway-workers';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const AGENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets/slipway-agent`;
const IN = '--namespace=slipway';
const PATIENCE_MS = 120_000;
/** Duration of a job, and the pause between two, in milliseconds. */
const JOB_MS = 400;
const PAUSE_MS = 50;

interface Agents extends KubeObject {
  metadata: KubeObject['metadata'] & { generation: number };
  status: { observedGeneration?: number; updatedNumberScheduled?: number; numberReady?: number };
}

t.setTimeout(600_000);
t.test('an upgrade of the chart under load', { skip: skipWithoutKube() }, async (t) => {
  const core = await startReplicas(t);
  const cluster = await startKube({ controllers: true });
  const { api } = cluster;
  const { folder, path, lines } = await scratch(t);
  const client = await kubeClient(t, cluster.kubeconfig);
  await api.send('POST', '/api/v1/namespaces', { metadata: { name: 'slipway' } });
  const values = setOptions(['database.existingSecret=slipway-db-app', 'agent.existingSecret=own-key']);
  await client.helm('install', 'slipway', CHART, IN, ...values);
  const agentEnv = await agentEnvOf(cluster, folder, {
    address: core.replicas[0]!.address,
    key: await core.newKey(KeyScope.AGENT),
  });
  const kubelet = await startKubelet(cluster, {
    node: NODE,
    namespace: NAMESPACE,
    labels: { 'kubernetes.io/os': 'linux' },
    binds: false,
    env: ({ metadata }): Record<string, string> =>
      metadata.labels?.['app.kubernetes.io/component'] === 'agent' ? agentEnv : {},
    programOf: (image) =>
      image.includes('slipway-agent')
        ? [join(ROOT, 'node_modules/.bin/node'), join(ROOT, 'gpu-agent/main.ts')]
        : undefined,
  });
  t.teardown(() => kubelet.stop());
  const podsOf = async (selector: string): Promise<string[]> => {
    const query = `labelSelector=${encodeURIComponent(selector)}`;
    const { items } = await api.send<{ items: KubeObject[] }>('GET', `${PODS}?${query}`);
    return items.map(({ metadata }) => metadata.name).sort();
  };
  const agentPods = (): Promise<string[]> => podsOf('app.kubernetes.io/component=agent');
  const workers = (): Promise<string[]> => podsOf('app.kubernetes.io/name=slipway-workload');

  const templateId = await core.createTemplate({
    imageName: 'localhost/worker:1',
    startCommand: jsHandler('in-flight.js'),
  });
  const endpointId = await core.createEndpoint({ templateId, computeType: 'CPU', workersMin: 2, workersMax: 2 });
  await core.ready(endpointId, 2);
  const before = { agent: await agentPods(), workers: await workers() };
  t.equal(before.agent.length, 1);
  t.equal(before.workers.length, 2);

  // Until the new agent has been there for as long as the old one was away, jobs come all along.
  writeFileSync(path('gate'), '');
  const ids: string[] = [];
  let isOver = false;
  const load = (async () => {
    while (!isOver) {
      const input = { gate: path('gate'), notes: path('notes'), ms: JOB_MS, number: ids.length };
      ids.push((await core.submit(endpointId, input)).id);
      await pause(PAUSE_MS);
    }
  })();
  await waitFor('jobs to end', () => lines('notes').length > 20, PATIENCE_MS);
  await client.helm('upgrade', 'slipway', CHART, IN, ...values, '--set=agent.env.SLIPWAY_LOG_LEVEL=error');
  await waitFor(
    'the new agent',
    async () => {
      const { metadata, status } = await api.send<Agents>('GET', AGENTS);
      const { observedGeneration, updatedNumberScheduled = 0, numberReady = 0 } = status;
      return observedGeneration === metadata.generation && updatedNumberScheduled === 1 && numberReady === 1;
    },
    PATIENCE_MS,
  );
  const atSwitch = lines('notes').length;
  await waitFor('jobs to end at the new agent', () => lines('notes').length > atSwitch + 40, PATIENCE_MS);
  isOver = true;
  await load;
  const jobs = [];
  for (const id of ids) jobs.push(await core.wait(endpointId, id));
  t.same(
    jobs.filter(({ state }) => state !== 3).map(({ state, error }) => [state, error]),
    [],
    `all ${ids.length} jobs are COMPLETED`,
  );
  const ran = readFileSync(path('notes'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0]);
  t.same(
    ids.filter((id) => !ran.includes(id)),
    [],
    'each ran',
  );
  // A worker that cannot deliver a result while the agent is away gives up, and its job is put back.
  const tooOften = jobs.filter(({ id, attempt }) => ran.filter((other) => other === id).length > attempt);
  t.same(tooOften, [], 'no job ran more often than it has attempts');
  t.notSame(await agentPods(), before.agent, 'the agent is another Pod');
  t.same(await workers(), before.workers, 'the workers are the same Pods');
});

/** Returns what the agent's Pod has from files, DNS and its service account elsewhere. */
async function agentEnvOf(
  { api, kubeconfig }: Cluster,
  folder: string,
  { address, key }: { address: string; key: string },
): Promise<Record<string, string>> {
  const account = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/slipway-agent/token`;
  const { status } = await api.send<{ status: { token: string } }>('POST', account, {
    spec: { expirationSeconds: 3_600 },
  });
  const config = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
    users: { user: object }[];
    contexts: { context: object }[];
  };
  config.users[0]!.user = { token: status.token };
  config.contexts[0]!.context = { ...config.contexts[0]!.context, namespace: NAMESPACE };
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(config));
  mkdirSync(join(folder, 'data'));
  return {
    SLIPWAY_CORE_ADDRESS: address,
    SLIPWAY_CORE_CA: '',
    SLIPWAY_AGENT_KEY: key,
    SLIPWAY_JOIN_TOKEN_FILE: '',
    SLIPWAY_AGENT_DATA_DIR: join(folder, 'data'),
    SLIPWAY_KUBERNETES_CONFIG: join(folder, 'kubeconfig'),
    SLIPWAY_METRICS_LISTEN: '',
  };
}

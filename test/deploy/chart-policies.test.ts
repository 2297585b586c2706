// test: kubernetes
/** The chart's NetworkPolicies: they name the ports that Pods have, and let in who calls. */
import type { PodPlan } from '@slipway/gpu-agent/executors/kubernetes/pod-plan';
import { podOf } from '@slipway/gpu-agent/executors/kubernetes/pod-plan';
import { parseImageName } from '@slipway/gpu-agent/images/image-name';
import t from 'tap';
import { launchOf } from '../helpers/engines/containers.ts';
import { skipWithoutKube } from '../helpers/kube/cluster.ts';
import type { ChartObject } from '../helpers/kube/helm.ts';
import { kubeClient } from '../helpers/kube/helm.ts';

type Labels = Record<string, string>;

interface Rule {
  from?: { podSelector?: { matchLabels: Labels }; namespaceSelector?: object; ipBlock?: { cidr: string } }[];
  to?: { podSelector?: { matchLabels: Labels }; ipBlock?: { cidr: string; except?: string[] } }[];
  ports?: { port: string | number }[];
}

interface Pods {
  labels: Labels;
  ports: string[];
}

const VALUES = ['postgresql.enabled=true', 'networkPolicy.nodes={10.1.0.0/16}'];

/** Returns the Pods of these kinds of objects. */
function podsOf(objects: readonly ChartObject[], ...kinds: string[]): Pods[] {
  return objects
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ spec: { template } }) => ({
      labels: template.metadata.labels as Labels,
      ports: template.spec.containers.flatMap(({ ports = [] }: { ports?: { name: string }[] }) =>
        ports.map(({ name }) => name),
      ),
    }));
}

const matches = (wanted: Labels, labels: Labels): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);

t.setTimeout(600_000);
t.test('NetworkPolicies', { skip: skipWithoutKube() }, async (t) => {
  const { render } = await kubeClient(t);
  const objects = await render(VALUES);
  const pods = podsOf(objects, 'Deployment', 'StatefulSet');
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
  const find = (part: string): ChartObject => policies.find(({ metadata }) => metadata.name === `try-${part}`)!;

  await t.test('each part is closed but for the ports that it serves', async (t) => {
    t.equal(pods.length, 4, 'core, facade, edge, PostgreSQL');
    for (const { labels, ports } of pods) {
      const own = policies.filter(({ spec }) => matches(spec.podSelector.matchLabels, labels));
      t.equal(own.length, 1, labels['app.kubernetes.io/component']!);
      const named = (own[0]!['spec'].ingress as Rule[]).flatMap((rule) => (rule.ports ?? []).map(({ port }) => port));
      t.same(named.sort(), ports.sort(), labels['app.kubernetes.io/component']!);
    }
  });

  await t.test('Services lead to ports that are let in', async (t) => {
    for (const { metadata, spec } of objects.filter(({ kind }) => kind === 'Service')) {
      const target = [...pods, ...podsOf(objects, 'DaemonSet')].find(({ labels }) => matches(spec.selector, labels))!;
      for (const { targetPort } of spec.ports)
        t.ok(target.ports.includes(targetPort), `${metadata.name} ${targetPort}`);
    }
  });

  await t.test('core lets in the other parts, and PostgreSQL only core', async (t) => {
    const callers = (part: string, port: string): string[] => {
      const rules = (find(part)['spec'].ingress as Rule[]).filter(({ ports }) =>
        ports!.some((each) => each.port === port),
      );
      const selectors = rules.flatMap(({ from = [] }) => from.flatMap(({ podSelector }) => podSelector ?? []));
      return pods
        .filter(({ labels }) => selectors.some(({ matchLabels }) => matches(matchLabels, labels)))
        .map(({ labels }) => labels['app.kubernetes.io/component']!)
        .sort();
    };
    for (const part of ['edge', 'facade']) t.ok(callers('core', 'grpc').includes(part), part);
    t.ok(callers('facade', 'http').includes('edge'));
    t.same(callers('postgresql', 'postgresql'), ['core']);
  });

  await t.test('workers are called by edge and facades, and call DNS, their node and the outside', async (t) => {
    const { spec, metadata } = find('workers');
    t.equal(metadata.namespace, 'slipway-workers');
    const pod = podOf(workerPlan()) as { metadata: { labels: Labels } };
    t.ok(matches(spec.podSelector.matchLabels, pod.metadata.labels), 'it is for the Pods that agents make');
    const from = (spec.ingress as Rule[]).flatMap((rule) => rule.from ?? []);
    const selected = from.flatMap(({ podSelector }) => podSelector ?? []);
    for (const part of ['edge', 'facade'])
      t.ok(
        pods.some(
          ({ labels }) =>
            labels['app.kubernetes.io/component'] === part &&
            selected.some(({ matchLabels }) => matches(matchLabels, labels)),
        ),
        part,
      );
    t.notOk(
      selected.some(({ matchLabels }) => matches(matchLabels, pod.metadata.labels)),
      'workers do not call each other',
    );
    const to = (spec.egress as Rule[]).flatMap((rule) => rule.to ?? []);
    const blocks = to.flatMap(({ ipBlock }) => ipBlock ?? []);
    t.match(blocks, [{ cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] }, { cidr: '10.1.0.0/16' }]);
    t.match(spec.egress[0].ports, [{ port: 53 }, { port: 53 }]);
  });
});

function workerPlan(): PodPlan {
  return {
    launch: launchOf('', { endpointId: 'e1' }),
    machineId: 'm1',
    node: 'n1',
    image: parseImageName('ollama/ollama')!,
    nonce: 'x',
    owner: undefined,
    template: {},
    graceSeconds: 6,
    devices: undefined,
    volumes: { folder: '/volumes', claim: '' },
    bridge: { host: '10.0.0.1', port: 9 },
  };
}

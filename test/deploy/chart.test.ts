// test: kubernetes
/** The Helm chart: what it renders with several values, what it rejects, and that its page names every value. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { skipWithoutKube } from '../helpers/kube/cluster.ts';
import type { ChartObject } from '../helpers/kube/helm.ts';
import { CHART, kubeClient, setOptions } from '../helpers/kube/helm.ts';
import { SETS } from './chart-sets.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const skip = skipWithoutKube();

t.setTimeout(600_000);

interface PodSpec {
  hostNetwork?: boolean;
  automountServiceAccountToken?: boolean;
  serviceAccountName?: string;
  securityContext: Record<string, unknown>;
  containers: {
    name: string;
    image: string;
    securityContext: Record<string, unknown>;
    env?: { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string } } }[];
    ports?: { name: string }[];
    volumeMounts?: { name: string; mountPath: string }[];
    resources: Record<string, unknown>;
    readinessProbe?: { httpGet?: { port: string } };
  }[];
  volumes?: { name: string; secret?: { secretName: string }; configMap?: { name: string } }[];
}

/** Returns the Pods that an object makes, with the labels that they get. */
function podsOf(object: ChartObject): { labels: Record<string, string>; spec: PodSpec } | undefined {
  if (object.kind === 'Pod') return { labels: object.metadata.labels ?? {}, spec: object['spec'] as PodSpec };
  const template = (object['spec']?.jobTemplate?.spec ?? object['spec'])?.template as
    | { metadata: { labels: Record<string, string> }; spec: PodSpec }
    | undefined;
  return template && { labels: template.metadata.labels, spec: template.spec };
}

const nameOf = ({ kind, metadata }: ChartObject): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

/** Secrets that are made by nobody but the setup Job. */
const MADE_LATER = new Set(['try-first', 'try-join']);

t.test('rendering', { skip }, async (t) => {
  const { helm, render } = await kubeClient(t);
  t.match(await helm('lint', CHART, ...setOptions(SETS['to try it']!)), '0 chart(s) failed');
  const documented = read('docs/operate/operations.md') + read('docs/operate/kubernetes-nodes.md');

  for (const [title, settings] of Object.entries(SETS)) {
    const objects = await render(settings);
    await t.test(`${title}: Pods have no more rights than they need`, async (t) => {
      for (const object of objects) {
        const spec = podsOf(object)?.spec;
        if (!spec) continue;
        const isAgent = object.kind === 'DaemonSet';
        t.match(spec.securityContext['seccompProfile'], { type: 'RuntimeDefault' }, nameOf(object));
        t.equal(spec.securityContext['runAsNonRoot'] === true, !isAgent, nameOf(object));
        t.equal(spec.hostNetwork === true, isAgent, nameOf(object));
        const hasAccount = spec.serviceAccountName !== undefined;
        t.equal(hasAccount || spec.automountServiceAccountToken === false, true, `${nameOf(object)}: no token`);
        for (const { securityContext, resources } of spec.containers) {
          t.match(securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true }, nameOf(object));
          t.same((securityContext['capabilities'] as { drop: string[] }).drop, ['ALL'], nameOf(object));
          t.ok(resources['requests'] && resources['limits'], `${nameOf(object)}: resources`);
        }
      }
    });
    await t.test(`${title}: everything that is named is there`, async (t) => {
      const has = (kind: string, name: string): boolean =>
        objects.some((each) => each.kind === kind && each.metadata.name === name);
      const given = new Set(settings.map((setting) => setting.split('=')[1]!));
      for (const object of objects) {
        const pods = podsOf(object);
        for (const { secret, configMap } of pods?.spec.volumes ?? []) {
          const name = secret?.secretName;
          if (name !== undefined)
            t.ok(has('Secret', name) || given.has(name) || MADE_LATER.has(name), `${nameOf(object)}: Secret ${name}`);
          if (configMap) t.ok(has('ConfigMap', configMap.name), `${nameOf(object)}: ConfigMap ${configMap.name}`);
        }
        for (const { env = [], volumeMounts = [], ports = [], readinessProbe } of pods?.spec.containers ?? []) {
          const names = env.map(({ name }) => name);
          t.equal(new Set(names).size, names.length, `${nameOf(object)}: each variable once`);
          for (const name of names.filter((each) => each.startsWith('SLIPWAY_')))
            t.match(documented, name.replace(/_FILE$/, ''), `${nameOf(object)}: ${name} is a setting`);
          const paths = volumeMounts.map(({ mountPath }) => mountPath);
          for (const { value } of env.filter(({ name }) => name.endsWith('_FILE')))
            t.ok(
              paths.some((path) => value?.startsWith(`${path}/`)),
              `${nameOf(object)}: ${value} is mounted`,
            );
          for (const mount of volumeMounts)
            t.ok(
              pods!.spec.volumes?.some(({ name }) => name === mount.name) ||
                object['spec'].volumeClaimTemplates?.some((claim: ChartObject) => claim.metadata.name === mount.name),
              `${nameOf(object)}: volume ${mount.name}`,
            );
          const probed = readinessProbe?.httpGet?.port;
          if (probed !== undefined)
            t.ok(
              ports.some(({ name }) => name === probed),
              `${nameOf(object)}: port ${probed}`,
            );
        }
      }
    });
    await t.test(`${title}: Services, budgets and policies find their Pods`, async (t) => {
      const pods = objects.map(podsOf).filter((each) => each !== undefined);
      const finds = (wanted: Record<string, string>): boolean =>
        pods.some(({ labels }) => Object.entries(wanted).every(([name, value]) => labels[name] === value));
      for (const object of objects) {
        const { selector, podSelector } = (object['spec'] ?? {}) as Record<
          string,
          { matchLabels?: Record<string, string> }
        >;
        if (object.kind === 'ServiceMonitor') {
          const services = objects.filter(
            ({ kind, metadata }) => kind === 'Service' && metadata.labels?.['slipway.metrics'],
          );
          const matching = services.filter(({ metadata }) =>
            Object.entries(selector!.matchLabels!).every(([name, value]) => metadata.labels?.[name] === value),
          );
          t.ok(
            matching.some((service) => service['spec'].ports.some(({ name }: { name: string }) => name === 'metrics')),
            nameOf(object),
          );
        } else if (object.kind !== 'NetworkPolicy' || !object.metadata.name.endsWith('-workers')) {
          const wanted =
            podSelector?.matchLabels ?? selector?.matchLabels ?? (object.kind === 'Service' ? selector : undefined);
          if (wanted) t.ok(finds(wanted as Record<string, string>), nameOf(object));
        }
      }
    });
  }

  await t.test('what an operator gives reaches its place', async (t) => {
    const objects = await render(SETS['with everything of the operator']!);
    const find = (kind: string, name: string): ChartObject =>
      objects.find((each) => each.kind === kind && each.metadata.name === name)!;
    const core = podsOf(find('StatefulSet', 'try-core'))!;
    t.equal(core.spec.containers[0]!.image, 'registry.example/slipway-core:1.2.3');
    t.match(core.labels, { team: 'a' });
    t.ok(core.spec.containers[0]!.env!.some(({ name, value }) => name === 'SLIPWAY_LOG_LEVEL' && value === 'debug'));
    const agent = find('DaemonSet', 'try-agent');
    t.equal(agent.metadata.namespace, 'gpu');
    const template = podsOf(agent)!.spec.containers[0]!.env!.find(
      ({ name }) => name === 'SLIPWAY_KUBERNETES_POD_TEMPLATE',
    );
    t.same(JSON.parse(template!.value!), { schedulerName: 'kai' });
    t.equal(find('Deployment', 'try-facade')['spec'].replicas, 2);
    t.notOk(objects.some(({ kind }) => kind === 'HorizontalPodAutoscaler' || kind === 'Namespace'));
    t.same(find('PrometheusRule', 'try')['spec'], parse(read('deploy/prometheus/rules.yml')));
    t.same(
      JSON.parse(find('ConfigMap', 'try-dashboard-slipway')['data']['slipway.json']),
      JSON.parse(read('deploy/grafana/slipway.json')),
    );
  });
});

/** Returns the text of a rejected command on stderr. */
async function faultOf(rendering: Promise<unknown>): Promise<string> {
  return rendering.then(
    () => 'accepted',
    ({ stderr }: { stderr: string }) => stderr,
  );
}

t.test('rejected values', { skip }, async (t) => {
  const { render } = await kubeClient(t);
  for (const [settings, why] of [
    [[], /needs a PostgreSQL/],
    [['postgresql.enabled=true', 'database.existingSecret=db'], /both set/],
    [['database.existingSecret=db', 'core.tls.existingSecret=own'], /needs core.tls.ca/],
    [['database.existingSecret=db', 'agent.namespace=slipway'], /is the namespace of core/],
  ] as const)
    t.match(await faultOf(render(settings)), why);
  const wrong = {
    'replica=3': "properties 'replica' not allowed",
    'core.replicas=0': "'/core/replicas': minimum",
    'core.env.FOO=1': "invalid propertyName 'FOO'",
    'edge.service.type=Ingress': "'/edge/service/type': value must be one of",
    'agent.podTemplate.hostNetwork=true': "'/agent/podTemplate': additional properties 'hostNetwork' not allowed",
    'networkPolicy.coreFrom={here}': "'/networkPolicy/coreFrom/0': 'here' does not match",
    'image.tag=a b': "'/image/tag': 'a b' does not match",
    'metrics.serviceMonitor.interval=often': "'/metrics/serviceMonitor/interval': 'often' does not match",
  };
  const faults = await faultOf(render(Object.keys(wrong)));
  for (const [value, fault] of Object.entries(wrong)) t.ok(faults.includes(fault), value);
});

t.test('its version is that of the project', async (t) => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  t.match(parse(read('deploy/helm/slipway/Chart.yaml')), { version, appVersion: version });
});

t.test('its page has every value', async (t) => {
  const table = new Set(
    [...read('docs/operate/kubernetes.md').matchAll(/^\| `([a-zA-Z]+(?:\.[a-zA-Z]+)+)`/gm)].map(([, name]) => name!),
  );
  const isOpen = (value: object): boolean => Array.isArray(value) || Object.keys(value).length === 0;
  // Values whose own fields are Kubernetes' or the operator's.
  const whole = /(resources|labels|metricsFrom|nodeSelector)$/;
  const names = (value: unknown, path: string): string[] =>
    typeof value !== 'object' || value === null || isOpen(value) || whole.test(path)
      ? [path]
      : Object.entries(value).flatMap(([name, inner]) => names(inner, path === '' ? name : `${path}.${name}`));
  const all = names(parse(read('deploy/helm/slipway/values.yaml')), '').map((path) =>
    path.replace(
      /^(core|facade|edge|agent)\.(resources|env|nodeSelector|tolerations|affinity|podAnnotations|podLabels|priorityClassName)$/,
      'PART.$2',
    ),
  );
  t.same([...table].sort(), [...new Set(all)].sort());
});

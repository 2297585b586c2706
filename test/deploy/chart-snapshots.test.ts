// test: kubernetes
/**
 * What the chart renders, as files to read: a change of a template shows its effect on every object. To write them:
 * `SLIPWAY_TEST_SNAPSHOTS=write npm test -- test/deploy/chart-snapshots.test.ts`, and read the difference.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { skipWithoutKube } from '../helpers/kube/cluster.ts';
import type { ChartObject } from '../helpers/kube/helm.ts';
import { kubeClient } from '../helpers/kube/helm.ts';
import { SETS } from './chart-sets.ts';

const FOLDER = join(import.meta.dirname, 'snapshots');
const WRITES = process.env.SLIPWAY_TEST_SNAPSHOTS === 'write';
const COLUMNS = 120;
/** Longer texts are files of the chart: scripts, dashboards and rules, which have tests of their own. */
const TEXT_LENGTH_MAX = 1_000;
const { version: VERSION } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string;
};

t.setTimeout(600_000);
t.test('the chart renders what its snapshots say', { skip: skipWithoutKube() }, async (t) => {
  const { render } = await kubeClient(t);
  if (WRITES) mkdirSync(FOLDER, { recursive: true });
  for (const [title, settings] of Object.entries(SETS)) {
    const objects = (await render(settings)).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    t.ok(objects.length > 10, title);
    const text = objects.map((object) => `---\n${stringify(steady(object), { lineWidth: COLUMNS })}`).join('');
    const file = join(FOLDER, `${title.replaceAll(' ', '-')}.yaml`);
    if (WRITES) writeFileSync(file, text);
    t.equal(existsSync(file) ? readFileSync(file, 'utf8') : '', text, title);
  }
});

function nameOf({ kind, metadata }: ChartObject): string {
  return `${kind} ${metadata.namespace ?? ''} ${metadata.name}`;
}

/** Returns an object as every rendering has it: without random keys and certificates, and the version. */
function steady(object: ChartObject): unknown {
  const isSecret = object.kind === 'Secret' || object.metadata.name.endsWith('-core-ca');
  const { data, stringData, ...rest } = object;
  const hidden = (values: Record<string, string>) =>
    Object.fromEntries(Object.keys(values).map((name) => [name, 'made by the chart']));
  const held = (values: unknown) => (isSecret ? hidden(values as Record<string, string>) : values);
  return replaced({
    ...rest,
    ...(data !== undefined && { data: held(data) }),
    ...(stringData !== undefined && { stringData: held(stringData) }),
    ...(object.kind === 'PrometheusRule' && { spec: 'deploy/prometheus/rules.yml' }),
  });
}

function replaced(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > TEXT_LENGTH_MAX ? 'a file of the chart' : value.replaceAll(VERSION, 'VERSION');
  if (Array.isArray(value)) return value.map(replaced);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replaced(each)]));
}

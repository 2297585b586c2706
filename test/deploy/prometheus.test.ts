/**
 * deploy/prometheus and deploy/grafana: their files are what Prometheus takes, alerts are raised by what they are for,
 * and every metric that they name exists.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { dashboards } from '../helpers/console/dashboards.ts';
import { whyNoPromtool } from '../helpers/system/promtool.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'deploy/prometheus');
const rules = readFileSync(join(folder, 'rules.yml'), 'utf8');

const boards = dashboards();
const queries = boards.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)));

t.test('promtool', { skip: whyNoPromtool() }, async (t) => {
  for (const line of [
    'check config --lint-fatal prometheus.yml',
    'check rules --lint-fatal rules.yml',
    'test rules rules.test.yml',
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', line.split(' '), { cwd: folder, encoding: 'utf8' });
    t.equal(status, 0, `promtool ${line}: ${stdout}${stderr}`);
  }
});

t.test('every alert names a section that says what to do', async (t) => {
  const headings = readFileSync(join(root, 'docs/operate/alerts.md'), 'utf8').matchAll(/^### (.+)$/gm);
  const anchors = new Set([...headings].map(([, title]) => title!.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')));
  const alerts = rules.split(/^ {6}- alert: /m).slice(1);
  t.ok(alerts.length > 20);
  for (const alert of alerts) {
    const anchor = /^ {10}runbook: docs\/operate\/alerts\.md#(\S+)$/m.exec(alert)?.[1];
    t.ok(anchor !== undefined && anchors.has(anchor), `${alert.split('\n')[0]}: ${anchor}`);
  }
});

t.test('alerts and charts of an endpoint show its name', async (t) => {
  const alerts = rules.split(/^ {6}- alert: /m).slice(1);
  const ofEndpoints = alerts.filter((alert) => /\(endpoint\)|\$labels\.endpoint/.test(alert));
  t.ok(ofEndpoints.length >= 4);
  for (const alert of ofEndpoints) {
    const name = alert.slice(0, alert.indexOf('\n'));
    t.notMatch(alert, '$labels.endpoint', name);
    t.match(alert, '* on (endpoint) group_left (name) endpoint_name:slipway_endpoint_info:max', name);
  }
  for (const { file, panels } of boards)
    for (const { title, targets } of panels)
      for (const { legendFormat = '' } of targets) t.notMatch(legendFormat, '{{endpoint}}', `${file}: ${title}`);
});

t.test('charts of a dashboard share their cross-hair', async (t) => {
  for (const name of ['slipway', 'endpoint']) {
    const board = JSON.parse(readFileSync(join(root, `deploy/grafana/${name}.json`), 'utf8')) as object;
    t.match(board, { graphTooltip: 1 }, name);
  }
});

t.test(
  'a dashboard is of one piece: its own address, each panel once and at a place of its own, a variable ' +
    'for what it names',
  async (t) => {
    t.equal(new Set(boards.map(({ uid }) => uid)).size, boards.length);
    for (const { file, variables, all, panels } of boards) {
      t.equal(new Set(all.map(({ id }) => id)).size, all.length, `${file}: ids`);
      t.equal(new Set(all.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size, all.length, `${file}: places`);
      const named = new Set(
        panels.flatMap(({ targets }) =>
          targets.flatMap(({ expr }) => [...expr.matchAll(/\$(\w+)/g)].map((match) => match[1]!)),
        ),
      );
      t.same([...named], ['endpoint'], file);
      t.match(
        variables.find(({ name }) => name === 'endpoint'),
        { type: 'query', includeAll: true, multi: true, definition: /^label_values\(\w+, endpoint\)$/ },
      );
    }
  },
);

t.test('every query of the dashboards is one', { skip: whyNoPromtool() }, async (t) => {
  const file = join(t.testdir(), 'queries.json');
  writeFileSync(
    file,
    JSON.stringify({
      groups: [{ name: 'dashboard', rules: queries.map((expr, index) => ({ record: `query:${index}`, expr })) }],
    }),
  );
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
  t.equal(status, 0, stdout + stderr);
  t.match(stdout, `${queries.length} rules found`);
});

t.test(
  "charts of an owner's endpoints show its name, or its id if the facade is of a release without names",
  { skip: whyNoPromtool() },
  async (t) => {
    const { panels } = boards.find(({ uid }) => uid === 'slipway-endpoint')!;
    const exprs = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$endpoint', '.*')));
    const metrics = new Set(exprs.flatMap((expr) => expr.match(/slipway_\w+/g)!));
    metrics.delete('slipway_endpoint_info');
    const samples = [...metrics].map((metric) => ({
      series: `${metric}{endpoint="e1", state="FAILED", limit="QUOTA"}`,
      values: '0+60x20',
    }));
    const test = (name: string, more: object[]) => ({
      interval: '1m',
      input_series: [...samples, ...more],
      promql_expr_test: exprs.map((expr) => ({
        expr: `count by (name) (${expr})`,
        eval_time: '15m',
        exp_samples: [{ labels: `{name="${name}"}`, value: 1 }],
      })),
    });
    const named = { series: 'slipway_endpoint_info{endpoint="e1", name="ocr"}', values: '1x20' };
    const file = join(t.testdir(), 'names.test.json');
    writeFileSync(file, JSON.stringify({ rule_files: [], tests: [test('ocr', [named]), test('e1', [])] }));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    t.equal(status, 0, stdout + stderr);
  },
);

t.test('what they name is documented or recorded, and each alert is tested', async (t) => {
  const tests = readFileSync(join(folder, 'rules.test.yml'), 'utf8');
  const documented = new Set(
    [...readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8').matchAll(/^\| `(\w+)` \|/gm)].map(
      (match) => match[1]!,
    ),
  );
  const recorded = new Set([...rules.matchAll(/- record: (\S+)/g)].map((match) => match[1]!));
  const exprs = [...[...rules.matchAll(/^ +expr: (.*)$/gm)].map((match) => match[1]!), ...queries];
  const named = exprs.flatMap(
    (expr) => expr.match(/(?<![\w:"-])(?:(?:slipway|nodejs|process)_\w+|\w+:\w+:\w+)/g) ?? [],
  );
  t.ok(named.length > 30, 'rules and queries were read');
  for (const name of named) t.ok(recorded.has(name) || documented.has(name.replace(/_(bucket|count|sum)$/, '')), name);
  for (const [, alert] of rules.matchAll(/- alert: (\w+)/g)) t.match(tests, alert!, `${alert} is tested`);
});

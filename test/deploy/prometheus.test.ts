/** deploy/prometheus: its files are what Prometheus takes, its alerts are raised by what they are for, and every metric that they name exists. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { whyNoPromtool } from '../helpers/promtool.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'deploy/prometheus');

t.test('promtool', { skip: whyNoPromtool() }, async (t) => {
  for (const line of ['check config --lint-fatal prometheus.yml', 'check rules --lint-fatal rules.yml', 'test rules rules.test.yml']) {
    const { status, stdout, stderr } = spawnSync('promtool', line.split(' '), { cwd: folder, encoding: 'utf8' });
    t.equal(status, 0, `promtool ${line}: ${stdout}${stderr}`);
  }
});

t.test('what the rules name is documented, and each alert is tested', async (t) => {
  const rules = readFileSync(join(folder, 'rules.yml'), 'utf8');
  const tests = readFileSync(join(folder, 'rules.test.yml'), 'utf8');
  const documented = new Set([...readFileSync(join(root, 'docs/metrics.md'), 'utf8').matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]!));
  const named = [...rules.matchAll(/^ +expr: (.*)$/gm)].flatMap((match) => match[1]!.match(/(?<![:\w"-])(slipway|nodejs|process)_\w+/g) ?? []);
  t.ok(named.length > 12, 'rules were read');
  for (const name of named) t.ok(documented.has(name) || documented.has(name.replace(/_(bucket|count|sum)$/, '')), name);
  for (const [, alert] of rules.matchAll(/- alert: (\w+)/g)) t.match(tests, alert!, `${alert} is tested`);
});

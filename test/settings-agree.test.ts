/** Settings and reasons that are defined in several places are equal in all: domain, contract, proto/wire and docs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PUBLISHED } from '@slipway/core/domain/published-settings';
import { REASONS as DOMAIN_REASONS } from '@slipway/core/domain/settings/errors';
import { snake } from '@slipway/core/domain/settings/fields';
import { REASONS as WIRE_REASONS } from '@slipway/proto/wire/reason';
import * as settings from '@slipway/proto/wire/settings';
import t from 'tap';

const root = join(import.meta.dirname, '..');

t.test('the reasons of the domain and of the contract are the same list', async (t) => {
  t.same([...DOMAIN_REASONS].sort(), Object.keys(WIRE_REASONS).sort());
});

t.test("settings in the documents equal the domain's", async (t) => {
  const told = Object.entries(settings).map(([name, rules]) => [name.replace('_SETTINGS', '').toLowerCase(), rules]);
  t.same(Object.fromEntries(told), PUBLISHED, 'proto/wire/settings.ts; else: npm run gen');
  const contract = readFileSync(join(root, 'proto/slipway/v1/endpoint.proto'), 'utf8').split('message Endpoint {')[1]!;
  for (const [field, { default: value }] of Object.entries(PUBLISHED['endpoint']!)) {
    if (typeof value !== 'number') continue;
    const comment = new RegExp(`((?: *//.*\\n)+).* ${snake(field)} = `).exec(contract)?.[1] ?? '';
    t.match(comment.replaceAll(',', ''), new RegExp(`\\bDefault ${value}\\b`), `the contract's comment of ${field}`);
  }
});

t.test('every setting is in docs/operate/operations.md', async (t) => {
  for (const folder of ['core', 'facades']) {
    const table = readFileSync(join(root, 'docs/operate/operations.md'), 'utf8')
      .split(`### ${folder === 'core' ? 'core' : 'facade'}\n`)[1]!
      .split('###')[0]!;
    for (const [name] of readFileSync(join(root, folder, 'config.ts'), 'utf8').matchAll(/SLIPWAY_[A-Z_]+/g)) {
      t.ok(new RegExp(`\\b${name}\\b`).test(table), `${name} of ${folder} in docs/operate/operations.md`);
    }
  }
});

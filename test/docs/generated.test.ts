/** Documents that are made from the code are as the code is, and every error code has its entry. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_HELP } from '@slipway/kit/net/error-help';
import { REASONS } from '@slipway/proto/wire/reason';
import t from 'tap';
import { anchorsOf } from './page.ts';
import { generated } from './pages/generated.ts';

const root = join(import.meta.dirname, '../..');

for (const { file, current, wanted } of generated()) {
  t.equal(current, wanted, `${file} is up to date (else: npm run gen)`);
  t.notMatch(wanted, /\{[A-Z]+(?:_[A-Z]+)+\}/, `${file}: every constant is filled in`);
}

t.test('errors: every code in the source has its entry', (t) => {
  const help = Object.assign({}, ...Object.values(ERROR_HELP)) as Record<
    string,
    { http: readonly number[]; cause: string; fix: string }
  >;
  const anchors = anchorsOf(readFileSync(join(root, 'docs/reference/errors.md'), 'utf8'));
  for (const [reason, { http }] of Object.entries(REASONS))
    t.ok(help[reason.toLowerCase()]?.http.includes(http), `${reason}: ${http}`);
  const sources = globSync(['facades/**/*.ts', 'edge/**/*.ts'], {
    cwd: root,
    exclude: (name) => /(^|\/)(web|cli)$/.test(name),
  });
  const codes = sources.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bcode: '([A-Za-z_]+)'/g)].map(([, code]) => code!),
  );
  for (const code of new Set(codes)) {
    if (code === 'ServiceUnavailable') continue; // Envoy's own name of a status.
    t.ok(help[code], code);
    t.ok(anchors.has(code.toLowerCase()), `#${code.toLowerCase()}`);
  }
  t.ok(codes.length > 30, 'the expression still finds them');
  for (const [code, { cause, fix }] of Object.entries(help))
    t.match(`${cause}|${fix}`, /^[^|]+\.\|.+\.$/, `${code} has whole sentences`);
  t.end();
});

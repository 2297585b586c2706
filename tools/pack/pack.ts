/** `npm run pack -- FOLDER… [--out DIR]`: packs packages of this repository as npm publishes them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { stagePackage } from './stage-package.ts';

const root = join(import.meta.dirname, '../..');
const HELP = `npm run pack -- FOLDER… [--out DIR]
Packs packages (core, facades, edge, gpu-agent, cli, dev, worker) into DIR, default .pack: tarballs that npm installs anywhere.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: join(root, '.pack') }, help: { type: 'boolean', short: 'h' } },
});
if (values.help || positionals.length === 0) {
  process.stdout.write(`${HELP}\n`);
  process.exit(values.help ? 0 : 2);
}
const out = resolve(values.out);
mkdirSync(out, { recursive: true });
for (const folder of positionals) {
  const staged = mkdtempSync(join(tmpdir(), 'slipway-pack-'));
  try {
    const { modules } = await stagePackage(root, folder, staged);
    const file = execFileSync('npm', ['pack', '--silent', '--pack-destination', out], {
      cwd: staged,
      encoding: 'utf8',
    });
    process.stdout.write(`${join(out, file.trim())} (${modules} modules)\n`);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

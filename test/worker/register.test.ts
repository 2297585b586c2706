/**
 * `--import worker/register.ts`: a handler anywhere on this machine imports the worker's module by both of its names.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';

const register = join(import.meta.dirname, '../../worker/register.ts');
const { path } = await scratch(t);

/** Runs a file and returns what it prints. */
async function run(name: string, code: string): Promise<string> {
  writeFileSync(path(name), code);
  return (await promisify(execFile)(process.execPath, ['--import', register, path(name)])).stdout.trim();
}

t.test('both names, by import and by require', async (t) => {
  for (const name of ['slipway-worker', 'slipway/worker']) {
    const print = 'console.log(typeof start, typeof progress)';
    t.equal(await run('a.mjs', `import { progress, start } from '${name}'; ${print}`), 'function function', name);
    t.equal(await run('b.cjs', `const { progress, start } = require('${name}'); ${print}`), 'function function', name);
    t.equal(
      await run('c.ts', `import { start } from '${name}'; const x: number = 1; console.log(typeof start, x)`),
      'function 1',
    );
  }
});

t.test('a handler with the package installed gets that one', async (t) => {
  mkdirSync(path('node_modules/slipway-worker'), { recursive: true });
  writeFileSync(path('node_modules/slipway-worker/package.json'), '{"type":"module","exports":"./own.js"}');
  writeFileSync(path('node_modules/slipway-worker/own.js'), "export const start = 'own';");
  t.equal(await run('d.mjs', "import { start } from 'slipway-worker'; console.log(start)"), 'own');
});

t.test('a missing package is named', async (t) => {
  await t.rejects(run('e.mjs', "import 'slipway-workers'"), { message: /Cannot find package 'slipway-workers'/ });
});

/**
 * Patches of packages: applied once, in order, to what npm installed, also on top of earlier versions or of a part of
 * the patches.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';

const root = join(import.meta.dirname, '../..');
/** Most bytes of a package's `exports` as JSON, which Node reads again for each of its modules. */
const EXPORTS_BYTES_MAX = 20_000;
const ONE = 'Why it is needed.\n\n--- a/src/x.js\n+++ b/src/x.js\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n';
const TWO =
  'Why.\n' +
  '\n' +
  '--- a/src/x.js\n' +
  '+++ b/src/x.js\n' +
  '@@ -1,2 +1,3 @@\n' +
  ' one\n' +
  ' 2\n' +
  '+three\n' +
  '--- a/src/y.js\n' +
  '+++ b/src/y.js\n' +
  '@@ -1,1 +1,1 @@\n' +
  '-a\n' +
  '+b\n';
const PUBLISHED = { x: 'one\ntwo\n', y: 'a\n' };
const PATCHED = { x: 'one\n2\nthree\n', y: 'b\n' };

/** Returns a project with a package `p` and two patches of it. */
async function project(t: Test) {
  const { path } = await scratch(t);
  for (const folder of ['dev/install', 'deploy/patches/p', 'node_modules/p/src'])
    mkdirSync(path(folder), { recursive: true });
  copyFileSync(join(root, 'dev/install/patch-packages.ts'), path('dev/install/patch-packages.ts'));
  writeFileSync(path('package.json'), '{"type":"module"}');
  symlinkSync(join(root, 'node_modules/diff'), path('node_modules/diff'));
  writeFileSync(path('deploy/patches/p/01-one.patch'), ONE);
  writeFileSync(path('deploy/patches/p/02-two.patch'), TWO);
  const file = (name: string, modules = 'node_modules'): string => path(`${modules}/p/src/${name}.js`);
  const write = (files: { x: string; y: string }, modules?: string): void => {
    writeFileSync(file('x', modules), files.x);
    writeFileSync(file('y', modules), files.y);
  };
  const read = (modules?: string) => ({
    x: readFileSync(file('x', modules), 'utf8'),
    y: readFileSync(file('y', modules), 'utf8'),
  });
  const apply = async (...args: string[]): Promise<string> => {
    const program = path('dev/install/patch-packages.ts');
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args]).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    return stdout + stderr;
  };
  write(PUBLISHED);
  return { path, write, read, apply };
}

t.test('patches', async (t) => {
  const { path, read, apply } = await project(t);
  for (const time of ['first', 'second']) {
    t.equal(await apply(), '');
    t.same(read(), PATCHED, `${time} time`);
  }
  const patch = path('deploy/patches/p/02-two.patch');
  writeFileSync(patch, TWO.replace('+three', '+drei'));
  t.equal(await apply(), 'p/src/x.js held other of 2 patches and is patched anew\n');
  t.same(
    read(),
    { x: 'one\n2\ndrei\n', y: 'b\n' },
    'another form of the patch begins with the file as it was published',
  );
  writeFileSync(patch, TWO.replace('one', 'ONE'));
  t.match(await apply(), /p\/01-one\.patch .* do not fit .*x\.js.*npm ci/);
  t.same(read(), { x: 'one\n2\ndrei\n', y: 'b\n' });
});

t.test('a package with a scope', async (t) => {
  const { path, apply } = await project(t);
  for (const folder of ['deploy/patches/@s/q', 'node_modules/@s/q/src']) mkdirSync(path(folder), { recursive: true });
  writeFileSync(path('node_modules/@s/q/src/x.js'), PUBLISHED.x);
  writeFileSync(path('deploy/patches/@s/q/01-one.patch'), ONE);
  t.equal(await apply(), '');
  t.equal(readFileSync(path('node_modules/@s/q/src/x.js'), 'utf8'), 'one\n2\n');
});

t.test('a package that was patched in part is noticed and patched to its end', async (t) => {
  const { write, read, apply } = await project(t);
  write({ x: 'one\n2\n', y: 'a\n' });
  t.match(await apply(), /x\.js held 1 of 2 patches[^]*y\.js held 0 of 1 patches/);
  t.same(read(), PATCHED);
  t.equal(await apply(), '');
});

t.test('a package whose files are others stays as it is', async (t) => {
  const { write, read, apply } = await project(t);
  const edited = { x: PUBLISHED.x, y: 'edited\n' };
  write(edited);
  t.match(await apply(), /do not fit .*y\.js.*npm ci/);
  t.same(read(), edited, 'nothing is written unless everything fits');
});

t.test('into another folder', async (t) => {
  const { path, write, read, apply } = await project(t);
  mkdirSync(path('artifact/node_modules/p/src'), { recursive: true });
  write(PUBLISHED, 'artifact/node_modules');
  for (const time of ['first', 'second']) {
    t.equal(await apply('--into', path('artifact')), '');
    t.same(read('artifact/node_modules'), PATCHED, `${time} time`);
  }
  t.notOk(existsSync(path('artifact/node_modules/p/src/x.js.published')));
  t.same(read(), PUBLISHED, 'this installation is another one');
  mkdirSync(path('empty'));
  t.equal(await apply('--into', path('empty')), '', 'a package that an artifact does not bundle is left out');
});

t.test('no package has a list of exports whose reading takes longer than loading the package', async (t) => {
  const read = (folder: string) =>
    JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies?: object; exports?: unknown };
  const long = Object.keys(read(root).dependencies!).filter((name) => {
    const { exports } = read(join(root, 'node_modules', name));
    return exports !== undefined && JSON.stringify(exports).length > EXPORTS_BYTES_MAX;
  });
  t.same(long, []);
});

/** Our mends of packages: applied to what npm installed, once, also over an earlier form of the same mend. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';

const root = join(import.meta.dirname, '../..');
/** Of a package's `exports` as JSON, which Node reads again for each of its modules. */
const EXPORTS_BYTES_MAX = 20_000;
const PATCH = 'Why it is needed.\n\n--- a/src/x.js\n+++ b/src/x.js\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n';

t.test('patches', async (t) => {
  const { path } = await scratch(t);
  for (const folder of ['deploy/local', 'deploy/patches', 'node_modules/p/src']) mkdirSync(path(folder), { recursive: true });
  copyFileSync(join(root, 'deploy/local/patch-packages.ts'), path('deploy/local/patch-packages.ts'));
  writeFileSync(path('package.json'), '{"type":"module"}');
  symlinkSync(join(root, 'node_modules/diff'), path('node_modules/diff'));
  const [file, patch] = [path('node_modules/p/src/x.js'), path('deploy/patches/p.patch')];
  const apply = async (): Promise<string> => {
    const { stderr } = await promisify(execFile)(process.execPath, [path('deploy/local/patch-packages.ts')]).catch((error: { stderr: string }) => error);
    return stderr;
  };
  writeFileSync(file, 'one\ntwo\n');
  writeFileSync(patch, PATCH);
  for (const time of ['first', 'second']) {
    t.equal(await apply(), '');
    t.equal(readFileSync(file, 'utf8'), 'one\n2\n', `${time} time`);
  }
  writeFileSync(patch, PATCH.replace('+2', '+zwei'));
  t.equal(await apply(), '');
  t.equal(readFileSync(file, 'utf8'), 'one\nzwei\n', 'another form of the patch begins with the file as it was published');
  writeFileSync(patch, PATCH.replace('one', 'ONE'));
  t.match(await apply(), /p\.patch does not fit .*x\.js.*npm ci/);
  t.equal(readFileSync(file, 'utf8'), 'one\nzwei\n');
});

t.test('no package has a list of exports whose reading takes longer than loading the package', async (t) => {
  const read = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies?: object; exports?: unknown };
  const long = Object.keys(read(root).dependencies!).filter((name) => {
    const { exports } = read(join(root, 'node_modules', name));
    return exports !== undefined && JSON.stringify(exports).length > EXPORTS_BYTES_MAX;
  });
  t.same(long, []);
});

/** Two builds of the GraphQL schema at once, as by two `npm start` right after a pull, do not disturb each other. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../../..');
const built = join(root, 'facades/graphql/.mesh');

t.test('builds at once', async (t) => {
  mkdirSync(built, { recursive: true });
  const other = join(built, 'index.mjs.other.part');
  writeFileSync(other, 'the file of another build');
  t.teardown(() => rmSync(other, { force: true }));
  rmSync(join(built, 'built-from'), { force: true });
  const builds = [1, 2].map(() =>
    spawn(process.execPath, ['facades/graphql/build.ts'], { cwd: root, stdio: 'inherit' }),
  );
  t.same(await Promise.all(builds.map((build) => once(build, 'exit'))), [
    [0, null],
    [0, null],
  ]);
  t.same(
    readdirSync(built).sort(),
    ['built-from', 'index.mjs', 'index.mjs.other.part'],
    'nothing of others is removed',
  );
  t.match(
    readFileSync(join(built, 'index.mjs'), 'utf8'),
    /^export const coreSchema = .*\nexport const publicSchema = .*\n$/,
  );
});

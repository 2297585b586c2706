/** A folder that several processes replace at the same time: all succeed, and the folder is that of one of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';

const MODULE = join(import.meta.dirname, '../../../kit/host/replace-folder.ts');
const PROGRAM = `
import { mkdirSync, writeFileSync } from 'node:fs';
import { replaceFolder } from ${JSON.stringify(MODULE)};
for (let round = 0; round < 300; round += 1) {
  const part = 'built.' + process.pid + '.part';
  mkdirSync(part);
  for (const name of ['a', 'b', 'c']) writeFileSync(part + '/' + name, String(process.pid));
  replaceFolder('built', part);
}
`;

t.test('several builds at once', async (t) => {
  const { folder, path } = await scratch(t);
  mkdirSync(path('built'));
  writeFileSync(path('built/old'), '');
  writeFileSync(path('program.mts'), PROGRAM);
  const builds = [1, 2, 3].map(() => spawn(process.execPath, [path('program.mts')], { cwd: folder, stdio: 'inherit' }));
  for (const build of builds) t.teardown(() => build.kill('SIGKILL'));
  t.same(
    await Promise.all(builds.map((build) => once(build, 'exit'))),
    builds.map(() => [0, null]),
  );
  t.same(readdirSync(path('built')).sort(), ['a', 'b', 'c']);
  const writers = ['a', 'b', 'c'].map((name) => readFileSync(path(`built/${name}`), 'utf8'));
  t.equal(new Set(writers).size, 1, 'whole, of one build');
});

// test: postgres, 15 s
/**
 * Reports of faults in postgres.js (deploy/patches/README.md): each reproducer shows its fault on the published driver,
 * and none on the patched one.
 */
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';
import { createDatabase } from '../helpers/db/database.ts';
import { scratch } from '../helpers/scratch.ts';

t.setTimeout(600_000);

const root = join(import.meta.dirname, '../..');
const PATCHES = join(root, 'deploy/patches/postgres');
const reproducers = globSync('*.mjs', { cwd: PATCHES }).sort();
const driver = join(root, 'node_modules/postgres');
const { path } = await scratch(t);
const { url } = await createDatabase(t);

/** Makes a folder in which reproducers find the driver. */
function prepare(name: string): string {
  mkdirSync(path(`${name}/node_modules`), { recursive: true });
  for (const file of reproducers) copyFileSync(join(PATCHES, file), path(`${name}/${file}`));
  return path(`${name}/node_modules/postgres`);
}

/** Runs a reproducer to its end. */
function run(name: string, file: string): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [path(`${name}/${file}`)],
      { env: { ...process.env, DATABASE_URL: url } },
      (_error, stdout, stderr) => {
        resolve({ code: child.exitCode ?? -1, output: stdout + stderr });
      },
    );
  });
}

for (const name of ['published', 'patched']) {
  const copy = prepare(name);
  cpSync(driver, copy, { recursive: true });
  for (const file of globSync(`${copy}/src/*.published`)) renameSync(file, file.replace(/\.published$/, ''));
}
execFileSync(process.execPath, [join(root, 'dev/install/patch-packages.ts'), '--into', path('patched')]);

t.test('an artifact that bundles the driver has the same files as this installation', (t) => {
  for (const file of globSync('src/*.js', { cwd: driver })) {
    t.equal(
      readFileSync(path(`patched/node_modules/postgres/${file}`), 'utf8'),
      readFileSync(join(driver, file), 'utf8'),
      file,
    );
  }
  t.notMatch(
    readFileSync(path('published/node_modules/postgres/src/index.js'), 'utf8'),
    /survivesCuts/,
    'core refuses the published one',
  );
  t.end();
});

/** Output of each reproducer on the published driver. */
const FAULTS: Record<string, RegExp> = {
  '01-write-after-close.mjs': /uncaught exception: .*reading 'write'/,
  '02-unhandled-rejections.mjs': /unhandled rejection: ECONNRESET/,
  '03-statements-of-a-lost-session.mjs': /right after it: never ends/,
  '04-lost-transaction.mjs': /wrote: 1/,
  '05-several-hosts.mjs': /never ends/,
  '06-end-of-a-lost-connection.mjs': /sql\.end\(\): never ends/,
  '13-begin-on-a-full-pipeline.mjs': /reading 'queue'/,
};

t.same(reproducers, Object.keys(FAULTS));
for (const file of reproducers) {
  t.test(file, async (t) => {
    const before = await run('published', file);
    t.equal(before.code, 1, before.output);
    t.match(before.output, FAULTS[file]);
    const after = await run('patched', file);
    t.equal(after.code, 0, after.output);
    t.notMatch(after.output, FAULTS[file]);
  });
}

t.test('every patch names its reason, what is known upstream and a test that exists, and is in the table', (t) => {
  const readme = readFileSync(join(PATCHES, '../README.md'), 'utf8');
  for (const file of globSync('*/*.patch', { cwd: join(PATCHES, '..') })) {
    const text = readFileSync(join(PATCHES, '..', file), 'utf8');
    t.match(text, /^\S+ [\d.]+, \d+: .+\.\n\n.+\n[^]*\nUpstream: .+\.\nTest: .+\n\ndiff --git/, file);
    for (const [test] of text.matchAll(/test\/\S+\.test\.ts/g)) t.ok(readFileSync(join(root, test)).length > 0, test);
    t.ok(readme.includes(`[${basename(file, '.patch')}](${file})`), `${file} is in README.md`);
  }
  for (const file of reproducers) t.ok(readme.includes(`(postgres/${file})`), `${file} has a report`);
  t.end();
});

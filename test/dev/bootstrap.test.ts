// test: 10 s
/**
 * bootstrap.mjs in an otherwise empty copy of the project: when it installs, what it prints, and how it passes signals
 * and exit codes on. npm is a small script here that creates what `npm ci` would.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import type { LocalOptions } from '@slipway/dev/options';
import { helpText, readOptions } from '@slipway/dev/options';
import type { Test } from 'tap';
import t from 'tap';
import { occupy, quietPort } from '../helpers/net/ports.ts';
import { isAlive, scratch } from '../helpers/scratch.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../..');
/** Files with the help of commands that need the development packages. */
const HELPS = {
  bench: 'tools/bench/help.txt',
  kube: 'tools/kube/help.txt',
  sim: 'test/sim/help.txt',
  test: 'tools/test-runner/help.txt',
  'test:of': 'tools/test-runner/help.txt',
};
const LOCK = {
  '': { name: 'x' },
  'node_modules/a': { version: '1.0.0' },
  'node_modules/d': { version: '2.0.0', dev: true },
  'node_modules/o': { version: '3.0.0', optional: true },
  'node_modules/w': { link: true },
  'examples/w': { version: '1.0.0' },
};
/** The script of `npm start`. */
const START_SCRIPT = 'dev/install/start.sh';
const SCRIPTS = ['dev/install/bootstrap.mjs', 'dev/install/once-for.mjs', START_SCRIPT];
const NPM = `const { appendFileSync, mkdirSync, symlinkSync, writeFileSync, existsSync } = require('node:fs');
appendFileSync('asked', process.argv.slice(2).join(' ') + '\\n');
if (existsSync('offline')) { console.error('npm error network'); process.exit(7); }
mkdirSync('node_modules/node/bin', { recursive: true });
if (existsSync('slow')) {
  process.on('SIGINT', () => {});
  const script = require('node:child_process').spawn(process.execPath, ['-e', "process.on('SIGINT', () => {}); setInterval(() => {}, 1000)"]);
  writeFileSync('installing', process.pid + ' ' + script.pid + '\\n');
  return setInterval(() => {}, 1000);
}
if (!existsSync('no-scripts') && !existsSync('node_modules/node/bin/node')) symlinkSync(process.execPath, 'node_modules/node/bin/node');
const { packages } = JSON.parse(require('node:fs').readFileSync('package-lock.json', 'utf8'));
const wanted = Object.entries(packages).filter(([, { dev }]) => !dev || !process.argv.includes('--omit=dev'));
writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(wanted) }));
`;
const START = `require('node:fs').writeFileSync('pid', String(process.pid));
let heard = 0;
const end = () => { console.log('heard', heard); process.exit(5); };
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { heard += 1; setTimeout(end, 200); });
process.on('disconnect', () => process.exit(6));
console.log('args', process.argv.slice(2).filter((argument) => !argument.startsWith('--port=')).join(' '), process.env.INIT_CWD);
if (process.argv[2] === 'end') process.exit(Number(process.argv[3])); else setInterval(() => {}, 1000);
`;

async function project(t: Test) {
  const place = await scratch(t);
  const { folder, path } = place;
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  };
  for (const file of [...SCRIPTS, 'dev/start-help.txt', ...Object.values(HELPS)]) {
    mkdirSync(dirname(path(file)), { recursive: true });
    copyFileSync(join(root, file), path(file));
  }
  const lock = (packages: object): void => write('package-lock.json', JSON.stringify({ packages }));
  lock(LOCK);
  write('npm-cli.js', NPM);
  write('dev/start.ts', START);
  write('tools/test-runner/run-tests.ts', START);
  const port = await quietPort();
  const run = (program: string, first: readonly string[], given: readonly string[], more: NodeJS.ProcessEnv = {}) => {
    // A server on the default port of this machine must not affect the test.
    const args = given.some((argument) => argument.startsWith('--port')) ? given : [...given, `--port=${port}`];
    const { npm_lifecycle_event: _, npm_node_execpath: __, NODE_COMPILE_CACHE: ___, ...env } = process.env;
    const child = spawn(program, [...first, ...args], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...env, INIT_CWD: '/somewhere', npm_execpath: path('npm-cli.js'), ...more },
    });
    const started = { child, text: '', code: once(child, 'close').then(([code]) => code as number) };
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part: Buffer) => {
        started.text += part.toString();
      });
    t.teardown(() => {
      if (isAlive(child.pid!)) child.kill('SIGKILL');
    });
    return started;
  };
  const start = (...args: string[]) => run(process.execPath, [path('dev/install/bootstrap.mjs')], args);
  /** As npm runs the script, in the environment of a user whose `cd` searches folders and prints the one it found. */
  const npmStart = (...args: string[]) =>
    run('/bin/sh', ['-c', `exec ${START_SCRIPT} "$@"`, 'sh'], args, { CDPATH: '.' });
  /** The same as the child of an npm. */
  const npm = (...args: string[]) =>
    run('/bin/sh', ['-c', '"$@" & wait', 'npm', START_SCRIPT], args, { npm_lifecycle_event: 'start' });
  return { ...place, lock, write, start, npmStart, npm };
}

t.test('the help needs no installation', async (t) => {
  const { start, lines } = await project(t);
  for (const option of ['--help', '-h']) {
    const run = start('start', '--port', '9000', option);
    t.equal(await run.code, 0);
    t.equal(run.text, helpText());
  }
  for (const [name, file] of Object.entries(HELPS)) {
    const run = start(name, '--help');
    t.equal(await run.code, 0);
    t.equal(run.text, readFileSync(join(root, file), 'utf8'));
  }
  t.match(helpText(), `(default ${(readOptions([], { root, callerDir: root }) as LocalOptions).port})`);
  t.same(lines('asked'), [], 'npm was not asked');
});

t.test('a port that another program has is found before the installation', async (t) => {
  const { start, lines } = await project(t);
  const port = await occupy(t);
  for (const args of [['--port', String(port)], [`--port=${port}`]]) {
    const run = start('start', ...args);
    t.equal(await run.code, 2);
    t.match(
      run.text,
      new RegExp(`Port ${port} is taken by another program. Choose another one: npm start -- --port \\d+`),
    );
  }
  t.same(lines('asked'), [], 'npm was not asked');
  for (const args of [['--port', 'x'], ['--port=0'], ['--port']]) {
    t.equal(await start('start', 'end', '0', ...args).code, 0, 'what is no port is told by the command, as ever');
  }
});

t.test('installs what is missing, and only then', async (t) => {
  const { start, lock, lines } = await project(t);
  const first = start('start', 'end', '3');
  t.equal(await first.code, 3, 'the exit code is that of the command');
  t.match(first.text, /Installing what is missing[\s\S]*args end 3 \/somewhere/);
  t.equal(await start('start', 'end', '0').code, 0);
  t.equal(lines('asked').length, 1, 'nothing is installed twice');
  t.match(lines('asked').at(-1), /^ci .*--omit=dev/, 'only what it needs');
  lock({ ...LOCK, 'node_modules/d': { version: '2.1.0', dev: true } });
  t.equal(await start('start', 'end', '0').code, 0);
  t.equal(lines('asked').length, 1, 'a new development package does not matter to npm start');
  t.equal(await start('test', 'end', '0').code, 0);
  t.match(lines('asked').at(-1), /^ci .*--include=dev/, 'but to npm test');
  lock({ ...LOCK, 'node_modules/a': { version: '1.0.1' } });
  t.equal(await start('start', 'end', '0').code, 0);
  t.equal(lines('asked').length, 3, 'another version is installed');
  t.match(lines('asked').at(-1), /^ci .*--include=dev/, 'without deleting the development packages');
});

t.test('an installation that fails', async (t) => {
  const { start, open } = await project(t);
  open('no-scripts');
  const bare = start('start');
  t.equal(await bare.code, 1);
  t.match(bare.text, /without its program[\s\S]*npm rebuild/);
  open('offline');
  const failed = start('start');
  t.equal(await failed.code, 7);
  t.match(failed.text, /npm error network[\s\S]*npm ci ended with code 7/);
  const unknown = start('strat');
  t.equal(await unknown.code, 2);
  t.match(unknown.text, /Known are: start, test/);
});

t.test('a stopped installation leaves no npm behind, which would block the next one', async (t) => {
  const { start, open, path, lines } = await project(t);
  open('slow');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const stopped = start('start');
    await waitFor('npm and a script of it', () => lines('installing').length > 0);
    const pids = lines('installing')[0]!.split(' ').map(Number);
    t.teardown(() => {
      for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    });
    process.kill(-stopped.child.pid!, signal);
    await waitFor(`the end of both after ${signal}`, () => pids.every((pid) => !isAlive(pid)));
    t.equal(await stopped.code, 128 + constants.signals[signal]);
    t.match(stopped.text, /installation was stopped; the next start begins it anew/);
    rmSync(path('installing'));
  }
  rmSync(path('slow'));
  t.equal(await start('start', 'end', '0').code, 0, 'the next one installs');
});

t.test('signals', async (t) => {
  const { start, path, lines } = await project(t);
  const twice = start('start');
  await waitFor('the command', () => twice.text.includes('args'));
  process.kill(-twice.child.pid!, 'SIGTERM');
  process.kill(-twice.child.pid!, 'SIGTERM');
  process.kill(twice.child.pid!, 'SIGINT');
  t.equal(await twice.code, 5, 'the command ends as it wants');
  t.match(twice.text, /heard 1/, 'and was told once, however often the group was');

  const killed = start('start');
  await waitFor('the command', () => killed.text.includes('args'));
  const pid = Number(readFileSync(path('pid'), 'utf8'));
  killed.child.kill('SIGKILL');
  await waitFor('the command to notice', () => !isAlive(pid));
  t.equal(lines('asked').length, 1);
});

t.test('npm start', async (t) => {
  const { npmStart, path, lines } = await project(t);
  const help = npmStart('--help');
  t.equal(await help.code, 0);
  t.equal(help.text, helpText());
  t.same(lines('asked'), [], 'the help needs no installation');
  const taken = await occupy(t);
  t.equal(await npmStart('--port', String(taken)).code, 2, 'the code of a failed preparation');

  const ended = npmStart('end', '3');
  t.equal(await ended.code, 3, 'the exit code is that of the launcher');
  t.match(ended.text, /Installing what is missing[\s\S]*args end 3 \/somewhere/);
  t.equal(lines('asked').length, 1);

  const running = npmStart('a b', '$c');
  await waitFor('the launcher', () => running.text.includes('args'));
  t.match(running.text, /args a b \$c /, 'arguments arrive as they are');
  t.equal(running.child.pid, Number(readFileSync(path('pid'), 'utf8')), 'no process waits for the launcher');
  process.kill(running.child.pid!, 'SIGTERM');
  t.equal(await running.code, 5, 'it gets the signal itself');
  t.match(running.text, /heard 1/);
});

t.test('npm is killed before the launcher runs', async (t) => {
  const { npm, write, open, path } = await project(t);
  const steps = `const { existsSync, writeFileSync } = require('node:fs');
writeFileSync(${JSON.stringify(path('building'))}, '');
setInterval(() => existsSync(${JSON.stringify(path('go'))}) && process.exit(0), 10);`;
  write('facades/graphql/build.ts', steps);
  const killed = npm('end', '0');
  await waitFor('the preparation', () => existsSync(path('building')));
  killed.child.kill('SIGKILL');
  await once(killed.child, 'exit');
  open('go');
  await killed.code;
  t.notMatch(killed.text, /args end/, 'the launcher does not run');
  rmSync(path('building'));
  const ended = npm('end', '0');
  await ended.code;
  t.match(ended.text, /args end 0/);
});

t.test('generated files are made anew when something changed', async (t) => {
  const { start, npmStart, write, lines, path } = await project(t);
  const note = (name: string): string => `require('node:fs').appendFileSync(${JSON.stringify(path(name))}, '1\\n');`;
  write('facades/graphql/build.ts', note('built'));
  write('dev/install/compile-ahead.ts', note('compiled'));
  write('proto/slipway/v1/a.proto', 'message A {}');
  const counts = (): number[] => ['built', 'compiled'].map((name) => lines(name).length);
  t.equal(await npmStart('end', '0').code, 0);
  t.same(counts(), [1, 1]);
  t.equal(await npmStart('end', '0').code, 0);
  t.equal(await start('start', 'end', '0').code, 0);
  t.same(counts(), [1, 1], 'nothing changed');
  write('proto/slipway/v1/a.proto', 'message Abc {}');
  t.equal(await start('start', 'end', '0').code, 0);
  t.same(counts(), [2, 1], 'a changed file');
  write('core/new.ts', '');
  t.equal(await npmStart('end', '0').code, 0);
  t.same(counts(), [2, 2], 'a file that is not compiled yet');
  write('facades/graphql/build.ts', `${note('built')} process.exit(4);`);
  t.equal(await npmStart('end', '0').code, 4);
  t.equal(await npmStart('end', '0').code, 4, 'a failure is no success');
  t.same(counts(), [4, 2]);
});

// test: 30 s
/**
 * A run of tests that is stopped or killed leaves no process behind: not one of tap, of the tests, or of what they
 * started.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { moduleFiles } from '@slipway/dev/handler/handler-files';
import t from 'tap';
import { openFolder } from '../helpers/open-folder.ts';
import { scratch } from '../helpers/scratch.ts';
import type { ProcessEntry } from '../helpers/system/process-table.ts';
import { processTable } from '../helpers/system/process-table.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../..');

/** A test that heeds no signal and has a child that heeds none either. */
const STUBBORN = `// test: alone
import { spawn } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
if (import.meta.url.endsWith('a.test.ts') && process.argv[2] !== 'child') {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), 'child'], { stdio: 'inherit' });
  writeFileSync('pids.part', JSON.stringify([process.pid, child.pid, process.ppid]));
  renameSync('pids.part', 'pids');
}
setInterval(() => {}, 1000);
`;

t.setTimeout(600_000);

for (const signal of ['SIGINT', 'SIGKILL'] as const) {
  t.test(`a test that ends by ${signal}`, async (t) => {
    const folder = await openFolder(t);
    const file = join(folder, 'processes');
    // A group of its own, as a terminal makes one: what is in it gets the signal too. The files that it leaves go with
    // this test.
    const test = spawn(process.execPath, [join(import.meta.dirname, 'doomed.ts'), file], {
      detached: true,
      stdio: 'ignore',
      env: { ...process.env, TMPDIR: folder, SLIPWAY_TEST_POSTGRES: '' },
    });
    const ended = once(test, 'exit');
    t.teardown(() => {
      if (test.exitCode === null && test.signalCode === null) process.kill(-test.pid!, 'SIGKILL');
    });
    const noted = await waitFor(
      'its processes',
      () => {
        if (test.exitCode !== null) throw new Error('it ended by itself');
        return existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as ProcessEntry[]);
      },
      90_000,
    );
    const servers = noted.flatMap(({ command }) => /bin\/postgres -D (\S+)/.exec(command)?.[1] ?? []);
    t.equal(servers.length, 2);
    for (const part of ['core/main.ts', 'facades/main.ts', 'gpu-agent/main.ts', 'handlers/all.js']) {
      t.ok(
        noted.some(({ command }) => command.includes(part)),
        `${part} runs`,
      );
    }
    process.kill(-test.pid!, signal);
    await ended;
    const commands = new Map(noted.map(({ pid, command }) => [pid, command]));
    await waitFor('all of them to end', () =>
      processTable().every(({ pid, command }) => commands.get(pid) !== command),
    );
    for (const data of servers) await waitFor('the data to be removed', () => !existsSync(dirname(data)));
  });
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
  t.test(`npm test that ends by ${signal}`, async (t) => {
    const { folder, path } = await scratch(t);
    for (const place of ['tools/test-runner', 'bin', 'node_modules']) mkdirSync(path(place), { recursive: true });
    for (const name of ['tap-parser', '@slipway'])
      symlinkSync(join(root, 'node_modules', name), path(`node_modules/${name}`));
    mkdirSync(path('test'));
    for (const name of ['a', 'b']) writeFileSync(path(`test/${name}.test.ts`), STUBBORN);
    // The last two are loaded by their path.
    for (const name of ['run-tests', 'test-pool', 'test-domain-hook', 'test-domain']) {
      for (const file of moduleFiles(join(root, `tools/test-runner/${name}.ts`), join(root, 'tools'))) {
        const copy = path(relative(root, file));
        mkdirSync(dirname(copy), { recursive: true });
        copyFileSync(file, copy);
      }
    }
    writeFileSync(path('package.json'), '{"type":"module"}');
    const built = path('node_modules/@tapjs/test/test-built/dist/esm/index.js');
    mkdirSync(dirname(built), { recursive: true });
    writeFileSync(built, '');
    // Without a Python it makes none.
    const runner = spawn(process.execPath, [path('tools/test-runner/run-tests.ts')], {
      cwd: folder,
      env: { PATH: path('bin') },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let said = '';
    runner.stdout!.on('data', (part: Buffer) => {
      said += part.toString();
    });
    const ended = once(runner, 'exit');
    const pids = await waitFor(
      'a test and its child',
      () => existsSync(path('pids')) && (JSON.parse(readFileSync(path('pids'), 'utf8')) as number[]),
    );
    const left = (): ProcessEntry[] => processTable().filter(({ pid }) => pids.includes(pid));
    t.teardown(() => {
      for (const { pid } of left()) process.kill(pid, 'SIGKILL');
    });
    runner.kill(signal);
    const [code] = (await ended) as [number | null];
    await waitFor('all to end', () => left().length === 0, 10_000);
    if (signal === 'SIGKILL') return;
    t.equal(code, 1);
    t.match(said, /^The run was interrupted: 2 of 2 test files had not ended\. Its numbers say nothing\.$/m);
  });
}

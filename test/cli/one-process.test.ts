// test: postgres, 15 s
/** A part that a command starts costs no more than the part: it takes the place of the command in its process. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { createDatabase } from '../helpers/db/database.ts';
import type { ProcessEntry } from '../helpers/system/process-table.ts';
import { descendants, skipWithoutProc } from '../helpers/system/process-table.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { commandLine } from './command-line.ts';

const root = join(import.meta.dirname, '../..');

t.setTimeout(300_000);

t.test('core and facade', { skip: skipWithoutProc() }, async (t) => {
  const { url } = await createDatabase(t);
  const env = {
    SLIPWAY_DATABASE_URL: url,
    SLIPWAY_SECRET_KEY: randomBytes(32).toString('hex'),
    SLIPWAY_CORE_LISTEN: '127.0.0.1:0',
    SLIPWAY_LOG_FORMAT: 'json',
  };

  await t.test('slipway core', async (t) => {
    const run = commandLine(t, env).start('core');
    await run.wrote('stdout', /"msg":"core is ready"/);
    t.match(descendants(run.child.pid!), [{ command: /core\/main\.ts$/ }]);
    t.equal(descendants(run.child.pid!).length, 1, 'there is no other process');
    run.child.kill('SIGTERM');
    t.match(await run.ended, { code: 0 });
  });

  await t.test('slipway facade', async (t) => {
    const run = commandLine(t, { ...env, SLIPWAY_GRAPHQL_AT_START: 'false' }).start('facade', '--port', '0');
    await run.wrote('stdout', /"msg":"facade listens/);
    t.match(descendants(run.child.pid!), [{ command: /facades\/main\.ts$/ }]);
    t.equal(descendants(run.child.pid!).length, 1, 'there is no other process');
    run.child.kill('SIGTERM');
    t.match(await run.ended, { code: 0 });
  });

  await t.test('npx slipway core: only npm itself stays, and a SIGTERM to it ends core', async (t) => {
    const child = spawn('npx', ['--no-install', 'slipway', 'core'], { cwd: root, env: { ...process.env, ...env } });
    const output: string[] = [];
    child.stdout.on('data', (part: Buffer) => void output.push(String(part)));
    const ended = new Promise((resolve) => void child.once('close', resolve));
    const ofPart = ({ command }: ProcessEntry): boolean => /core\/main\.ts$/.test(command);
    await waitFor('core', () => output.join('').includes('"msg":"core is ready"'));
    const all = descendants(child.pid!);
    const ours = all.filter(({ command }) => !/^npm exec|^(\/bin\/)?(da|ba)?sh -c/.test(command));
    t.ok(ours.length === 1 && ours.every(ofPart), all.map(({ command }) => command).join('\n'));
    child.kill('SIGTERM');
    await ended;
    t.match(output.join(''), /"msg":"core stops"/);
  });
});

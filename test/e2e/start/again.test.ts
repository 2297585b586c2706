// test: postgres, 20 s
/**
 * An `npm start` right after another one that was killed or is stopping: it waits for the end of its leftovers, and
 * says so. One whose npm is killed ends by itself.
 */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { Launcher, readFacts } from '../../helpers/system/launcher.ts';
import { groupAlive } from '../../helpers/system/process-table.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** Starts one and holds its facade, so that it cannot end until `letGo`. */
async function startAndHold(t: Test, ...options: string[]) {
  const folder = await openFolder(t);
  const args = ['--no-agent', '--port', String(await quietPort()), '--data-dir', folder, ...options];
  const first = new Launcher(t, ...args);
  await first.ready();
  const facade = first.processes().find(({ command }) => command.includes('facades/main.ts'))!.pid;
  process.kill(facade, 'SIGSTOP');
  const letGo = (): void => {
    process.kill(facade, 'SIGCONT');
  };
  t.teardown(() => {
    try {
      letGo();
    } catch {
      return;
    }
  });
  const facts = (): Record<string, string> => readFacts(join(folder, 'local.env'));
  return { args, first, facade, letGo, facts };
}

t.test('a start after kill -9', async (t) => {
  const { args, first, facade, letGo } = await startAndHold(t);
  await first.end('SIGKILL');
  const second = new Launcher(t, ...args);
  await waitFor('the line that says what it waits for', () =>
    second.text.includes(`an earlier run was killed; waiting for its processes to end: facade (process ${facade})`),
  );
  letGo();
  await second.ready();
  t.match(second.text, /stopped PostgreSQL of an earlier run/);
  t.equal(await second.end('SIGTERM'), 0);
});

t.test('a start while the first one is stopping', async (t) => {
  const { url } = await createDatabase(t);
  const { args, first, letGo, facts } = await startAndHold(t, '--database-url', url);
  const before = facts();
  const ended = first.end('SIGTERM');
  const second = new Launcher(t, ...args);
  const line = `waiting for the run before this one (process ${first.pid}) to end`;
  await waitFor('the line that says what it waits for', () => second.text.includes(line), 20_000);
  letGo();
  t.equal(await ended, 0);
  await second.ready();
  t.same(facts(), before, 'the same address, key and endpoint');
  t.equal(await second.end('SIGTERM'), 0);
});

t.test('the npm that started it is killed', async (t) => {
  const root = join(import.meta.dirname, '../../..');
  const args = ['--no-agent', '--port', String(await quietPort()), '--data-dir', await openFolder(t)];
  const npm = spawn('/bin/sh', ['-c', '"$@" & wait', 'npm', process.execPath, join(root, 'dev/start.ts'), ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, npm_lifecycle_event: 'start' },
  });
  let text = '';
  npm.stdout.on('data', (part: Buffer) => {
    text += part.toString();
  });
  // The launcher too, if it has not noticed.
  t.teardown(() => groupAlive(npm.pid!) && process.kill(-npm.pid!, 'SIGTERM'));
  await waitFor('its first process', () => text.includes('PostgreSQL is up'));
  npm.kill('SIGKILL');
  await waitFor('the end of everything', () => text.includes('everything has stopped'));
});

/**
 * One agent at a time uses a data folder, by whatever path, and kill -9 frees it. A folder that cannot be made gives an
 * error of one line.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataFolderError, takeDataFolder, takeMachineId } from '@slipway/gpu-agent/data-folder';
import { systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../helpers/time/wait-for.ts';

const MODULE = join(import.meta.dirname, '../../gpu-agent/data-folder.ts');

async function newFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-folder-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const linuxOnly = { skip: process.platform !== 'linux' && "the lock is Linux's" };

t.test('one at a time', linuxOnly, async (t) => {
  const folder = await newFolder(t);
  const link = join(folder, 'link');
  await symlink(folder, link);
  const giveBack = await takeDataFolder(folder);
  const taken = { constructor: DataFolderError, message: /Another agent uses .*--data-dir/ };
  await t.rejects(takeDataFolder(folder), taken);
  await t.rejects(takeDataFolder(link), taken);
  giveBack();

  const code = `import { takeDataFolder } from ${JSON.stringify(MODULE)};
    await takeDataFolder(process.argv[1]); process.on('message', () => {}); process.send('taken');`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', code, link], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  t.teardown(() => {
    other.kill('SIGKILL');
  });
  await once(other, 'message');
  await t.rejects(takeDataFolder(folder), taken);
  other.kill('SIGKILL');
  const again = await waitFor('the folder', () => takeDataFolder(folder));
  again();
});

t.test('one at a time is a machine', linuxOnly, async (t) => {
  const id = systemRandom.id(12);
  const giveBack = await takeMachineId(id, '/data');
  const taken = {
    constructor: DataFolderError,
    message: /Another agent on this host .* \/copy was copied .*--data-dir/,
  };
  await t.rejects(takeMachineId(id, '/copy'), taken);
  (await takeMachineId(systemRandom.id(12), '/other'))();
  giveBack();
  (await takeMachineId(id, '/copy'))();
});

t.test('a folder that cannot be made', async (t) => {
  const folder = await newFolder(t);
  await writeFile(join(folder, 'file'), '');
  for (const path of [
    join(folder, 'file'),
    join(folder, 'file', 'below'),
    ...(process.platform === 'linux' ? ['/proc/slipway/agent'] : []),
  ]) {
    await t.rejects(
      takeDataFolder(path),
      { constructor: DataFolderError, message: /^The data folder .* cannot be used \(.*\)\. Choose/ },
      path,
    );
  }
});

/** One agent at a time uses a data folder, whatever path leads to it, and kill -9 frees it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { FolderInUseError, lockFolder } from '../../gpu-agent/folder-lock.ts';
import { waitFor } from '../helpers/wait-for.ts';

const MODULE = join(import.meta.dirname, '..', '..', 'gpu-agent', 'folder-lock.ts');

t.test('one at a time', { skip: process.platform !== 'linux' && 'the lock is Linux\'s' }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-lock-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const link = join(folder, 'link');
  await symlink(folder, link);
  const unlock = await lockFolder(folder);
  await t.rejects(lockFolder(folder), FolderInUseError);
  await t.rejects(lockFolder(link), FolderInUseError);
  await unlock();

  const code = `import { lockFolder } from ${JSON.stringify(MODULE)};
    await lockFolder(process.argv[1]); process.on('message', () => {}); process.send('locked');`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', code, link], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  t.teardown(() => { other.kill('SIGKILL'); });
  await once(other, 'message');
  await t.rejects(lockFolder(folder), FolderInUseError);
  other.kill('SIGKILL');
  const again = await waitFor('the lock', () => lockFolder(folder));
  await again();
});

/** Sizes of folders: what holds them on which mount, and that nothing is claimed that does not hold. */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HostMount } from '@slipway/gpu-agent/executors/host-mounts';
import { mountOf } from '@slipway/gpu-agent/executors/host-mounts';
import { FolderQuota, projectOf, quotaCommands } from '@slipway/gpu-agent/launch/folder-quota';
import { tryAs } from '@slipway/kit/host/host-user';
import t from 'tap';
import { openFolder } from '../../helpers/open-folder.ts';

const run = promisify(execFile);
const mount = (type: string, ...fileSystemOptions: string[]): HostMount => ({
  root: '/',
  point: '/srv',
  options: ['rw'],
  type,
  source: '/dev/sdb',
  fileSystemOptions,
});

t.test('programs by file system', async (t) => {
  t.same(quotaCommands(mount('ext4', 'rw', 'prjquota'), '/srv/v/one', 7, 1_000), {
    join: ['chattr', '-p', '7', '+P', '/srv/v/one'],
    bound: ['setquota', '-P', '7', '0', '1000', '0', '0', '/srv'],
  });
  t.same(quotaCommands(mount('xfs', 'rw', 'prjquota'), '/srv/v/one', 7, 1_000), {
    join: ['xfs_quota', '-x', '-c', 'project -s -p /srv/v/one 7', '/srv'],
    bound: ['xfs_quota', '-x', '-c', 'limit -p bhard=1000k 7', '/srv'],
  });
  const none = [mount('ext4', 'rw'), mount('xfs', 'noquota'), mount('nfs4', 'prjquota'), undefined];
  for (const other of none) t.equal(quotaCommands(other, '/srv/v', 7, 1), undefined);
  t.equal(quotaCommands(mount('xfs', 'prjquota'), '/srv/a folder', 7, 1), undefined, 'not in a line of xfs_quota');
});

t.test('the mount of a folder is the longest, and of equal ones the latest', async (t) => {
  const at = (point: string, type: string): HostMount => ({ ...mount(type), point });
  const mounts = [at('/', 'a'), at('/srv', 'b'), at('/srv/v', 'c'), at('/srv', 'd'), at('/srv/volumes', 'e')];
  t.equal(mountOf('/srv/v/one', mounts)?.type, 'c');
  t.equal(mountOf('/srv/vol', mounts)?.type, 'd');
  t.equal(mountOf('/other', mounts)?.type, 'a');
});

t.test('projects have numbers of their own', async (t) => {
  t.equal(projectOf('one'), projectOf('one'));
  t.not(projectOf('one'), projectOf('other'));
  t.ok(projectOf('one') >= 2 ** 30 && projectOf('one') < 2 ** 31);
});

t.test('where the file system counts no projects nothing is claimed, and nothing fails', async (t) => {
  const folder = await openFolder(t);
  const quota = new FolderQuota(folder);
  t.equal(await quota.holds(), false);
  mkdirSync(join(folder, 'one'));
  await quota.bound('one', 1, true);
});

t.test('an ext4 with project quotas', async (t) => {
  const folder = await openFolder(t);
  const make = 'truncate -s 64M "$1.img" && mkfs.ext4 -q -O quota,project "$1.img" && mkdir "$1"';
  const image = `${make} && mount -o loop,prjquota "$1.img" "$1" && command -v setquota`;
  const point = join(folder, 'disk');
  const counts = await run('/bin/sh', ['-c', image, 'sh', point]).then(
    () => true,
    () => false,
  );
  t.teardown(() => run('umount', [point]).catch(() => undefined));
  if (!counts) return t.comment('this host mounts no ext4 with project quotas, or has no setquota');
  const quota = new FolderQuota(point);
  t.equal(await quota.holds(), true);
  mkdirSync(join(point, 'one'), { mode: 0o777 });
  await quota.bound('one', 0.02, true);
  const user = { uid: 7_654_321, gid: 7_654_321 };
  t.match(await tryAs(user, 'dd if=/dev/zero of="$1/full" bs=1M count=30', join(point, 'one')), /quota/i);
  await quota.bound('one', 0.05, false);
  t.equal(
    await tryAs(user, 'dd if=/dev/zero of="$1/full" bs=1M count=30', join(point, 'one')),
    undefined,
    'after it has grown',
  );
});

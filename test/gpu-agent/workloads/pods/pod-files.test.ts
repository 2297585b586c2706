/** Disks of pods on a real file system. */
import { chownSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { giveToContainers } from '@slipway/gpu-agent/executors/container/container-users';
import { SharedFolders } from '@slipway/gpu-agent/users/shared-folder';
import { isPlain, PodFiles } from '@slipway/gpu-agent/workloads/pods/pod-files';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { scratch } from '../../../helpers/scratch.ts';

const shared = new SharedFolders(createLogger('test', 'silent'));

t.test('one disk per pod, which is kept', async (t) => {
  const { folder } = await scratch(t);
  const files = new PodFiles(join(folder, 'pods'), shared);
  t.same(await files.list(), [], 'before there is anything');
  const first = await files.open('p1', 1);
  t.equal(first, join(folder, 'pods/p1/1'));
  writeFileSync(join(first, 'kept'), 'x');
  await files.open('p1', 1);
  t.ok(existsSync(join(first, 'kept')));
  const second = await files.open('p1', 2);
  t.ok(existsSync(second));
  t.notOk(existsSync(first), 'the other disk is gone');
  await files.open('p2', 1);
  mkdirSync(join(folder, 'pods/Not-Ours'));
  t.same((await files.list()).sort(), ['p1', 'p2'], 'what no pod can be called is left alone');
  await files.remove('p1');
  t.same(await files.list(), ['p2']);
});

t.test('only plain ids become paths', async (t) => {
  const { folder } = await scratch(t);
  const files = new PodFiles(join(folder, 'pods'), shared);
  for (const id of ['', '.', '..', '../x', 'a/b', 'A', 'a b', 'a\0', 'x'.repeat(65)]) {
    t.notOk(isPlain(id, 1), JSON.stringify(id));
    await t.rejects(files.open(id, 1), /is not the id of a pod/);
    await t.rejects(files.remove(id), /is not the id of a pod/);
  }
  for (const disk of [0, -1, 1.5, Number.NaN]) t.notOk(isPlain('p', disk));
  t.ok(isPlain('abc123', 1));
});

t.test('a disk with files of container users is removed entirely', { skip: !runsAsRoot() }, async (t) => {
  const { folder } = await scratch(t);
  const files = new PodFiles(join(folder, 'pods'), shared);
  const base = 7_700_000;
  for (const disk of [1, 2]) {
    const { source } = await files.openFor('p1', disk, 'container', undefined);
    t.equal(readdirSync(join(folder, 'pods/p1')).length, 2, 'the disk before is gone');
    await giveToContainers(source, base);
    t.equal(statSync(source).uid, base);
    mkdirSync(join(source, 'closed'), { mode: 0o700 });
    writeFileSync(join(source, 'closed/file'), 'x');
    chownSync(join(source, 'closed'), base + 1_000, base + 1_000);
    await giveToContainers(source, base);
  }
  await files.remove('p1');
  t.same(await files.list(), []);
});

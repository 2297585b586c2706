import { rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LogArchive } from '@slipway/gpu-agent/launch/log-archive';
import type { Test } from 'tap';
import t from 'tap';
import { fillDisk, smallDisk } from '../../helpers/small-disk.ts';

const MIB = 1024 * 1024;
const DAY_MS = 24 * 3_600_000;

/** As large as an index of what has an id of three characters, and forty logs of ten bytes with theirs. */
const INDEX_BYTES = JSON.stringify({ start: 0, stamps: [], spans: [], owner: 'w10' }).length;
const ROOM = 40 * (10 + INDEX_BYTES);

/** Returns an archive on a clock that the test moves. */
async function setup(t: Test, bytesMax = 64 * MIB, disk = t.testdir({})) {
  const folder = join(disk, 'logs');
  const clock = { atMs: Date.now(), nowMs: () => clock.atMs };
  const open = async (): Promise<LogArchive> => {
    const archive = new LogArchive({ folder, bytesMax, clock });
    await archive.open();
    return archive;
  };
  const end = (archive: LogArchive, id: string, endpointId: string, bytes = Buffer.from(id)): Promise<void> =>
    archive.keep({ id, owner: endpointId }, { bytes, start: 0, stamps: [] });
  const onDisk = async (): Promise<number> =>
    (await readdir(folder)).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  return { folder, clock, open, end, onDisk };
}

t.test('keeps a bounded number of bytes, across restarts, the newest', async (t) => {
  const { folder, open, end, onDisk } = await setup(t, ROOM);
  const archive = await open();
  for (let i = 10; i < 70; i += 1) {
    await end(archive, `w${i}`, `w${i}`, Buffer.from(`log of ${i} `));
    // Files of one moment have no order.
    utimesSync(join(folder, `w${i}.log`), i, i);
  }
  t.equal(await onDisk(), ROOM);
  t.equal(await archive.tail('w29', 100), undefined);
  t.equal(String(await archive.tail('w30', 100)), 'log of 30 ');
  t.equal(String(await archive.tail('w69', 4)), ' 69 ');
  t.equal(await archive.tail('../machine-id', 100), undefined);

  writeFileSync(join(folder, 'w69.log'), 'of 69 ');
  writeFileSync(join(folder, 'w69.index.json'), '{}');
  writeFileSync(join(folder, 'cut-off.index.json'), '{}');
  const again = await open();
  t.notOk((await readdir(folder)).includes('cut-off.index.json'), 'an index without its log goes');
  t.equal(String(await again.tail('w30', 100)), 'log of 30 ', 'there is room for all');
  await end(again, 'new', 'new', Buffer.from('ab'));
  t.equal(String(await again.tail('w30', 100)), 'log of 30 ', 'and for two bytes more');
  await end(again, 'newer', 'newer', Buffer.from('c'));
  t.equal(await again.tail('w30', 100), undefined, 'indexes take room too: the oldest of the largest went');
  t.equal(await onDisk(), ROOM - 7);
});

t.test('an endpoint whose workers end most or write most loses its own logs first', async (t) => {
  const { folder, open, end, onDisk } = await setup(t, 4 * MIB);
  let archive = await open();
  await end(archive, 'quiet', 'e1');
  await end(archive, 'pod', 'pod');
  for (let count = 0; count < 20; count += 1) {
    if (count === 12) archive = await open();
    await end(archive, `loud${count}`, 'e2', Buffer.alloc(MIB, 'x'));
  }
  for (const id of ['quiet', 'pod']) t.equal(String(await archive.tail(id, 100)), id);
  t.equal((await archive.tail('loud19', 2 * MIB))!.length, MIB);
  t.equal(await archive.tail('loud0', 100), undefined);
  t.ok((await onDisk()) <= 4 * MIB);
  t.equal((await readdir(folder)).filter((name) => name.startsWith('loud') && name.endsWith('.log')).length, 3);
});

t.test('3,000 workers that crash one after the other, many at a time', async (t) => {
  const { folder, open, end } = await setup(t);
  const archive = await open();
  await end(archive, 'quiet', 'e1');
  for (let batch = 0; batch < 30; batch += 1)
    await Promise.all(Array.from({ length: 100 }, (_, i) => end(archive, `loop${batch * 100 + i}`, 'e2')));
  t.equal((await readdir(folder)).length, 2_000, 'a thousand, each with its index');
  for (const id of ['quiet', 'loop2999']) t.equal(String(await archive.tail(id, 100)), id);
  t.equal(await archive.tail('loop0', 100), undefined);
});

t.test("a worker's log is deleted after a day, also without other ends; a pod's with its pod", async (t) => {
  const { folder, clock, open, end } = await setup(t);
  let archive = await open();
  await end(archive, 'worker', 'e1');
  await end(archive, 'pod', 'pod');
  clock.atMs += DAY_MS - 60_000;
  await archive.prune();
  t.equal(String(await archive.tail('worker', 100)), 'worker');
  clock.atMs += 120_000;
  archive = await open();
  t.equal(await archive.tail('worker', 100), undefined, 'by an agent that was away meanwhile');
  await end(archive, 'next', 'e1');
  clock.atMs += DAY_MS + 60_000;
  await archive.prune();
  t.equal(await archive.tail('next', 100), undefined);
  t.same((await readdir(folder)).toSorted(), ['pod.index.json', 'pod.log']);
  await archive.drop('pod');
  t.same(await readdir(folder), []);
});

t.test('a log that has just ended is readable before it is on the disk', async (t) => {
  const { open, end } = await setup(t);
  const archive = await open();
  const kept = end(archive, 'worker', 'e1');
  t.equal(String(await archive.tail('worker', 3)), 'ker');
  t.match(await archive.attributed('worker'), { bytes: Buffer.from('worker'), start: 0 });
  await kept;
  t.match(await archive.attributed('worker'), { bytes: Buffer.from('worker'), start: 0 });
});

t.test('a failed write leaves nothing behind', async (t) => {
  const { folder, open, end } = await setup(t);
  const archive = await open();
  await t.rejects(end(archive, 'x'.repeat(250), 'e1'), { code: 'ENAMETOOLONG' });
  for (const id of ['../outside', '..', '', 'a/b', 'a\0b', '/etc/x']) {
    await t.rejects(end(archive, id, 'e1'), /No log is kept under the id/, id);
    t.equal(await archive.tail(id, 100), undefined);
  }
  t.same(await readdir(folder), []);
  t.same(await readdir(join(folder, '..')), ['logs']);
});

t.test('on a full disk stored logs stay, and the next one is stored once there is space', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.comment('no disk can be mounted here');
  const { folder, open, end, onDisk } = await setup(t, 64 * MIB, disk);
  const archive = await open();
  await end(archive, 'first', 'e1');
  const before = await onDisk();
  await t.rejects(end(archive, 'large', 'e1', Buffer.alloc(MIB, 'x')), { code: 'ENOSPC' });
  t.equal(await archive.tail('large', 100), undefined);
  t.equal(await onDisk(), before, 'nothing of it takes room');
  fillDisk(disk);
  await t.rejects(end(archive, 'small', 'e1', Buffer.alloc(100_000, 'x')), { code: 'ENOSPC' });
  t.equal(String(await archive.tail('first', 100)), 'first');
  for (const name of await readdir(disk)) if (name.startsWith('filling')) rmSync(join(disk, name));
  await end(archive, 'small', 'e1', Buffer.alloc(100_000, 'x'));
  t.equal((await archive.tail('small', MIB))!.length, 100_000);
  t.equal((await readdir(folder)).length, 4);
});

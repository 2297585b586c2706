import { utimesSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { LogArchive } from '../../../gpu-agent/launch/log-archive.ts';

t.test('keeps a bounded number, across restarts', async (t) => {
  const folder = join(t.testdir({}), 'logs');
  const archive = new LogArchive(folder);
  await archive.open();
  for (let i = 0; i < 60; i += 1) {
    await archive.keep(`w${i}`, Buffer.from(`log of ${i}`));
    // Files of one moment have no order.
    utimesSync(join(folder, `w${i}.log`), i, i);
  }
  t.equal((await readdir(folder)).length, 50);
  t.equal(await archive.tail('w9', 100), undefined);
  t.equal(String(await archive.tail('w10', 100)), 'log of 10');
  t.equal(String(await archive.tail('w59', 4)), 'f 59');
  t.equal(await archive.tail('../machine-id', 100), undefined);

  writeFileSync(join(folder, 'w59.index.json'), '{}');
  writeFileSync(join(folder, 'cut-off.index.json'), '{}');
  const again = new LogArchive(folder);
  await again.open();
  t.same((await readdir(folder)).filter((name) => name.endsWith('.json')), ['w59.index.json'], 'an index without its log goes');
  t.equal(String(await again.tail('w10', 100)), 'log of 10');
  await again.keep('new', Buffer.from('x'));
  t.equal(await again.tail('w10', 100), undefined, 'the oldest went');
  t.equal(String(await again.tail('w11', 100)), 'log of 11');
});

t.test('an endpoint whose workers end all the time loses its own', async (t) => {
  const folder = join(t.testdir({}), 'logs');
  let archive = new LogArchive(folder);
  await archive.open();
  const end = (id: string, endpointId: string): Promise<void> => archive.keepIndexed({ id, endpointId }, { bytes: Buffer.from(id), start: 0, stamps: [] }, []);
  await end('quiet', 'e1');
  await archive.keep('pod', Buffer.from('pod'));
  for (let count = 0; count < 100; count += 1) {
    if (count === 60) {
      archive = new LogArchive(folder);
      await archive.open();
    }
    await end(`loop${count}`, 'e2');
  }
  for (const id of ['quiet', 'pod', 'loop99']) t.equal(String(await archive.tail(id, 100)), id);
  t.equal(await archive.tail('loop0', 100), undefined);
  t.equal((await readdir(folder)).filter((name) => name.endsWith('.log')).length, 50);
});

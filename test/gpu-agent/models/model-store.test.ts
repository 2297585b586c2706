/** The disk of models: its limit, which of them go, and what a full disk leaves. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ModelStore } from '@slipway/gpu-agent/models/model-store';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { startModelHub } from '../../helpers/net/model-hub.ts';
import { smallDisk } from '../../helpers/small-disk.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { openModels } from './make-models.ts';

const KB = 1_000;
const model = (letter: string, kb = 100) => ({
  files: { [`${letter}.bin`]: Buffer.alloc(kb * KB, letter) },
  large: [`${letter}.bin`],
});

t.test('the limit', async (t) => {
  const hub = await startModelHub(t);
  const folder = t.testdir({});
  const { store, bring, fails } = await openModels(folder, { hubAddress: hub.address, limitBytes: 250 * KB });
  for (const name of ['a', 'b', 'c', 'd']) hub.push(`lab/${name}`, model(name));
  hub.push('lab/big', model('x', 251));
  const names = (): string[] =>
    store
      .ready()
      .map(({ repository }) => repository.slice(4))
      .sort();

  t.match(await fails('lab/big'), {
    fault: 'DISK_FULL',
    message: /lab\/big has 251 kB, and the machine gives models 250 kB/,
  });
  t.equal(hub.sentBytes, 0, 'nothing was downloaded');

  const a = await bring('lab/a');
  await store.use('worker-a', a, 'main');
  const b = await bring('lab/b');
  await store.use('worker-b', b, 'main');
  t.match(await fails('lab/c'), { fault: 'DISK_FULL', message: /the other models there are in use/ });
  t.same(names(), ['a', 'b']);
  await store.unpin('worker-a');
  await bring('lab/c');
  t.same(names(), ['b', 'c'], 'a worker uses b');
  await store.unpin('worker-b');
  await store.use('worker-c', await bring('lab/c'), 'main');
  await store.unpin('worker-c');
  await bring('lab/d');
  t.same(names(), ['c', 'd'], 'b was used longest ago');
  t.equal(store.usedBytes, 200 * KB);

  await t.test('the next agent knows which models are in use', async (t) => {
    await store.use('worker-d', store.ready().find(({ repository }) => repository === 'lab/d')!, 'main');
    const next = new ModelStore({
      path: join(folder, 'models'),
      limitBytes: () => 50 * KB,
      clock: systemClock,
      random: systemRandom,
    });
    await next.open();
    t.ok(await next.shrink());
    t.same(
      next.ready().map(({ repository }) => repository),
      ['lab/d'],
    );
    await next.keepPins(new Set());
    await next.shrink();
    t.same(next.ready(), []);
    t.same(readdirSync(join(folder, 'models')), ['.pins'], 'nothing is left');
    t.ok(await store.scan(), 'a folder that is gone is noticed');
    t.same(store.ready(), []);
  });

  await t.test('a machine that takes none', async (t) => {
    const none = await openModels(t.testdir({}), { hubAddress: hub.address, limitBytes: 0 });
    t.match(await none.fails('lab/a'), { fault: 'DISK_FULL', message: /takes no models \(--model-disk\)/ });
  });
});

t.test('a model is not removed while it is being downloaded', async (t) => {
  const hub = await startModelHub(t);
  const { store, status, bring, fails } = await openModels(t.testdir({}), {
    hubAddress: hub.address,
    limitBytes: 150 * KB,
  });
  hub.push('lab/a', model('a'));
  hub.push('lab/b', model('b'));
  hub.fail({ silentAfter: 10 * KB });
  const abort = new AbortController();
  const a = bring('lab/a', {}, abort.signal).catch(() => undefined);
  await waitFor('its beginning', () => hub.sentBytes > 0);
  t.match(await fails('lab/b'), { fault: 'DISK_FULL' });
  t.notOk(await store.freeSpace());
  abort.abort(new Error('over'));
  await a;
  await waitFor('its end', () => status.report([]).every(({ repository }) => repository !== 'lab/a'));
  hub.heal();
  await bring('lab/b');
  t.same(
    store.ready().map(({ repository }) => repository),
    ['lab/b'],
    'what was left of it went first',
  );
});

t.test('a full disk', { skip: process.getuid?.() === 0 ? false : 'needs root to mount a disk' }, async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.comment('no disk can be mounted here');
  const hub = await startModelHub(t);
  hub.push('lab/a', model('a', 300));
  hub.push('lab/b', model('b', 400));
  hub.push('lab/c', model('c', 800));
  const { store, bring, fails } = await openModels(disk, { hubAddress: hub.address });
  const a = await bring('lab/a');
  await store.use('worker', a, 'main');
  t.match(
    await fails('lab/c'),
    { fault: 'DISK_FULL', message: /its disk has 7\d\d kB left/ },
    'known before the download',
  );
  hub.fail({ path: 'b.bin', silentAfter: 100 * KB, times: 1 });
  const abort = new AbortController();
  const b = bring('lab/b', {}, abort.signal).catch((error: Error & { fault?: string }) => error);
  await waitFor('its beginning', () => hub.sentBytes >= 400 * KB);
  abort.abort(new Error('over'));
  await b;
  const fill = join(disk, 'fill');
  const again = fails('lab/b');
  writeFileSync(fill, Buffer.alloc(500 * KB));
  t.match(await again, { fault: 'DISK_FULL' });
  t.same(
    store.ready().map(({ repository }) => repository),
    ['lab/a'],
  );
  t.ok(existsSync(store.folderOf(a).blob(a.files[0]!.digest)), 'the model in use is whole');
});

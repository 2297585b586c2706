// test: 5 s
/** `slipway models remove` on the store of an agent that runs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openModels } from '../gpu-agent/models/make-models.ts';
import { startModelHub } from '../helpers/net/model-hub.ts';
import { commandLine } from './command-line.ts';

t.setTimeout(300_000);

t.test('a model goes once no worker uses it, and the agent notices', async (t) => {
  const hub = await startModelHub(t);
  const [old, now] = ['one', 'two'].map((text) => hub.push('lab/tiny', { files: { 'config.json': text } }));
  hub.push('lab/other', { files: { 'config.json': 'other' } });
  const folder = t.testdir({});
  const machine = await openModels(folder, { hubAddress: hub.address });
  const first = await machine.bring('lab/tiny', { commit: old! });
  const second = await machine.bring('lab/tiny', { commit: now! });
  const other = await machine.bring('lab/other');
  await machine.store.use('worker', second, 'main');
  const cli = commandLine(t, {});
  const remove = (...args: string[]) =>
    cli.start('models', 'remove', ...args, '--model-dir', join(folder, 'models')).ended;

  t.match(await remove('lab/none'), { code: 1, stderr: /has no model lab\/none\./ });
  t.match(await remove('lab/tiny'), { code: 1, stderr: /lab\/tiny is in use by a worker: end the workers/ });
  t.ok(existsSync(machine.store.folderOf(first).hubPath), 'nothing is removed then, the unused commit neither');
  t.match(await remove('lab/tiny', '--commit', old!.slice(0, 8)), { code: 0 });
  await machine.store.scan();
  t.equal(machine.store.find(first), undefined);
  t.match([machine.store.find(second), machine.store.find(other)], [second, other]);
  await machine.store.unpin('worker');
  t.match(await remove('lab/tiny'), { code: 0 });
  await machine.store.scan();
  t.match(machine.store.ready(), [{ repository: 'lab/other' }]);

  hub.push('lab/half', { files: { w: Buffer.alloc(100_000) }, large: ['w'] });
  hub.fail({ path: 'w', cutAfter: 10, times: 1 });
  hub.fail({ path: 'w', status: 500 });
  await machine.fails('lab/half');
  t.match(await remove('lab/half'), { code: 1, stderr: /is not complete: a download may be in progress/ });
  const away = await cli.start('models', 'remove', 'lab/tiny', '--model-dir', join(folder, 'nowhere')).ended;
  t.match(away, { code: 1, stderr: /cannot be read \(ENOENT\)|nowhere/ });
});

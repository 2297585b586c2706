// test: huggingface, 5 s
/**
 * The real Python package `huggingface_hub`: it reads what the agent stored without a network, and downloads from the
 * hub of these tests, which shows that this one is like the real one. Imports of what it stored.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { dropParts, importModel } from '@slipway/gpu-agent/models/folders/folder-import';
import { findModels } from '@slipway/gpu-agent/models/folders/folder-listing';
import { systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { requireDeclared } from '../../helpers/declared.ts';
import { startModelHub } from '../../helpers/net/model-hub.ts';
import { openModels } from './make-models.ts';

requireDeclared('huggingface');
const PYTHON =
  process.env.SLIPWAY_TEST_PYTHON_HUGGINGFACE ??
  join(import.meta.dirname, '../../../.slipway-test/huggingface/bin/python');
const skip = existsSync(PYTHON) ? false : 'needs python3 with venv: then run `npm run test:python`';
const run = promisify(execFile);
const LARGE = 'model.safetensors';
const files = { 'config.json': '{"hidden":4}', 'sub/vocab.txt': 'a\nb\n', [LARGE]: Buffer.alloc(300_000, 'w') };

/** Runs `snapshot_download` and prints the files. */
const SCRIPT = `
import os, sys
from huggingface_hub import snapshot_download, hf_hub_download
offline = sys.argv[2] == 'offline'
folder = snapshot_download(sys.argv[1], local_files_only=offline)
print(open(os.path.join(folder, 'config.json')).read())
print(os.path.getsize(hf_hub_download(sys.argv[1], '${LARGE}', local_files_only=offline)))
print(os.path.basename(folder))
`;

async function python(
  cache: string,
  hub: string,
  how: 'offline' | 'online',
  more: Record<string, string> = {},
): Promise<string[]> {
  const env = { PATH: process.env.PATH, HF_HUB_CACHE: cache, HF_ENDPOINT: hub, HF_HUB_DISABLE_TELEMETRY: '1', ...more };
  const { stdout } = await run(PYTHON, ['-c', SCRIPT, 'lab/tiny', how], { env });
  return stdout.trim().split('\n');
}

/** Imports a folder as the command line does. Returns what it says of each model, or why it failed. */
async function importFolder(store: string, from: string, repository?: string, revision?: string): Promise<string> {
  const said: string[] = [];
  try {
    await dropParts(store);
    for (const found of await findModels(from, { repository, revision }))
      said.push((await importModel(store, found, { limitBytes: 1e9, random: systemRandom })) ? 'imported' : 'there');
  } catch (error) {
    return (error as Error).message;
  }
  return said.join(' ');
}

t.test('the package reads the stored model without a network', { skip }, async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', { files, large: [LARGE] });
  const { bring, store } = await openModels(t.testdir({}), { hubAddress: hub.address });
  const record = await bring('lab/tiny');
  const cache = join(t.testdirName, 'hub');
  const { path, hubPath } = store.folderOf(record);
  t.same(await python(path, 'http://127.0.0.1:1', 'offline', { HF_HUB_OFFLINE: '1' }), [
    '{"hidden":4}',
    '300000',
    commit,
  ]);

  await t.test('through the link that commands get, and with the hub it downloads nothing', async (t) => {
    mkdirSync(cache);
    symlinkSync(hubPath, join(cache, 'models--lab--tiny'));
    const before = hub.sentBytes;
    t.same(await python(cache, hub.address, 'online'), ['{"hidden":4}', '300000', commit]);
    t.equal(hub.sentBytes, before);
  });
});

t.test('the package downloads from this hub, and its cache can be imported', { skip }, async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', { files, large: [LARGE] });
  const cache = t.testdir({ home: { hub: {} }, models: {} });
  t.same(await python(join(cache, 'home/hub'), hub.address, 'online'), ['{"hidden":4}', '300000', commit]);

  const machine = await openModels(cache, { hubAddress: 'http://127.0.0.1:1' });
  t.equal(await importFolder(machine.store.path, join(cache, 'home')), 'imported');
  t.ok(await machine.store.scan(), 'the agent finds it while it runs');
  const record = await machine.bring('lab/tiny');
  t.match(record, { commit, imported: true, revisions: ['main'] });
  t.same(
    await python(machine.store.folderOf(record).path, 'http://127.0.0.1:1', 'offline'),
    ['{"hidden":4}', '300000', commit],
    'without a hub, by the name of its branch',
  );
  t.equal(await importFolder(machine.store.path, join(cache, 'home')), 'there');
  t.notOk(await machine.store.freeSpace(), 'nobody could download it again, so it stays');

  await t.test('a cache whose content changed', async (t) => {
    const other = t.testdir({});
    const blobs = join(cache, 'home/hub/models--lab--tiny/blobs');
    const large = readdirSync(blobs).find((name) => name.length === 64)!;
    writeFileSync(join(blobs, large), Buffer.alloc(300_000, 'x'));
    t.match(await importFolder(other, join(cache, 'home/hub')), /model.safetensors differs from its digest/);
    t.same(readdirSync(other), []);
  });
});

t.test('the files of one model', async (t) => {
  const folder = t.testdir({ files: { 'config.json': '{}', sub: { 'a.bin': 'A' }, '.cache': { x: 'x' } }, models: {} });
  const machine = await openModels(folder, { hubAddress: 'http://127.0.0.1:1' });
  const store = machine.store.path;
  const from = join(folder, 'files');
  t.match(await importFolder(store, from), /is no cache of the hub.*--repo ORG\/NAME --revision main/);
  t.match(await importFolder(store, from, '../x', 'main'), /is no cache of the hub/);
  t.equal(await importFolder(store, from, 'own/model', 'v1'), 'imported');
  await machine.store.scan();
  const record = await machine.bring('own/model', { revision: 'v1' });
  t.same(
    record.files.map(({ path }) => path),
    ['config.json', 'sub/a.bin'],
  );
  const { hubPath } = machine.store.folderOf(record);
  t.equal(readFileSync(join(hubPath, 'snapshots', record.commit, 'sub/a.bin'), 'utf8'), 'A');
  t.equal(readFileSync(join(hubPath, 'refs/v1'), 'utf8'), record.commit);
  t.equal(await importFolder(store, from, 'own/model', 'v2'), 'imported', 'another name for the same files');
  await machine.store.scan();
  t.match(await machine.bring('own/model', { revision: 'v2' }), { commit: record.commit, revisions: ['v1', 'v2'] });
  symlinkSync('/etc/hostname', join(from, 'evil'));
  t.match(await importFolder(store, from, 'own/evil', 'v1'), /evil leads nowhere, or out of/);
});

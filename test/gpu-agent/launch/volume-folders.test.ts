/**
 * Directories of network volumes: made once, kept, never outside their folder, and never for two kinds where one could
 * harm the other.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { VolumeFolders } from '@slipway/gpu-agent/launch/volume-folders';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { openFolder } from '../../helpers/open-folder.ts';

const logger = createLogger('test', 'silent');
const asRoot = process.platform === 'linux' && process.getuid!() === 0;
const mount = (networkVolumeId: string) => ({ networkVolumeId, mountPath: '/runpod-volume', sizeGb: 1 });
const foldersAt = (folder: string) => new VolumeFolders(folder, undefined, logger);
const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);

t.test('no volume, no path', async (t) => {
  t.same(await foldersAt(join(t.testdir({}), 'volumes')).open([], 'process', undefined), []);
});

t.test('the directory is made once and keeps its files', async (t) => {
  const folder = join(t.testdir({}), 'not', 'there', 'yet');
  const path = join(folder, 'abc123defg');
  t.match(await foldersAt(folder).open([mount('abc123defg')], 'container', undefined), [
    { source: path, target: '/runpod-volume' },
  ]);
  writeFileSync(join(path, 'kept'), 'text');
  t.match(await foldersAt(folder).open([mount('abc123defg')], 'container', undefined), [
    { source: path, target: '/runpod-volume' },
  ]);
  t.equal(readFileSync(join(path, 'kept'), 'utf8'), 'text');
  t.equal(modeOf(folder), '700', 'nobody else passes');
});

for (const id of ['', '.', '..', '../x', 'a/b', '/etc', 'a\\b', 'a\0b', 'A', 'x'.repeat(65), 'a b']) {
  t.test(`not an id: ${JSON.stringify(id).slice(0, 20)}`, async (t) => {
    const folder = join(t.testdir({ volumes: {} }), 'volumes');
    await t.rejects(
      foldersAt(folder).open([mount('good'), mount(id)], 'process', undefined),
      /is not the id of a network volume/,
    );
    t.same(readdirSync(folder), [], 'nothing was made');
    t.same(readdirSync(dirname(folder)), ['volumes']);
  });
}

t.test(
  'a folder with other files keeps its mode, and a volume serves one kind',
  { skip: asRoot ? false : 'needs root' },
  async (t) => {
    const folder = await openFolder(t);
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'Other Things'));
    const user = { uid: 7_654_321, gid: 7_654_321 };
    const volumes = foldersAt(folder);
    t.same(await volumes.open([mount('one')], 'process', user), [
      { source: join(folder, 'one'), target: join(folder, 'one') },
    ]);
    t.equal(modeOf(folder), '711');
    t.match(lstatSync(join(folder, 'one')), { uid: user.uid, mode: 0o40700 }, "its account's alone");
    const message = /one serves commands on this machine, so it cannot serve images/;
    await t.rejects(volumes.open([mount('one')], 'container', user), { failure: 'REFUSED', message });
    t.match(await volumes.open([mount('two')], 'container', user), [{ source: join(folder, 'two') }]);
    await t.rejects(foldersAt(folder).open([mount('two')], 'process', user), /two serves images on this machine/);
    t.equal(modeOf(join(folder, 'two')), '700', 'open to nobody who passes');
  },
);

t.test(
  'an agent that is not root: a volume serves one kind',
  { skip: asRoot ? false : 'is tried from root' },
  async (t) => {
    const folder = await openFolder(t);
    chownSync(folder, 4_321, 4_321);
    const script = join(import.meta.dirname, 'open-both-ways.ts');
    const somebody = { uid: 4_321, gid: 4_321, cwd: '/', env: {} };
    const said = JSON.parse(
      execFileSync(process.execPath, [script, join(folder, 'volumes')], { ...somebody, encoding: 'utf8' }),
    ) as object;
    t.match(said, {
      modes: ['700', '777'],
      refused: /serves images on this machine/,
      logged: /either images or commands/,
    });
  },
);

t.test(
  'without the right to change owners, as on NFS with root_squash, commands are refused with advice',
  { skip: asRoot ? false : 'needs root' },
  async (t) => {
    const folder = join(await openFolder(t), 'volumes');
    const node = [process.execPath, join(import.meta.dirname, 'open-without-chown.ts'), folder];
    const said = JSON.parse(
      execFileSync('setpriv', ['--bounding-set=-chown', '--inh-caps=-chown', ...node], { encoding: 'utf8' }),
    ) as object;
    t.match(said, {
      image: join(folder, 'image'),
      refused: /^network volume command cannot be made or given .*EPERM.*: if .* NFS, export it with no_root_squash$/,
    });
  },
);

/** Directories of network volumes: made once, kept, and never outside their folder. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { openVolumes } from '../../../gpu-agent/launch/open-volumes.ts';

const mount = (networkVolumeId: string) => ({ networkVolumeId, mountPath: '/runpod-volume' });

t.test('no volume, no path', async (t) => {
  t.same(await openVolumes(join(t.testdir({}), 'volumes'), []), []);
});

t.test('the directory is made once and keeps its files', async (t) => {
  const folder = join(t.testdir({}), 'not', 'there', 'yet');
  const [path] = await openVolumes(folder, [mount('abc123defg')]);
  t.equal(path, join(folder, 'abc123defg'));
  writeFileSync(join(path!, 'kept'), 'text');
  t.same(await openVolumes(folder, [mount('abc123defg')]), [path]);
  t.equal(readFileSync(join(path!, 'kept'), 'utf8'), 'text');
});

for (const id of ['', '.', '..', '../x', 'a/b', '/etc', 'a\\b', 'a\0b', 'A', 'x'.repeat(65), 'a b']) {
  t.test(`not an id: ${JSON.stringify(id).slice(0, 20)}`, async (t) => {
    const folder = join(t.testdir({ volumes: {} }), 'volumes');
    await t.rejects(openVolumes(folder, [mount('good'), mount(id)]), /is not the id of a network volume/);
    t.same(readdirSync(folder), [], 'nothing was made');
    t.same(readdirSync(dirname(folder)), ['volumes']);
  });
}

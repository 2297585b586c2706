// test: alone, python, 10 s
/**
 * The images that are removed to free space, on a real Podman: the longest unused of the agent's own that nothing names
 * or uses.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { askEngine } from '@slipway/gpu-agent/executors/container/engine';
import { ImageCache, isNamed } from '@slipway/gpu-agent/images/image-cache';
import { ImageStore } from '@slipway/gpu-agent/images/image-store';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { BASE_IMAGE } from '../../helpers/engines/podman-images.ts';
import { scratch } from '../../helpers/scratch.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';

const random = seededRandom();

t.setTimeout(600_000);

t.test('images are evicted', { skip: podmanSkip }, async (t) => {
  const podman = await startPodman({ ownImages: true });
  const { folder, path } = await scratch(t);
  writeFileSync(path('file'), "what they hold is nobody's business here");
  execFileSync('tar', ['--create', '--file', path('image.tar'), '--directory', folder, 'file']);
  const names = ['one', 'two', 'three', 'four'].map((name) => `localhost/${name}:1`);
  for (const name of names) await podman.cli('import', '--change', `ENV NAME=${name}`, path('image.tar'), name);
  const { docker } = await askEngine(podman.socket, systemClock);
  const store = new ImageStore(docker);
  const clock = new ManualClock();
  const cacheOf = async (budgetBytes: number): Promise<ImageCache> => {
    const cache = new ImageCache(path('images.json'), () => budgetBytes, clock);
    await cache.open();
    return cache;
  };
  const before = await cacheOf(0);
  for (const name of names) {
    clock.pass(1_000);
    await before.used((await store.find(name))!);
  }
  t.equal(await before.shrink(store, []), 0, 'no budget: nothing goes');
  const there = async (): Promise<string[]> => (await store.list()).flatMap((image) => image.names).sort();

  // A restarted agent knows the order, too. The first is in use, the second is named: the third is the longest unused
  // that may go.
  await podman.cli('create', '--name=user', names[0]!, '/bin/sleep');
  const cache = await cacheOf(1);
  t.match(
    (await cache.present(store)).map(({ name }) => name),
    ['localhost/four:1', 'localhost/three:1', 'localhost/two:1', 'localhost/one:1'],
  );
  t.equal(await cache.shrink(store, [{ name: names[1]!, digest: '' }]), 2);
  t.same(await there(), [BASE_IMAGE, names[0]!, names[1]!].sort(), 'what the agent did not bring stays, too');
});

t.test('layers that images share count once', { skip: podmanSkip }, async (t) => {
  const podman = await startPodman({ ownImages: true });
  const { folder, path } = await scratch(t);
  writeFileSync(path('base'), random.bytes(5_000_000));
  execFileSync('tar', ['--create', '--file', path('base.tar'), '--directory', folder, 'base']);
  await podman.cli('import', path('base.tar'), 'localhost/base:1');
  const names = ['one', 'two'].map((name) => `localhost/of-base-${name}:1`);
  for (const name of names) {
    writeFileSync(path('top'), random.bytes(1_000_000));
    writeFileSync(path('Dockerfile'), 'FROM localhost/base:1\nENV A=1\nCOPY top /top\n');
    await podman.cli('build', '--quiet', '--isolation=chroot', '--tag', name, folder);
  }
  const { docker } = await askEngine(podman.socket, systemClock);
  const store = new ImageStore(docker);
  const cache = new ImageCache(path('images.json'), () => 8_000_000, new ManualClock());
  const images = await Promise.all(names.map(async (name) => (await store.find(name))!));
  for (const image of images) await cache.used(image);
  t.ok(
    images.every(({ sizeBytes }) => sizeBytes > 6_000_000),
    'each has the base in its size',
  );
  t.equal(await cache.shrink(store, []), 0, 'together they take 7 MB');
  const tight = new ImageCache(path('images.json'), () => 6_500_000, new ManualClock());
  await tight.open();
  t.equal(await tight.shrink(store, []), 1);
});

t.test('names of one image', async (t) => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const image = {
    names: ['docker.io/library/debian:12', 'localhost/mine:latest'],
    digests: [`docker.io/library/debian@${digest}`],
  };
  const rows: [name: string, digest: string, means: boolean][] = [
    ['debian:12', '', true],
    ['debian', '', false],
    ['debian:12', digest, true],
    ['debian:12', `sha256:${'b'.repeat(64)}`, false],
    [`debian@${digest}`, '', true],
    ['mine', '', true],
    ['localhost/mine', '', true],
    ['other/mine', '', false],
    ['Not a name', '', false],
  ];
  for (const [name, settled, means] of rows)
    t.equal(isNamed(image, { name, digest: settled }), means, `${name} ${settled}`);
});

// test: alone, python, 10 s
/**
 * A full disk, on a real Podman with a small one: images that nothing needs are removed for an image that is pulled,
 * and no others.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { askEngine, imageSpace } from '@slipway/gpu-agent/executors/container/engine';
import type { NamedImage } from '@slipway/gpu-agent/images/image-cache';
import { ImageCache } from '@slipway/gpu-agent/images/image-cache';
import { ImagePuller } from '@slipway/gpu-agent/images/image-puller';
import { ImageStore } from '@slipway/gpu-agent/images/image-store';
import { RegistryGuard } from '@slipway/gpu-agent/images/registry-guard';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { REGISTRY_USER, registrySkip, startRegistry } from '../../helpers/engines/registry.ts';
import { scratch } from '../../helpers/scratch.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';

const random = seededRandom();

t.setTimeout(600_000);

/** Two images fit on the disk, three do not. */
const IMAGE_BYTES = 16_000_000;
const DISK_MEBIBYTES = 44;

t.test('a full disk', { skip: podmanSkip || registrySkip }, async (t) => {
  const podman = await startPodman({ ownImages: true });
  const registry = await startRegistry(podman);
  const { folder, path } = await scratch(t);
  const push = async (name: string): Promise<string> => {
    writeFileSync(path('file'), random.bytes(IMAGE_BYTES));
    execFileSync('tar', ['--create', '--file', path('image.tar'), '--directory', folder, 'file']);
    await podman.cli('import', path('image.tar'), `localhost/${name}:1`);
    return registry.push(`localhost/${name}:1`, `lab/${name}:1`);
  };
  const [one, two, three, four] = [await push('one'), await push('two'), await push('three'), await push('four')];
  const { docker, facts } = await askEngine(await podman.smallDisk(DISK_MEBIBYTES), systemClock);
  const store = new ImageStore(docker);
  const clock = new ManualClock();
  const cache = new ImageCache(path('images.json'), () => 0, clock);
  let wanted: NamedImage[] = [];
  const freeSpace = (bytes: number): Promise<number> =>
    cache.freeSpace(store, wanted, async () => ((await imageSpace(facts))?.freeBytes ?? Infinity) >= bytes);
  const guard = new RegistryGuard(true);
  const puller = new ImagePuller({
    guard,
    store,
    architecture: facts.architecture,
    clock: systemClock,
    random: systemRandom,
    freeSpace,
  });
  const lines: string[] = [];
  const pull = async (name: string): Promise<void> => {
    const resolveDigest = async (digest: string): Promise<string> => digest;
    const image = await puller.prepare(
      { name, digest: '', credentials: REGISTRY_USER, resolveDigest },
      (line) => lines.push(line),
      new AbortController().signal,
    );
    clock.pass(1_000);
    await cache.used(image);
  };
  const there = async (): Promise<string[]> => (await store.list()).flatMap(({ names }) => names).sort();

  await pull(one);
  await pull(two);
  wanted = [one, two, three].map((name) => ({ name, digest: '' }));
  await t.rejects(pull(three), {
    failure: 'NO_SPACE',
    message: /no space for .*lab\/three:1, and no image there is unused/,
  });
  t.same(await there(), [one, two].sort(), 'what endpoints name stays');

  wanted = [two, three].map((name) => ({ name, digest: '' }));
  await pull(three);
  t.match(lines.join('\n'), 'the disk was full, an unused image was removed');
  t.same(await there(), [two, three].sort(), 'the one that nobody names has gone, and nothing more');

  // An image that exists on this machine only could not be pulled again. The image of a container is in use.
  wanted = [];
  await docker.getImage(two).tag({ repo: 'localhost/mine', tag: '1' });
  await docker.createContainer({ Image: three, Cmd: ['/file'] });
  await t.rejects(pull(four), { failure: 'NO_SPACE', message: /lab\/four:1/ });
  t.same(
    (await there()).filter((name) => !name.startsWith('localhost')),
    [two, three].sort(),
  );
});

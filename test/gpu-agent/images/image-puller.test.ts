// test: alone, python, 15 s
/** Images from a real private registry by a real Podman: access, digests, shared pulls, tries, reasons. */

import { askEngine } from '@slipway/gpu-agent/executors/container/engine';
import type { WantedImage } from '@slipway/gpu-agent/images/image-puller';
import { ImagePuller } from '@slipway/gpu-agent/images/image-puller';
import { ImageStore } from '@slipway/gpu-agent/images/image-store';
import { RegistryGuard } from '@slipway/gpu-agent/images/registry-guard';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { BASE_IMAGE } from '../../helpers/engines/podman-images.ts';
import { REGISTRY_USER, registrySkip, startRegistry } from '../../helpers/engines/registry.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('pulls', { skip: podmanSkip || registrySkip }, async (t) => {
  const podman = await startPodman({ ownImages: true });
  const registry = await startRegistry(podman);
  const { docker, facts } = await askEngine(podman.socket, systemClock);
  const store = new ImageStore(docker);
  const guard = new RegistryGuard([registry.address]);
  const pullerOf = (architecture = facts.architecture): ImagePuller =>
    new ImagePuller({
      store,
      guard,
      architecture,
      clock: systemClock,
      random: systemRandom,
      pause: { firstMs: 50, maxMs: 100 },
      triesMax: 3,
    });
  const puller = pullerOf();
  const never = new AbortController().signal;
  const wanted = (name: string, more: Partial<WantedImage> = {}): WantedImage => ({
    name,
    digest: '',
    credentials: REGISTRY_USER,
    resolveDigest: async (digest) => digest,
    ...more,
  });
  const fails = async (image: WantedImage): Promise<{ failure?: string; message: string }> =>
    puller
      .prepare(image, () => undefined, never)
      .then(
        () => ({ message: 'it was pulled' }),
        (error: Error & { failure: string }) => error,
      );

  // Two versions of one name: what differs is the command.
  const name = await registry.push(BASE_IMAGE, 'lab/worker:1');
  const first = await registry.digest('lab/worker', '1');
  await podman.cli('import', '--change', 'CMD ["/bin/sleep"]', `${podman.folder}/base.tar`, 'localhost/other:1');
  const forget = (): Promise<string> => podman.cli('rmi', '--force', '--ignore', name);
  let firstId = '';
  await forget();

  await t.test('with access it is pulled, and its tag resolved', async (t) => {
    const resolved: string[] = [];
    const lines: string[] = [];
    const resolveDigest = async (digest: string): Promise<string> => {
      resolved.push(digest);
      return digest;
    };
    const image = await puller.prepare(wanted(name, { resolveDigest }), (line) => lines.push(line), never);
    firstId = image.id;
    t.same(resolved, [first]);
    t.ok(image.digests.includes(`${registry.address}/lab/worker@${first}`));
    t.equal(lines[0], `pulling ${name}`);
    t.match(lines.join('\n'), /layers|%/);
  });

  await t.test('the digest resolved first is pulled, although the tag has moved', async (t) => {
    await registry.push('localhost/other:1', 'lab/worker:1');
    await forget();
    const image = await puller.prepare(wanted(name, { resolveDigest: async () => first }), () => undefined, never);
    t.equal(image.id, firstId);
    await registry.stop();
    const again = await puller.prepare(wanted(name, { digest: first, credentials: undefined }), () => undefined, never);
    t.equal(again.id, firstId, 'settled and here: no registry is asked');
    await registry.start();
  });

  await t.test('a failed pull has its reason', async (t) => {
    await forget();
    const stranger = { username: 'alice', password: 'wrong', name: 'mine' };
    const refusal = await fails(wanted(name, { credentials: undefined }));
    t.match(refusal, { failure: 'NO_ACCESS', message: /gives no access to .*lab\/worker:1.*registry credentials/ });
    const refused = await fails(wanted(name, { credentials: stranger }));
    t.match(refused, {
      failure: 'NO_ACCESS',
      message: /refused the registry credentials mine \(user alice\) for .*lab\/worker:1/,
    });
    t.notMatch(refused.message, stranger.password);
    t.match(await fails(wanted(`${registry.address}/lab/none:2`)), {
      failure: 'NOT_FOUND',
      message: /has no image .*lab\/none:2: check its name/,
    });
    t.match(await fails(wanted('Not A Name')), { failure: 'REFUSED', message: /cannot be the name of an image/ });
    t.match(await fails(wanted('localhost/nothing:1')), {
      failure: 'NOT_FOUND',
      message: /this machine has no image localhost\/nothing:1: build it here/,
    });
    await t.rejects(
      pullerOf('arm64').prepare(wanted(name), () => undefined, never),
      { failure: 'WRONG_PLATFORM', message: /is for amd64, but this machine is arm64/ },
    );
  });

  await t.test('a private registry not named by the operator: one text in every case', async (t) => {
    const strict = new ImagePuller({
      store,
      guard: new RegistryGuard(false),
      architecture: '',
      clock: systemClock,
      random: systemRandom,
    });
    const texts = await Promise.all(
      [registry.address, '127.0.0.1:1', '169.254.169.254'].map(async (host) => {
        const error = await strict
          .prepare(wanted(`${host}/lab/worker:1`), () => undefined, never)
          .catch((refusal: Error & { failure: string }) => refusal);
        t.match(error, { failure: 'REFUSED' });
        return (error as Error).message.replace(host, 'HOST');
      }),
    );
    t.equal(new Set(texts).size, 1, texts[0]!);
  });

  await t.test('a disk without space for it', async (t) => {
    const small = await askEngine(await podman.smallDisk(24), systemClock);
    const [full, lines] = [new ImageStore(small.docker), [] as string[]];
    const refusal = {
      failure: 'NO_SPACE',
      message: /no space for .*lab\/worker:1, and no image there is unused: free some/,
    };
    await t.rejects(
      new ImagePuller({ store: full, guard, architecture: '', clock: systemClock, random: systemRandom }).prepare(
        wanted(name),
        (line) => lines.push(line),
        never,
      ),
      refusal,
    );
    t.notMatch(lines.join('\n'), 'trying again');
    t.same(await full.list(), [], 'what had come of it is gone');
  });

  await t.test('a local image also requires access', async (t) => {
    await puller.prepare(wanted(name), () => undefined, never);
    t.match(await fails(wanted(name, { credentials: undefined })), { failure: 'NO_ACCESS' });
  });

  await t.test('an unreachable registry is retried', async (t) => {
    await forget();
    await registry.stop();
    const lines: string[] = [];
    const pull = puller.prepare(wanted(name), (line) => lines.push(line), never);
    await waitFor('a failed try', () =>
      lines.some((line) => /cannot be reached for .*connection refused; trying again/.test(line)),
    );
    await registry.start();
    t.ok((await pull).id);
    await t.rejects(
      new ImagePuller({
        store,
        guard: new RegistryGuard(true),
        architecture: '',
        clock: systemClock,
        random: systemRandom,
        triesMax: 1,
      }).prepare(wanted('127.0.0.1:1/lab/away:1'), () => undefined, never),
      { failure: 'UNREACHABLE', message: /cannot be reached/ },
    );
  });

  await t.test('requests for one image share a pull, and one may be cancelled', async (t) => {
    await forget();
    const leaving = new AbortController();
    const asked: string[] = [];
    const pulls: string[] = [];
    const counted = new ImageStore(docker);
    const pull = counted.pull.bind(counted);
    counted.pull = (image, ...rest) => {
      if (image.digest === '') pulls.push(image.repository);
      return pull(image, ...rest);
    };
    const shared = new ImagePuller({
      store: counted,
      guard,
      architecture: facts.architecture,
      clock: systemClock,
      random: systemRandom,
    });
    const one = shared.prepare(wanted(name), () => undefined, leaving.signal);
    const two = shared.prepare(wanted(name), (line) => asked.push(line), never);
    leaving.abort(new Error('not wanted any more'));
    await t.rejects(one, { message: 'not wanted any more' });
    t.ok((await two).id);
    t.equal(pulls.length, 1);
    t.equal(asked[0], `pulling ${name}`);
  });

  await t.test('a pull that begins before an abandoned one has ended is shared, too', async (t) => {
    await forget();
    const counted = new ImageStore(docker);
    const pull = counted.pull.bind(counted);
    const gates: (() => void)[] = [];
    let begun = 0;
    counted.pull = async (...args) => {
      const [{ digest }] = args;
      if (digest === '') begun += 1;
      if (digest === '' && begun <= 2) {
        await new Promise<void>((resolve) => {
          gates.push(resolve);
        });
      }
      return pull(...args);
    };
    const results: string[] = [];
    const { architecture } = facts;
    const onPull = (result: string): unknown => results.push(result);
    const deps = { clock: systemClock, random: systemRandom };
    const shared = new ImagePuller({ store: counted, guard, architecture, onPull, ...deps });
    const leaving = new AbortController();
    const abandoned = shared.prepare(wanted(name), () => undefined, leaving.signal);
    await waitFor('its pull', () => gates.length === 1);
    leaving.abort(new Error('not wanted any more'));
    await t.rejects(abandoned, { message: 'not wanted any more' });
    const second = shared.prepare(wanted(name), () => undefined, never);
    await waitFor('the next pull', () => gates.length === 2);
    gates[0]!();
    await waitFor('the end of the first', () => results.includes('abandoned'));
    const third = shared.prepare(wanted(name), () => undefined, never);
    gates[1]!();
    t.equal((await third).id, (await second).id);
    t.equal(begun, 2);
  });

  await t.test('a locally built image needs no registry', async (t) => {
    const image = await puller.prepare(
      wanted(BASE_IMAGE, {
        resolveDigest: () => {
          throw new Error('there is nothing to settle');
        },
      }),
      () => undefined,
      never,
    );
    t.equal(
      (await puller.prepare(wanted('slipway-base:1'), () => undefined, never)).id,
      image.id,
      'a bare name, as engines have it',
    );
  });
});

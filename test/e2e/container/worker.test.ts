// test: alone, postgres, python, 80 s
/** Unmodified Python workers in images: from a private registry to an answer by the public API, on a real Podman. */
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { BASE_IMAGE, makeWorkerImage } from '../../helpers/engines/podman-images.ts';
import { REGISTRY_USER, registrySkip, startRegistry } from '../../helpers/engines/registry.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { PYTHONS, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { readMetrics, valueOf } from '../../helpers/system/metrics.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('workers in containers', { skip: podmanSkip || registrySkip || skipWithoutPython('new', 'old') }, async (t) => {
  const podman = await startPodman({ ownImages: true });
  const registry = await startRegistry(podman);
  const images: Record<string, string> = {};
  for (const version of Object.keys(PYTHONS) as (keyof typeof PYTHONS)[]) {
    const local = `localhost/worker-${version}:1`;
    await makeWorkerImage(podman, PYTHONS[version], join(import.meta.dirname, '../../handlers/all.py'), local);
    images[version] = version === 'new' ? await registry.push(local, 'lab/worker:1') : local;
  }
  await podman.cli('rmi', 'localhost/worker-new:1');
  const system = await startSystem(t, {
    coreEnv: { SLIPWAY_PRIVATE_REGISTRIES: registry.address, SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' },
    agentEnv: {
      SLIPWAY_PRIVATE_REGISTRIES: registry.address,
      SLIPWAY_AGENT_CONTAINERS: podman.socket,
      SLIPWAY_PREFETCH: 'true',
      SLIPWAY_AGENT_LOCATIONS: 'EU-RO-1',
      SLIPWAY_METRICS_LISTEN: '127.0.0.1:0',
    },
  });
  const pulls = async (result: string): Promise<number> =>
    valueOf(await readMetrics(system.metrics.agents[0]!), 'slipway_agent_image_pulls_total', { result });
  const { registryAuth } = await call(
    system.clients.registryAuths,
    'createRegistryAuth',
    { name: 'lab', ...REGISTRY_USER },
    system.key,
  );

  const networkVolume = NetworkVolume.fromPartial({ name: 'data', sizeGb: 1, dataCenterId: 'EU-RO-1' });
  const { networkVolume: volume } = await call(
    system.clients.volumes,
    'createNetworkVolume',
    { networkVolume },
    system.key,
  );

  await t.test('the machine says what it has', async (t) => {
    const engine = await waitFor('its hello', async () => {
      const { machines } = await call(
        system.clients.machines,
        'listMachines',
        { pageSize: 10, pageToken: '' },
        system.rootKey,
      );
      return machines[0]?.machine?.containerEngine;
    });
    t.match(engine, { name: 'podman', version: /^\d/ });
    t.ok(engine.limits.includes('memory'));
  });

  await t.test('the newest SDK, from a private registry', async (t) => {
    const fields = { networkVolumeIds: [volume!.id] };
    const id = await system.createEndpoint({
      command: [],
      imageName: images.new!,
      registryAuthId: registryAuth!.id,
      env: { GREETING: 'hello' },
      fields,
    });
    const jobs = endpointJobs(system, id);
    t.match(await jobs.runSync({ prompt: 'a fox' }), { status: 'COMPLETED', output: { echo: { prompt: 'a fox' } } });
    const { output } = await jobs.runSync({ who: 1 });
    t.match(output, { worker: /^[a-z0-9]{14}$/ });
    const container = (await podman.names())
      .split('\n')
      .find((name) => name.endsWith((output as { worker: string }).worker));
    t.ok(container, 'in a container');
    await podman.exec(container!, '/bin/sh', '-c', 'echo "$GREETING" > /runpod-volume/note');
    t.equal(
      await podman.exec(container!, '/bin/cat', '/runpod-volume/note'),
      'hello\n',
      'with its environment and its network volume',
    );
    t.match(
      await podman.exec(container!, '/bin/cat', '/proc/mounts'),
      / \/runpod-volume \S+ rw,nosuid,nodev/,
      'which lies outside it, without set-uid programs and device nodes',
    );
    const unsendable = await jobs.runSync({ unsendable: 'bytes' });
    t.match(
      unsendable,
      { status: 'FAILED', error: /bytes is not JSON serializable/ },
      'its output tells why a result cannot be sent',
    );
    t.notOk(unsendable.retries);
    const large = await jobs.runSync({ big: 3_000_000 });
    t.equal((large.output as { text: string }).text.length, 3_000_000, 'by the bridge on the gateway');
  });

  await t.test("an image is pulled before any worker needs it, by its endpoint's credentials", async (t) => {
    const spare = await registry.push(BASE_IMAGE, 'lab/spare:1');
    const has = async (): Promise<boolean> =>
      (await podman.cli('images', '--format={{.Repository}}:{{.Tag}}')).includes(spare);
    // Pushing gave it no name here.
    t.notOk(await has());
    const id = await system.createEndpoint({
      command: [],
      imageName: spare,
      registryAuthId: registryAuth!.id,
      fields: { workersMin: 0 },
    });
    await waitFor('the image', has, 60_000);
    const { workers } = await call(system.clients.machines, 'listWorkers', { endpointId: id }, system.key);
    t.same(workers, [], 'nothing was started for it');
    await waitFor('both to be counted', async () => (await pulls('pulled')) === 2);
    t.equal(valueOf(await readMetrics(system.metrics.agents[0]!), 'slipway_agent_image_pull_seconds_count'), 2);
    t.equal(await pulls('failed'), 0);
  });

  await t.test('SDK 1.7, from this machine; neither reaches a program of the host', async (t) => {
    const id = await system.createEndpoint({ command: [], imageName: images.old! });
    t.match(await endpointJobs(system, id).runSync({ prompt: 'a fox' }), {
      status: 'COMPLETED',
      output: { echo: { prompt: 'a fox' } },
    });
    const core = Number(system.cores[0]!.address.split(':').at(-1));
    const host = Object.values(networkInterfaces())
      .flat()
      .find((entry) => entry!.family === 'IPv4' && !entry!.internal)!.address;
    const server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => {
      server.listen(0, '0.0.0.0', resolve);
    });
    t.teardown(() => server.close());
    const everywhere = (server.address() as { port: number }).port;
    const probe = (address: string, port: number): Promise<string> =>
      podman
        .cli('ps', '--format={{.Names}}')
        .then((names) =>
          podman.cli(
            'exec',
            names.split('\n')[0]!,
            '/usr/bin/python3',
            '-c',
            'import socket\n' +
              'try:\n' +
              `  socket.create_connection(("${address}", ${port}), 1)\n` +
              '  print("open")\n' +
              'except OSError:\n' +
              '  print("shut")',
          ),
        );
    t.match(await probe(host, everywhere), 'shut');
    t.match(await probe('127.0.0.1', core), 'shut');
  });

  await t.test('a pod: its entrypoint, command and environment; its disk outlives its container', async (t) => {
    const pods = podCalls(system.clients, system.key);
    const { id } = await pods.create({
      computeType: 'CPU',
      imageName: BASE_IMAGE,
      entrypoint: ['/bin/sh', '-c'],
      env: { GREETING: 'hello' },
      volumeGb: 1,
      volumeMountPath: '/keep',
      startCommand: ['cat /keep/note; echo kept > /keep/note; echo "$GREETING from $0"; exec sleep 1000', 'here'],
    });
    await waitFor('its first words', async () => (await pods.log(id)).endsWith('hello from here\n'), 60_000);
    const containerOf = (): Promise<string> => podman.cli('ps', '--quiet', `--filter=name=${id}`);
    const first = await containerOf();
    await pods.act('restartPod', id);
    await waitFor('what it kept', async () => (await pods.log(id)).endsWith('kept\nhello from here\n'), 60_000);
    t.not(await containerOf(), first);
    await pods.remove(id);
  });

  await t.test('a pod with an image and a network volume, which takes the place of its disk', async (_t) => {
    const pods = podCalls(system.clients, system.key);
    const { id } = await pods.create({
      computeType: 'CPU',
      imageName: BASE_IMAGE,
      networkVolumeId: volume!.id,
      startCommand: ['/bin/sh', '-c', 'cat /workspace/note; exec sleep 1000'],
    });
    await waitFor('what a worker left there', async () => (await pods.log(id)) === 'hello\n', 60_000);
    await pods.remove(id);
  });

  await t.test("a failed pull is named in the worker's reason", async (t) => {
    const reasonOf = async (imageName: string): Promise<string> => {
      const id = await system.createEndpoint({ command: [], imageName, ready: 0 });
      return waitFor(`a reason for ${imageName}`, async () => {
        const { workers } = await call(system.clients.machines, 'listWorkers', { endpointId: id }, system.key);
        return workers
          .map(({ reason }) => reason)
          .find((reason) => /image|access/.test(reason) && !reason.startsWith('pulling'));
      });
    };
    t.equal(await pulls('failed'), 0);
    t.match(await reasonOf(images.new!), /gives no access to .*lab\/worker:1/);
    t.match(await reasonOf('localhost/nothing:1'), /this machine has no image localhost\/nothing:1/);
    t.ok((await pulls('failed')) >= 1);
  });

  await t.test('out of memory is reported, counted, and not retried on the same size', async (t) => {
    const fields = { computeType: 'CPU', instanceIds: ['cpu3c-1-1'], workersMin: 0 };
    const id = await system.createEndpoint({
      command: [],
      imageName: images.new!,
      registryAuthId: registryAuth!.id,
      fields,
    });
    const jobs = endpointJobs(system, id);
    const job = await jobs.runSync({ memory: 2_000 });
    const advice =
      /^The worker \w+ ran out of memory while it held the job: it has 1 GiB; choose a larger size or a smaller batch\.$/;
    t.match(job, { status: 'FAILED', error: advice });
    t.notOk(job.retries);
    t.match(await jobs.runSync({ memory: 1 }), { status: 'COMPLETED' }, 'another job finds another worker');
    // Another may have taken its place already.
    await waitFor('the worker to say why it ended', async () => {
      const { workers, recent } = await call(system.clients.machines, 'listWorkers', { endpointId: id }, system.key);
      return [...workers, ...recent].some(({ reason }) => /ran out of memory: it has 1 GiB/.test(reason));
    });
    t.ok(valueOf(await readMetrics(system.metrics.agents[0]!), 'slipway_agent_workers_out_of_memory_total') >= 1);
    t.equal(valueOf(await readMetrics(system.metrics.core), 'slipway_core_jobs_out_of_memory_total'), 1);
  });

  await t.test('a tag that was moved in the registry alone', async (t) => {
    const name = await registry.push(images.old!, 'lab/moved:1');
    const first = await registry.digest('lab/moved', '1');
    const id = await system.createEndpoint({ command: [], imageName: name, registryAuthId: registryAuth!.id });
    const jobs = endpointJobs(system, id);
    const releases = async () =>
      (await call(system.clients.endpoints, 'listReleases', { endpointId: id, pageSize: 10, beforeId: 0 }, system.key))
        .releases;
    t.match(await jobs.runSync({ prompt: 'a fox' }), { status: 'COMPLETED' });
    await registry.push(BASE_IMAGE, 'lab/moved:1');
    const second = await registry.digest('lab/moved', '1');
    t.not(second, first);
    t.match(await releases(), [{ version: 0, imageDigest: first, imageMoved: false }], 'no one has resolved it again');
    await call(system.clients.endpoints, 'restartEndpoint', { id, atOnce: false }, system.key);
    const latest = await waitFor('the digest of the next version', async () => {
      const found = await releases();
      return found[0]!.version === 1 && found[0]!.imageDigest !== '' ? found : undefined;
    });
    t.match(latest, [
      { version: 1, imageDigest: second, imageMoved: false },
      { version: 0, imageDigest: first, imageMoved: true },
    ]);
    t.match(await jobs.runSync({ prompt: 'a fox' }), { status: 'COMPLETED' }, 'the good version serves its own bytes');
  });
});

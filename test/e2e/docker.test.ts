// test: alone, postgres, python, 110 s
/** A real Docker: containers, their networks, a private registry, and an unmodified Python worker by the public API. */
import { join } from 'node:path';
import { askEngine } from '@slipway/gpu-agent/executors/container/engine';
import { ImagePuller } from '@slipway/gpu-agent/images/image-puller';
import { ImageStore } from '@slipway/gpu-agent/images/image-store';
import { RegistryGuard } from '@slipway/gpu-agent/images/registry-guard';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { containerCases } from '../gpu-agent/executors/container/container-cases.ts';
import { modelCases } from '../gpu-agent/executors/container/model-cases.ts';
import { networkCases } from '../gpu-agent/executors/container/network-cases.ts';
import { volumeCases } from '../gpu-agent/executors/container/volume-cases.ts';
import { launchOf, makeExecutor, startContainer } from '../helpers/engines/containers.ts';
import { dockerSkip, startDocker } from '../helpers/engines/docker.ts';
import { BASE_IMAGE, makeWorkerImage } from '../helpers/engines/podman-images.ts';
import { REGISTRY_USER, registrySkip, startRegistry } from '../helpers/engines/registry.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { NO_LIMITS } from '../helpers/no-limits.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { PYTHONS, skipWithoutPython } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';

t.setTimeout(600_000);

// All in one file, because two Dockers on a host remove each other's firewall rules.
t.test('Docker', { skip: dockerSkip || registrySkip || skipWithoutPython('new') }, async (t) => {
  const docker = await startDocker();
  await t.test('containers', (t) => containerCases(t, docker));
  await t.test('networks', (t) => networkCases(t, docker));
  await t.test('volumes', (t) => volumeCases(t, docker));
  await t.test('models', (t) => modelCases(t, docker));

  await t.test('a private registry', async (t) => {
    const registry = await startRegistry(docker);
    const name = await registry.push(BASE_IMAGE, 'lab/base:1');
    const engine = await askEngine(docker.socket, systemClock);
    const puller = new ImagePuller({
      store: new ImageStore(engine.docker),
      guard: new RegistryGuard([registry.address]),
      architecture: engine.facts.architecture,
      clock: systemClock,
      random: systemRandom,
      triesMax: 1,
    });
    const lines: string[] = [];
    const settled: string[] = [];
    const prepare = (image: string, credentials: typeof REGISTRY_USER | undefined) =>
      puller.prepare(
        {
          name: image,
          digest: '',
          credentials,
          resolveDigest: async (digest) => {
            settled.push(digest);
            return digest;
          },
        },
        (line) => lines.push(line),
        new AbortController().signal,
      );
    await t.rejects(prepare(name, undefined), {
      failure: 'NO_ACCESS',
      message: /gives no access to .*lab\/base:1.*registry credentials/,
    });
    await t.rejects(prepare(name, { ...REGISTRY_USER, password: 'wrong' }), {
      failure: 'NO_ACCESS',
      message: /refused the registry credentials \(user /,
    });
    await t.rejects(prepare(`${registry.address}/lab/none:1`, REGISTRY_USER), {
      failure: 'NOT_FOUND',
      message: /has no image .*lab\/none:1/,
    });
    t.ok((await prepare(name, REGISTRY_USER)).digests.includes(`${registry.address}/lab/base@${settled[0]!}`));
    t.ok(lines.includes(`pulling ${name}`));
  });

  await t.test('an unmodified Python worker', async (t) => {
    await makeWorkerImage(docker, PYTHONS.new, join(import.meta.dirname, '../handlers/all.py'), 'localhost/worker:1');
    const system = await startSystem(t, { agentEnv: { SLIPWAY_AGENT_CONTAINERS: docker.socket } });
    const id = await system.createEndpoint({ command: [], imageName: 'localhost/worker:1' });
    const jobs = endpointJobs(system, id);
    t.match(await jobs.runSync({ prompt: 'a fox' }), { status: 'COMPLETED', output: { echo: { prompt: 'a fox' } } });
    t.equal(((await jobs.runSync({ big: 3_000_000 })).output as { text: string }).text.length, 3_000_000);
    const { workers } = await call(system.clients.machines, 'listWorkers', { endpointId: id }, system.key);
    const { machines } = await call(
      system.clients.machines,
      'listMachines',
      { pageSize: 10, pageToken: '' },
      system.rootKey,
    );
    t.match(machines[0]!.machine!.containerEngine, { name: 'docker', version: /^\d/ });
    t.match(await docker.names(), workers[0]!.id, 'in a container');
  });

  await t.test('a disk for each container, where the storage can', async (t) => {
    const { facts } = await askEngine(docker.socket, systemClock);
    t.notOk(facts.limits.includes('disk'), 'here it cannot, and the machine says so');
    const bounded = await docker.boundDisk();
    if (!bounded) return t.comment('this host mounts no disk of btrfs');
    t.ok((await askEngine(docker.socket, systemClock)).facts.limits.includes('disk'));
    const { executor } = makeExecutor(docker);
    const script = "exec python3 -c \"open('/x', 'wb').write(bytes(60 << 20))\"";
    const full = launchOf(script, { limits: { ...NO_LIMITS, diskBytes: 20 << 20 } });
    t.same((await (await startContainer(executor, full)).ended).code, 1);
    t.match(full.output(), /Disk quota exceeded/);
    t.same((await (await startContainer(executor, launchOf(script))).ended).code, 0, 'others are not bounded');
  });
});

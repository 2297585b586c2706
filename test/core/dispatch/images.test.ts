// test: postgres, 10 s
/**
 * Images between core and agents: the digest of a tag, the machines that have an image, the images that may be needed,
 * and the progress of a starting worker.
 */

import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import { AgentServiceClient, DesiredState, MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import { GpuHandover, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { Pod, PodState } from '@slipway/proto/gen/slipway/v1/pod';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { fromGrpcError } from '@slipway/proto/wire/reason';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const IMAGE = 'ollama/ollama:latest';
const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;

/** Returns a call that resolves the digest of a tag for a machine. */
async function settling(t: Test, core: CoreReplicas, agent: ScriptedAgent, replica = 0) {
  const client = systemTransport.openClient(AgentServiceClient, core.replicas[replica]!.address);
  t.teardown(() => client.close());
  const metadata = callMetadata(await core.keyOf(agent.machineId));
  return (fields: Partial<Parameters<AgentServiceClient['settleImage']>[0]>): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = {
        endpointId: '',
        version: 0,
        podId: '',
        run: 0,
        imageName: IMAGE,
        digest: digest('a'),
        ...fields,
      };
      client.settleImage(request, metadata, (error, answer) =>
        error ? reject(fromGrpcError(error)) : resolve(answer.digest),
      );
    });
}

t.test('two machines at once, on two replicas: one meaning for each version, which outlives core', async (t) => {
  const core = await startReplicas(t, 2);
  const agents = [await core.joinAgent({ cpuSlots: 3 }), await core.joinAgent({ cpuSlots: 3 }, core.replicas[1]!)];
  const templateId = await core.createTemplate({ imageName: IMAGE, startCommand: [] });
  const endpointId = await core.createEndpoint({ templateId, workersMin: 4, workersMax: 4 });
  await core.ready(endpointId, 4);
  const [first, second] = [await settling(t, core, agents[0]!), await settling(t, core, agents[1]!, 1)];
  const said = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      (i % 2 === 0 ? first : second)({ endpointId, digest: digest('abcdef0123'[i]!) }),
    ),
  );
  t.equal(new Set(said).size, 1, 'the same for all');
  t.equal(await second({ endpointId, digest: digest('9') }), said[0]);
  await core.updateEndpoint(endpointId, { env: { A: '1' } });
  const next = await waitFor('a worker of the next version', () =>
    agents.flatMap(({ desired }) => desired).find(({ spec }) => spec?.version === 1),
  );
  t.equal(next.spec!.imageDigest, '', 'which is not settled yet');
  const owner = agents.findIndex(({ desired }) => desired.includes(next));
  t.equal(
    await [first, second][owner]!({ endpointId, version: 1, digest: digest('9') }),
    digest('9'),
    'means what the tag means now',
  );
  const { releases } = await call(
    core.clients.endpoints,
    'listReleases',
    { endpointId, pageSize: 10, beforeId: 0 },
    core.key,
  );
  t.match(
    releases.filter(({ isNew }) => isNew),
    [
      { version: 1, imageDigest: digest('9'), imageMoved: false },
      { version: 0, imageDigest: said[0], imageMoved: true },
    ],
    'the owner sees that the tag has moved since the first version',
  );
  await core.updateEndpoint(endpointId, { workersMax: 5, workersMin: 5 });
  const told = await waitFor('one more', () =>
    agents.flatMap(({ desired }) => desired).find(({ spec }) => spec?.version === 1 && spec.imageDigest !== ''),
  );
  t.match(
    told.spec,
    { imageName: IMAGE, imageDigest: digest('9'), version: 1 },
    'later workers are told with their spec',
  );
  const restarted = await core.startReplica();
  const client = systemTransport.openClient(AgentServiceClient, restarted.address);
  t.teardown(() => client.close());
  const metadata = callMetadata(await core.keyOf(agents[owner]!.machineId));
  const again = await new Promise((resolve, reject) => {
    const request = { endpointId, version: 1, podId: '', run: 0, imageName: IMAGE, digest: digest('a') };
    client.settleImage(request, metadata, (error, answer) =>
      error ? reject(fromGrpcError(error)) : resolve(answer.digest),
    );
  });
  t.equal(again, digest('9'), 'another core says the same');
});

t.test('who may resolve the digest of an image', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ cpuSlots: 1 });
  const templateId = await core.createTemplate({ imageName: IMAGE, startCommand: [] });
  const endpointId = await core.createEndpoint({ templateId, workersMax: 1 });
  await core.ready(endpointId);
  const stranger = await settling(t, core, await core.joinAgent());
  const own = await settling(t, core, agent);
  t.match(await reasonOf(stranger({ endpointId })), /^NOT_FOUND/, 'no machine without a worker of it');
  t.match(await reasonOf(own({ endpointId, version: 7 })), /^NOT_FOUND/);
  for (const wrong of [
    { digest: 'latest' },
    { digest: '' },
    { imageName: '' },
    { imageName: 'i'.repeat(513) },
    { imageName: 'a\0b' },
    { podId: 'p' },
  ]) {
    t.match(await reasonOf(own({ endpointId, ...wrong })), /^INVALID_REQUEST/, JSON.stringify(wrong).slice(0, 60));
  }
  t.match(await reasonOf(own({})), /^INVALID_REQUEST: either/);
  t.equal((await core.sql`SELECT FROM endpoint_image`).length, 0);

  const { pod } = await call(
    core.clients.pods,
    'createPod',
    { pod: Pod.fromPartial({ imageName: IMAGE, computeType: 'CPU' }), volumeGb: undefined },
    core.key,
  );
  const podId = pod!.id;
  const owner = pod!.machine!.id === agent.machineId ? own : stranger;
  t.equal(await owner({ podId, run: 1 }), digest('a'));
  t.equal(await owner({ podId, run: 1, digest: digest('b') }), digest('a'), 'fixed for a run');
  t.match(await reasonOf(owner({ podId, run: 2 })), /^NOT_FOUND/);
  await call(core.clients.pods, 'resetPod', { id: podId }, core.key);
  t.equal(await owner({ podId, run: 2, digest: digest('b') }), digest('b'), 'and anew for the next');
});

t.test('images are preferred, bounded, and written as they change', async (t) => {
  const core = await startReplicas(t);
  const images = Array.from({ length: 1_500 }, (_, i) => ({ name: `i${i}`, digest: '', sizeBytes: 1 }));
  const many = await core.joinAgent({ images });
  const [{ n }] =
    (await core.sql`SELECT count(*)::int AS n FROM machine_image WHERE machine_id = ${many.machineId}`) as unknown as [
      { n: number },
    ];
  t.equal(n, 1_000, 'the first are kept');
  const roomy = await core.joinAgent({ cpuSlots: 100 });
  const engine = {
    name: 'podman',
    version: '5',
    gpuHandover: GpuHandover.UNSPECIFIED,
    limits: ['pids'],
    imageTotalMib: 10,
    imageFreeMib: 5,
  };
  many.send({
    containers: MachineContainers.fromPartial({
      engine,
      images: [{ name: IMAGE, digest: digest('a') }, { name: 'bad name' }, { name: IMAGE }],
    }),
  });
  await waitFor(
    'the change',
    async () => (await core.sql`SELECT FROM machine_image WHERE machine_id = ${many.machineId}`).length === 1,
  );
  const templateId = await core.createTemplate({ imageName: IMAGE, startCommand: [] });
  await core.createEndpoint({ templateId, workersMin: 2 });
  await waitFor('both of them', () => many.desired.length === 2);
  t.equal(roomy.desired.length, 0, 'the machine with more room has not got it');
  const { machines } = await call(core.clients.machines, 'listMachines', {}, core.rootKey);
  t.match(machines.find(({ machine }) => machine!.id === many.machineId)!.machine, {
    containerEngine: engine,
    noEngineReason: '',
    runsCommands: true,
  });
  many.send({ containers: { engine: { ...engine, limits: Array.from({ length: 17 }, () => 'x') }, images: [] } });
  t.match(
    await many.ended,
    { message: /limits has 17 entries/ },
    'what makes no sense ends the session, and nothing else',
  );
  t.ok(await core.createEndpoint());
});

t.test('an image that no registry has: workers only on machines that have it, also of the next release', async (t) => {
  const core = await startReplicas(t);
  // Engines report an image without a tag as `latest`.
  const [first, second] = ['localhost/ocr:latest', 'localhost/ocr:2'];
  const has = (name: string) => [{ name, digest: '', sizeBytes: 1 }];
  const one = await core.joinAgent({ cpuSlots: 1, images: has(first) });
  const other = await core.joinAgent({ cpuSlots: 100, images: has(second) });
  const templateId = await core.createTemplate({ imageName: 'localhost/ocr', startCommand: [] });
  const endpointId = await core.createEndpoint({ templateId, workersMin: 2, workersMax: 2 });
  const explained = async () => (await call(core.clients.endpoints, 'explain', { endpointId }, core.key)).explanation!;
  await waitFor('the reason', async () => (await explained()).summary.includes('1 machine lacks its image'));
  t.match(
    (await explained()).machines.find(({ refusedBy }) => refusedBy === 'NO_IMAGE'),
    { reason: 'lacks its image, which no registry has', change: /^push the image to a registry / },
  );
  t.equal(one.desired.length, 1);
  t.equal(other.desired.length, 0, 'not on the machine with more room');
  const engine = { name: 'podman', version: '5', gpuHandover: GpuHandover.UNSPECIFIED, limits: [] };
  const images = [...has(second), ...has(first)];
  other.send({ containers: MachineContainers.fromPartial({ engine, images }) });
  await waitFor('the second worker, once its machine has the image', () => other.desired.length === 1);
  await core.ready(endpointId, 2);
  await call(
    core.clients.templates,
    'updateTemplate',
    { template: Template.fromPartial({ id: templateId, imageName: second }), updateMask: ['image_name'] },
    core.key,
  );
  await waitFor('the worker of the next release', () => other.desired.some(({ spec }) => spec?.imageName === second));
  t.notOk(
    one.desired.some(({ spec }) => spec?.imageName === second),
    'the worker that checks it starts where its image is',
  );
});

t.test(
  'a machine is told which images may be needed, and their credentials only when it pulls them before',
  async (t) => {
    const core = await startReplicas(t);
    const fields = { name: 'private', username: 'tintin', password: 'snowy' };
    const { registryAuth } = await call(core.clients.registryAuths, 'createRegistryAuth', fields, core.key);
    const templateId = await core.createTemplate({
      imageName: IMAGE,
      startCommand: [],
      registryAuthId: registryAuth!.id,
    });
    await core.createEndpoint({ templateId, workersMin: 0 });
    await core.createEndpoint({
      templateId: await core.createTemplate({ imageName: 'elsewhere', startCommand: [] }),
      workersMin: 0,
      locations: ['EU'],
    });
    await core.createEndpoint({
      templateId: await core.createTemplate({ imageName: 'not-wanted', startCommand: [] }),
      workersMin: 0,
      workersMax: 0,
    });
    const [keeps, pulls, none] = [
      await core.joinAgent(),
      await core.joinAgent({ prefetches: true }),
      await core.joinAgent({ engine: null }),
    ];
    await waitFor('both', () => keeps.desiredImages.length > 0 && pulls.desiredImages.length > 0, 30_000);
    t.match(keeps.desiredImages, [{ name: IMAGE, digest: '', registryCredentials: undefined }]);
    t.equal(keeps.desiredImages.length, 1, 'none that can only run elsewhere');
    t.match(pulls.desiredImages, [{ name: IMAGE, registryCredentials: { username: 'tintin', password: 'snowy' } }]);
    t.same(none.desiredImages, []);
  },
);

t.test('the progress of a starting worker or pod is visible, once a second, until it is ready', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ startWorkers: false });
  const templateId = await core.createTemplate({ imageName: IMAGE, startCommand: [] });
  const endpointId = await core.createEndpoint({ templateId, workersMax: 1 });
  const { workerId } = await waitFor('the worker', () =>
    agent.desired.find(({ desired }) => desired === DesiredState.RUN),
  );
  const shown = async () => (await call(core.clients.machines, 'listWorkers', { endpointId }, core.key)).workers[0]!;
  const writes = async () => Number((await core.sql`SELECT xmin::text AS x FROM worker WHERE id = ${workerId}`)[0]!.x);
  agent.send({ workers: [{ workerId, endpointId, state: WorkerState.INITIALIZING }] });
  const before = await writes();
  const seen = new Set<number>();
  for (let percent = 1; percent <= 100; percent += 1) {
    agent.send({
      workers: [
        { workerId, endpointId, state: WorkerState.INITIALIZING, reason: `pulling ${IMAGE}: ${percent} % of 2.8 GB` },
      ],
    });
  }
  await waitFor('the latest', async () => {
    seen.add(await writes());
    return (await shown()).reason === `pulling ${IMAGE}: 100 % of 2.8 GB`;
  });
  seen.delete(before);
  t.ok(seen.size <= 5, `a hundred reports at once are not a hundred writes: ${seen.size}`);
  const view = await call(core.clients.pods, 'getPod', { id: workerId }, core.key);
  t.match(
    view.pod,
    { state: PodState.STARTING, statusText: /^pulling .*100 %/ },
    'REST and GraphQL show it as the status',
  );
  agent.send({ workers: [{ workerId, endpointId, state: WorkerState.READY, capacity: 1, reason: 'pulling' }] });
  await waitFor('it to be ready', async () => (await shown()).state === WorkerState.READY);
  t.equal((await shown()).reason, '');
});

// test: postgres, 10 s
/** Placement of pods: capacity, GPUs and slots shared with workers, network volumes. The machines are scripted. */
import { Pod, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { act, CPU, create, get, gpu, remove } from './pod-actions.ts';

t.setTimeout(600_000);

t.test('a refusal for lack of capacity has its reason, and names no machine', async (t) => {
  const core = await startReplicas(t);
  const text = /^NO_CAPACITY: There are no longer any instances available with the requested specifications\. /;
  const nobody = await reasonOf(create(core, CPU));
  t.match(nobody, text);
  t.match(nobody, /No machine has joined\.$/);
  await core.joinAgent({ gpus: [gpu('GPU-1'), gpu('GPU-2')], cpuSlots: 1 });
  const first = await create(core, { imageName: 'i', gpuCount: 2 });
  t.same(first.gpuUuids, ['GPU-1', 'GPU-2']);
  await create(core, CPU);
  t.match(
    await reasonOf(create(core, { imageName: 'i' })),
    /No machine has a free GPU: 1 machine has too few of them free\.$/,
  );
  t.match(await reasonOf(create(core, CPU)), /1 machine has no slot free\.$/);
  t.match(
    await reasonOf(create(core, { imageName: 'i', locations: ['DE'] })),
    /1 machine is elsewhere \(SLIPWAY_AGENT_LOCATIONS\)\.$/,
  );
  await act(core, 'stopPod', first.id);
  const second = await create(core, { imageName: 'i' });
  t.match(await reasonOf(act(core, 'startPod', first.id)), text, 'its GPUs were taken meanwhile');
  t.match(
    await get(core, first.id),
    { desiredStatus: PodStatus.EXITED, gpuUuids: [] },
    'and it stands still as before',
  );
  await remove(core, second.id);
  t.match(await act(core, 'startPod', first.id), { desiredStatus: PodStatus.RUNNING, gpuUuids: ['GPU-1', 'GPU-2'] });
  const away = await core.joinAgent({ gpus: [gpu('GPU-3')] });
  const third = await create(core, { imageName: 'i' });
  await act(core, 'stopPod', third.id);
  away.drop();
  await core.sql`UPDATE machine SET lease_expires_at = now() - interval '1 s' WHERE id = ${away.machineId}`;
  t.match(
    await reasonOf(act(core, 'startPod', third.id)),
    /Its files are on one machine only; .*1 machine is not connected\.$/,
  );
  t.match(await get(core, third.id), { statusText: 'Its machine is not connected at the moment.' });
});

t.test('GPUs and slots go to a worker or a pod, never to both', async (t) => {
  const core = await startReplicas(t, 2);
  const agent = await core.joinAgent({ gpus: [gpu('GPU-1'), gpu('GPU-2')], cpuSlots: 1 });
  const pod = await create(core, { imageName: 'i' });
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 2 });
  await core.ready(endpointId, 1);
  await waitFor(
    'the second worker to be refused',
    async () =>
      (await core.sql`SELECT FROM scale_decision WHERE endpoint_id = ${endpointId} AND throttled = 1`).length === 1,
  );
  t.same(
    agent.desired.flatMap((worker) => worker.spec!.gpuUuids),
    ['GPU-1', 'GPU-2'].filter((uuid) => !pod.gpuUuids.includes(uuid)),
  );
  t.match(await reasonOf(create(core, { imageName: 'i' })), /^NO_CAPACITY/, 'and no second pod either');
  await act(core, 'stopPod', pod.id);
  await core.ready(endpointId, 2);
  t.match(await reasonOf(act(core, 'startPod', pod.id)), /^NO_CAPACITY/);
  await create(core, CPU);
  const cpuEndpoint = await core.createEndpoint({ computeType: 'CPU' });
  await waitFor(
    'the slot to be taken',
    async () =>
      (await core.sql`SELECT FROM scale_decision WHERE endpoint_id = ${cpuEndpoint} AND throttled = 1`).length === 1,
  );
});

t.test('pods that are made at the same moment never share a GPU', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent({ gpus: ['a', 'b', 'c'].map((uuid) => gpu(uuid)) });
  const made = await Promise.allSettled(Array.from({ length: 6 }, () => create(core, { imageName: 'i' })));
  const uuids = made.flatMap((result) => (result.status === 'fulfilled' ? result.value.gpuUuids : []));
  t.same(uuids.sort(), ['a', 'b', 'c']);
});

t.test('a network volume says where the pod goes', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent({ locations: ['EU-1'] });
  await core.sql`INSERT INTO network_volume (id, account_id, name, size_gb, data_center_id) VALUES
    ('there', ${core.accountId}, 'v', 1, 'EU-2'), ('strange', ${await core.newAccount()}, 'v', 1, 'EU-1')`;
  const elsewhere = await reasonOf(create(core, { ...CPU, networkVolumeId: 'there' }));
  t.match(elsewhere, /^NO_CAPACITY: .*1 machine is not where the network volumes are \(SLIPWAY_AGENT_LOCATIONS\)\.$/);
  t.match(await reasonOf(create(core, { ...CPU, networkVolumeId: 'strange' })), /^INVALID_REQUEST: network_volume_id/);
  const second = await core.joinAgent({ locations: ['EU-2'] });
  t.match(await create(core, { ...CPU, networkVolumeId: 'there' }), {
    networkVolumeId: 'there',
    machine: { id: second.machineId },
  });
});

t.test(
  'a machine must be as large as requested; SSH keys and Jupyter follow the request or its template',
  async (t) => {
    const core = await startReplicas(t);
    const agent = await core.joinAgent({ gpus: [gpu('GPU-1'), gpu('GPU-2')], cpuCount: 8, memoryMib: 16_384 });
    const pod = { imageName: 'i', gpuCount: 2 };
    const asked = (request: object) =>
      call(core.clients.pods, 'createPod', { pod: Pod.fromPartial(pod), ...request }, core.key);
    t.match(
      await reasonOf(asked({ minMemoryGb: 32, minCpuCount: 8 })),
      /No machine has 2 free GPUs of one type on a machine with at least 8 processors and 32 GB of memory: 1 machine is too small\.$/,
    );
    t.match(await reasonOf(asked({ minCpuCount: 9 })), /at least 9 processors: 1 machine is too small\.$/);
    t.match(await reasonOf(asked({ minCpuCount: -1 })), /^INVALID_REQUEST: min_cpu_count is -1/);
    await call(core.clients.access, 'updateAccount', { publicKey: 'ssh-ed25519 AAAA me' }, core.key);
    const template = await core.createTemplate({ imageName: 'i', startSsh: false, startJupyter: true });
    for (const [request, keys, hasPassword] of [
      [{ minMemoryGb: 16, minCpuCount: 8 }, 'ssh-ed25519 AAAA me', false],
      [{ startSsh: false, startJupyter: true }, '', true],
      [{ pod: Pod.fromPartial({ ...pod, templateId: template }) }, '', true],
      [
        { pod: Pod.fromPartial({ ...pod, templateId: template }), startSsh: true, startJupyter: false },
        'ssh-ed25519 AAAA me',
        false,
      ],
    ] as const) {
      const made = (await asked(request)).pod!;
      const { spec } = await waitFor('the machine to hear of it', () =>
        agent.desiredPods.find(({ podId }) => podId === made.id),
      );
      t.match([spec!.env['PUBLIC_KEY'], 'JUPYTER_PASSWORD' in spec!.env], [keys, hasPassword], JSON.stringify(request));
      t.notOk('PUBLIC_KEY' in made.env, 'the owner sees only what was given');
      await remove(core, made.id);
    }
  },
);

// test: postgres, 10 s
/** Pods over gRPC: defaults, templates, bounds, verbs, updates, locks, who sees what. The machines are scripted. */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Pod, PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import type { Calls } from './pod-actions.ts';
import { act, CPU, create, get, gpu, list, remove, row, update } from './pod-actions.ts';

t.setTimeout(600_000);

t.test('defaults, and its machine', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ gpus: [gpu('GPU-1')], locations: ['CZ', 'EU-CZ-1'] });
  await call(core.clients.usage, 'setPrices', { prices: [{ item: 'NVIDIA L4', usdPerHour: 0.5 }] }, core.rootKey);
  const pod = await create(core, { startCommand: ['sleep', '9'] });
  t.match(pod, {
    id: /^[a-z0-9]{14}$/,
    name: 'my pod',
    templateId: '',
    containerDiskGb: 50,
    volumeGb: 20,
    volumeMountPath: '/workspace',
    gpuCount: 1,
    computeType: 'GPU',
    desiredStatus: PodStatus.RUNNING,
    state: PodState.STARTING,
    statusText: '',
    gpuUuids: ['GPU-1'],
    gpuTypeId: 'NVIDIA L4',
    endpointId: '',
    costPerHour: 0.5,
    locked: false,
    registryAuthId: '',
    networkVolumeId: '',
    machine: { id: agent.machineId, locations: ['CZ', 'EU-CZ-1'], gpus: [{ uuid: 'GPU-1' }] },
  });
  t.ok(pod.createTime instanceof Date && pod.lastStartTime instanceof Date && pod.stateChangeTime instanceof Date);
  t.same(await get(core, pod.id), pod);
  t.same(await list(core), [pod]);
  await call(core.clients.usage, 'setPrices', { prices: [{ item: 'NVIDIA L4', usdPerHour: 9 }] }, core.rootKey);
  t.equal((await get(core, pod.id)).costPerHour, 0.5, 'the price it began with');
  t.equal((await act(core, 'stopPod', pod.id)).costPerHour, 9, 'what a start would cost now');
});

t.test('a template gives what the request leaves out', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const templateId = await core.createTemplate({
    imageName: 'i',
    startCommand: ['a', 'b'],
    entrypoint: ['e'],
    env: { A: '1', B: '1' },
    workingDirectory: '/tmp',
    containerDiskGb: 7,
    volumeGb: 0,
    volumeMountPath: '/v',
    ports: ['1/tcp'],
  });
  t.match(await create(core, { templateId, computeType: 'CPU' }), {
    name: 'my pod',
    templateId,
    imageName: 'i',
    startCommand: ['a', 'b'],
    entrypoint: ['e'],
    env: { A: '1', B: '1' },
    workingDirectory: '/tmp',
    containerDiskGb: 7,
    volumeGb: 0,
    volumeMountPath: '/v',
    ports: ['1/tcp'],
    gpuCount: 0,
  });
  const more = { name: 'n', startCommand: ['c'], env: { B: '2' }, containerDiskGb: 8, volumeGb: 9, ports: ['2/udp'] };
  t.match(await create(core, { templateId, computeType: 'CPU', ...more }), {
    name: 'n',
    imageName: 'i',
    startCommand: ['c'],
    env: { A: '1', B: '2' },
    containerDiskGb: 8,
    volumeGb: 9,
    ports: ['2/udp'],
  });
  const request = { pod: Pod.fromPartial({ ...CPU, volumeGb: 5 }), volumeGb: 0 };
  t.equal((await call(core.clients.pods, 'createPod', request, core.key)).pod!.volumeGb, 0, 'no volume at all');
  const stranger = await core.newKey(KeyScope.ALL, [], await core.newAccount());
  const theirs = await core.createTemplate({}, stranger);
  t.match(await reasonOf(create(core, { templateId: theirs })), /^INVALID_REQUEST: template_id: there is no template/);
  const shared = await core.createTemplate({ public: true }, stranger);
  t.equal((await create(core, { templateId: shared, computeType: 'CPU' })).templateId, shared);
});

const BAD: [fields: Parameters<Calls['create']>[0], why: RegExp][] = [
  [{}, /template_id, image_name or start_command/],
  [{ startCommand: [''] }, /names no program/],
  [{ ...CPU, name: 'x'.repeat(192) }, /name has 192/],
  [{ ...CPU, name: 'a\0' }, /cannot be stored/],
  [{ ...CPU, gpuCount: 1 }, /takes no gpu_ids/],
  [{ ...CPU, gpuIds: ['AMPERE_24'] }, /takes no gpu_ids/],
  [{ ...CPU, computeType: 'TPU' }, /GPU or CPU/],
  [{ imageName: 'i', gpuCount: -1 }, /gpu_count is -1/],
  [{ imageName: 'i', gpuCount: 65 }, /gpu_count is 65/],
  [{ imageName: 'i', gpuIds: ['AMPERE_99'] }, /"AMPERE_99" is not known/],
  [{ ...CPU, containerDiskGb: -1 }, /container_disk_gb is -1/],
  [{ ...CPU, volumeGb: 70_000 }, /volume_gb/],
  [{ ...CPU, ports: ['x'] }, /ports/],
  [{ ...CPU, env: { 'a b': '' } }, /not a name for a variable/],
  [{ ...CPU, locations: [''] }, /locations/],
  [{ ...CPU, allowedCudaVersions: ['x'] }, /not a version/],
  [
    { ...CPU, env: { A: 'x'.repeat(131_000), B: 'x'.repeat(131_000), C: 'x'.repeat(131) } },
    /takes \d+ bytes, but may take 262144/,
  ],
  [{ ...CPU, templateId: 'nosuch' }, /no template "nosuch"/],
  [{ ...CPU, registryAuthId: 'nosuch' }, /registry_auth_id/],
  [{ ...CPU, networkVolumeId: 'nosuch' }, /network_volume_id/],
  [{ ...CPU, registryAuthId: '\0' }, /cannot be stored/],
];

t.test('bad fields change nothing', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent({ gpus: [gpu('GPU-1')] });
  for (const [fields, why] of BAD) {
    const reason = await reasonOf(create(core, fields));
    t.match(reason, /^INVALID_REQUEST: /, JSON.stringify(fields));
    t.match(reason, why);
  }
  t.match(await reasonOf(call(core.clients.pods, 'createPod', { pod: undefined }, core.key)), /pod is required/);
  t.equal((await core.sql`SELECT FROM pod`).length + (await core.sql`SELECT FROM usage_span`).length, 0);
});

t.test('verbs', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const { id, lastStartTime } = await create(core, CPU);
  const runs = async () => {
    const { run, disk, desired } = await row(core, id);
    return [run, disk, desired];
  };
  await act(core, 'startPod', id);
  t.same(await runs(), [1, 1, 'RUNNING'], 'starting a running pod changes nothing');
  t.match(await act(core, 'restartPod', id), { state: PodState.STARTING });
  t.same(await runs(), [2, 1, 'RUNNING']);
  await act(core, 'resetPod', id);
  t.same(await runs(), [3, 2, 'RUNNING']);
  t.match(await act(core, 'stopPod', id), { desiredStatus: PodStatus.EXITED, gpuUuids: [] });
  await act(core, 'stopPod', id);
  t.same(await runs(), [3, 2, 'EXITED']);
  const again = await act(core, 'startPod', id);
  t.same(await runs(), [4, 2, 'RUNNING']);
  t.ok(again.lastStartTime! > lastStartTime!);
  await act(core, 'stopPod', id);
  t.match(await act(core, 'resetPod', id), { desiredStatus: PodStatus.RUNNING }, 'a reset starts it anew too');
  t.same(await runs(), [5, 3, 'RUNNING']);
  await remove(core, id);
  t.match(await reasonOf(get(core, id)), /^NOT_FOUND: There is no pod/);
  const audit = await core.sql<
    { action: string }[]
  >`SELECT action, fields, key_id FROM audit_event WHERE subject_id = ${id} ORDER BY id`;
  t.same(
    audit.map((event) => event.action),
    ['CreatePod', 'RestartPod', 'ResetPod', 'StopPod', 'StartPod', 'StopPod', 'ResetPod', 'DeletePod'],
  );
  t.match(audit[0], { fields: ['start_command', 'compute_type'], key_id: /^./ });
});

t.test('updates', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const { id } = await create(core, { ...CPU, env: { A: '1' } });
  const runs = async () => {
    const { run, disk } = await row(core, id);
    return [run, disk];
  };
  t.match(await update(core, id, { name: 'n' }), { name: 'n' });
  await update(core, id, { env: { A: '1' } });
  t.same(await runs(), [1, 1], 'nothing that matters changed');
  const wider = { env: { A: '2' }, containerDiskGb: 5, ports: ['1/tcp'] };
  t.match(await update(core, id, wider), { ...wider, name: 'n' });
  t.same(await runs(), [2, 2]);
  await act(core, 'stopPod', id);
  t.match(
    await update(core, id, {
      startCommand: ['true'],
      workingDirectory: '/tmp',
      volumeGb: 1,
      volumeMountPath: '/v',
      imageName: 'x',
      entrypoint: ['e'],
    }),
    { startCommand: ['true'], desiredStatus: PodStatus.EXITED },
  );
  t.same(await runs(), [2, 2], 'one that stands still keeps its files and goes on standing');
  t.match(await reasonOf(update(core, id, {})), /update_mask is empty/);
  t.match(await reasonOf(update(core, id, { gpuCount: 2 })), /gpu_count cannot be changed$/);
  t.match(await reasonOf(update(core, id, { name: '' })), /name has 0/);
  t.match(await reasonOf(update(core, id, { startCommand: [], imageName: '' })), /what should it run/);
  t.match(await reasonOf(update(core, id, { registryAuthId: 'nosuch' })), /registry_auth_id/);
  t.match(await reasonOf(update(core, 'nosuch', { name: 'x' })), /^NOT_FOUND/);
});

t.test('a locked pod', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const { id } = await create(core, { ...CPU, locked: true });
  for (const refused of [
    () => act(core, 'stopPod', id),
    () => act(core, 'resetPod', id),
    () => update(core, id, { name: 'x' }),
    () => update(core, id, { name: 'x', locked: true }),
  ]) {
    t.match(await reasonOf(refused()), /^POD_FIXED: .*set locked to false first/);
  }
  await act(core, 'restartPod', id);
  t.match(await update(core, id, { locked: true }), { locked: true });
  t.match(await update(core, id, { locked: false, name: 'y' }), { locked: false, name: 'y' });
  t.equal((await row(core, id)).disk, 1);
  await act(core, 'stopPod', id);
});

t.test('other accounts and restricted keys', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const { id } = await create(core, CPU);
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const [worker] = agent.desired;
  const stranger = await core.newKey(KeyScope.ALL, [], await core.newAccount());
  t.same(await list(core, { includeWorkers: true }, stranger), []);
  for (const theirs of [id, worker!.workerId]) {
    for (const refused of [
      () => get(core, theirs, stranger),
      () => act(core, 'stopPod', theirs, stranger),
      () => remove(core, theirs, stranger),
      () => call(core.clients.pods, 'getPodLog', { id: theirs, tailBytes: 0 }, stranger),
    ])
      t.match(await reasonOf(refused()), /^NOT_FOUND/);
  }
  const reader = await core.newKey(KeyScope.READ_ONLY);
  t.equal((await get(core, id, reader)).id, id);
  for (const refused of [
    () => act(core, 'stopPod', id, reader),
    () => create(core, CPU, reader),
    () => remove(core, id, reader),
    () => get(core, id, core.agentKey),
    () => get(core, id, core.rootKey),
  ]) {
    t.match(await reasonOf(refused()), /^UNAUTHORIZED/);
  }
  t.match(await row(core, id), { desired: 'RUNNING', run: 1 });
  t.match(await reasonOf(call(core.clients.pods, 'getPodLog', { id, tailBytes: -1 }, core.key)), /tail_bytes is -1/);
});

// test: postgres
/** Sizes of CPU workers and pods, and endpoints without a GPU type, on real replicas: placement and its reasons. */

import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_000, migProfile: '' };
const createPod = async (core: CoreReplicas, fields: Partial<Pod>): Promise<Pod> =>
  (
    await call(
      core.clients.pods,
      'createPod',
      {
        pod: Pod.fromPartial({ imageName: 'i', startCommand: ['true'], computeType: 'CPU', ...fields }),
        volumeGb: undefined,
      },
      core.key,
    )
  ).pod!;
const decisionOf = (core: CoreReplicas, endpointId: string, throttled: number) =>
  waitFor('the decision', async () => {
    const [row] =
      await core.sql`SELECT * FROM scale_decision WHERE endpoint_id = ${endpointId} AND throttled = ${throttled}`;
    return row;
  });

t.test('workers and pods share a machine', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ cpuCount: 8, memoryMib: 16_384, cpuModel: 'Threadripper' });
  const pod = await createPod(core, { instanceIds: ['cpu5m-4-32', 'cpu3c-2-4'] });
  t.match(pod, { instanceIds: ['cpu5m-4-32', 'cpu3c-2-4'], instanceId: 'cpu3c-2-4' }, '32 GB are not there');
  t.match(pod.machine, { cpuModel: 'Threadripper', cpuCount: 8 });
  const endpointId = await core.createEndpoint({
    computeType: 'CPU',
    instanceIds: ['cpu3c-4-8', 'cpu3c-1-2'],
    workersMin: 4,
    workersMax: 4,
  });
  await core.ready(endpointId, 3);
  t.match(await decisionOf(core, endpointId, 1), {
    refusal_by_machine: /cpu3c-4-8 or cpu3c-1-2 is asked for and 0 of 8 processors and 1 of 17 GB are free/,
  });
  t.same(agent.desired.map(({ spec }) => spec!.vcpuCount).sort(), [1, 1, 4], 'the preferred size while there is room');
  t.match(
    await reasonOf(createPod(core, { instanceIds: ['cpu3c-1-2'] })),
    /^NO_CAPACITY: .*room for cpu3c-1-2: 1 machine has too few processors/,
  );
  t.match(await createPod(core, {}), { instanceId: '' }, 'one without a size takes a slot');
  await call(core.clients.pods, 'stopPod', { id: pod.id }, core.key);
  await core.ready(endpointId, 4);
  t.match(
    await reasonOf(call(core.clients.pods, 'startPod', { id: pod.id }, core.key)),
    /^NO_CAPACITY/,
    'a pod that stands still holds nothing',
  );
  const { pods } = await call(
    core.clients.pods,
    'listPods',
    { includeWorkers: true, endpointIds: [], endpointId },
    core.key,
  );
  t.same(pods.map(({ instanceId }) => instanceId).sort(), ['cpu3c-1-2', 'cpu3c-1-2', 'cpu3c-1-2', 'cpu3c-4-8']);
});

t.test('a change of sizes replaces the workers', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ cpuCount: 8, memoryMib: 16_384 });
  const endpointId = await core.createEndpoint({ computeType: 'CPU', instanceIds: ['cpu3c-1-2'] });
  await core.ready(endpointId);
  t.equal((await core.updateEndpoint(endpointId, { instanceIds: ['cpu3c-2-4'] })).endpoint!.version, 1);
  await waitFor('a worker of the new size', () =>
    agent.desired.find(({ spec }) => spec!.vcpuCount === 2 && spec!.version === 1),
  );
  t.equal(
    (await core.updateEndpoint(endpointId, { instanceIds: ['cpu3c-2-4'] })).endpoint!.version,
    1,
    'the same is no change',
  );
});

t.test('sizes of pods are checked', async (t) => {
  const core = await startReplicas(t);
  t.match(
    await reasonOf(createPod(core, { instanceIds: ['big'] })),
    /^INVALID_REQUEST: instance_ids: "big" is not like cpu3c-2-4/,
  );
  t.match(await reasonOf(createPod(core, { computeType: 'GPU', instanceIds: ['cpu3c-2-4'] })), /need compute_type CPU/);
});

t.test('an endpoint that names no GPU type', async (t) => {
  const core = await startReplicas(t);
  const bare = await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 1 });
  await core.ready(endpointId);
  t.match(bare.desired, [{ spec: { gpuUuids: [] } }], 'runs without one where there is none');
  const rich = await core.joinAgent({ gpus: [L4] });
  await core.updateEndpoint(endpointId, { workersMin: 3 });
  await core.ready(endpointId, 2);
  t.match(rich.desired, [{ spec: { gpuUuids: ['GPU-1'], gpuTypeId: 'NVIDIA L4' } }], 'gets one where there is one');
  t.match(
    await decisionOf(core, endpointId, 1),
    { refusal_by_machine: /it has no GPU; .*1 GPU is needed, and 0/ },
    'and waits for it',
  );
  await core.createEndpoint({ computeType: 'CPU' });
  await waitFor('a worker without', () => [...bare.desired, ...rich.desired].length === 3);
});

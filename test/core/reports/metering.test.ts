// test: postgres, 10 s
/**
 * Everything that writes usage: each way in which workers, pods and network volumes start, change and end, through the
 * services that do it.
 */

import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const setPrice = (core: CoreReplicas, item: string, usdPerHour: number) =>
  call(core.clients.usage, 'setPrices', { prices: [{ item, usdPerHour }] }, core.rootKey);
const spansOf = (core: CoreReplicas, subjectId: string) => core.sql`
  SELECT *, ended_at IS NULL AS open, ended_at >= started_at AS forward FROM usage_span WHERE subject_id = ${subjectId}
    ORDER BY id`;

/** Returns an endpoint with one ready worker. */
async function startWorker(
  core: CoreReplicas,
  agent: { desired: { workerId: string; endpointId: string }[] },
  fields: { workersMin?: number } = {},
) {
  const endpointId = await core.createEndpoint({ computeType: 'CPU', ...fields });
  await core.ready(endpointId);
  return { endpointId, workerId: agent.desired.find((worker) => worker.endpointId === endpointId)!.workerId };
}

t.test('a worker is metered with what it has, at the price of its beginning', async (t) => {
  const core = await startReplicas(t);
  await setPrice(core, 'NVIDIA L4', 0.5);
  await setPrice(core, 'CPU', 0.1);
  const agent = await core.joinAgent({ gpus: [L4, { ...L4, uuid: 'GPU-2' }], locations: ['CZ', 'EU-1'] });
  const templateId = await core.createTemplate({ imageName: 'i', containerDiskGb: 7 });
  const endpointId = await core.createEndpoint({ gpuIds: ['AMPERE_24'], gpuCount: 2, templateId });
  await core.ready(endpointId);
  await setPrice(core, 'NVIDIA L4', 9);
  t.match(await spansOf(core, agent.desired[0]!.workerId), [
    {
      account_id: core.accountId,
      kind: 'WORKER',
      endpoint_id: endpointId,
      template_id: templateId,
      image_name: 'i',
      locations: ['CZ', 'EU-1'],
      gpu_type_id: 'NVIDIA L4',
      gpu_count: 2,
      disk_gb: 7,
      usd_per_hour: 1,
      open: true,
    },
  ]);
  const { workerId } = await startWorker(core, agent);
  t.match(
    await spansOf(core, workerId),
    [{ gpu_type_id: '', gpu_count: 0, usd_per_hour: 0.1, open: true }],
    'one without a GPU costs what CPU costs',
  );
});

t.test('it ends with the worker, whatever ends that', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const ends: [string, (worker: { endpointId: string; workerId: string }) => Promise<unknown>][] = [
    [
      'it stops as it was told to',
      ({ endpointId }) => core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 }),
    ],
    ['it stops by itself', async (worker) => agent.send({ workers: [{ ...worker, state: WorkerState.STOPPED }] })],
    [
      'it crashes and is given up',
      async (worker) => agent.send({ workers: [{ ...worker, state: WorkerState.UNHEALTHY, reason: 'x' }] }),
    ],
    [
      'its endpoint is deleted',
      async ({ endpointId }) => {
        await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
        await call(core.clients.endpoints, 'deleteEndpoint', { id: endpointId }, core.key);
      },
    ],
  ];
  for (const [what, end] of ends) {
    const worker = await startWorker(core, agent);
    await end(worker);
    const [span] = await waitFor(`the end of the span when ${what}`, async () => {
      const spans = await spansOf(core, worker.workerId);
      return spans.length === 1 && !spans[0]!.open && spans;
    });
    t.match(span, { forward: true, endpoint_id: worker.endpointId }, what);
  }
});

t.test('the time of a worker that crashed ends there, not when the next one may take its place', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const worker = await startWorker(core, agent, { workersMin: 1 });
  // So many that the next one has to wait.
  await core.sql`UPDATE worker SET failures = 8, state = 'INITIALIZING' WHERE id = ${worker.workerId}`;
  agent.send({ workers: [{ ...worker, state: WorkerState.UNHEALTHY, reason: 'x' }] });
  await waitFor(
    'the crash',
    async () =>
      (await core.sql`SELECT FROM worker WHERE id = ${worker.workerId} AND state = 'UNHEALTHY' AND ended_at IS NULL`)
        .length === 1,
  );
  t.match(await spansOf(core, worker.workerId), [{ open: false, forward: true }]);
});

t.test('its machine reconnects without it, or never', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const first = await startWorker(core, agent);
  agent.drop();
  const again = await core.joinAgent({ machineId: agent.machineId });
  await waitFor('the end of the first', async () => (await spansOf(core, first.workerId))[0]!.open === false);
  await core.ready(first.endpointId);
  const second = again.desired[0]!.workerId;
  t.match(await spansOf(core, second), [{ open: true }], 'its successor is metered');
  again.drop();
  await core.sql`UPDATE machine SET lease_expires_at = now() - interval '1 s'`;
  await waitFor('the end of the second', async () => (await spansOf(core, second))[0]!.open === false);
});

t.test('a pod is metered while it shall run', async (t) => {
  const core = await startReplicas(t);
  await setPrice(core, 'NVIDIA L4', 0.5);
  await core.joinAgent({ gpus: [L4], locations: ['EU-1'] });
  const pods = podCalls(core.clients, core.key);
  const { id } = await pods.create({ startCommand: ['true'], imageName: 'i', containerDiskGb: 3, volumeGb: 4 });
  await pods.act('startPod', id);
  await pods.act('restartPod', id);
  await pods.act('resetPod', id);
  await pods.update(id, { env: { A: '1' } });
  t.match(
    await spansOf(core, id),
    [
      {
        kind: 'POD',
        image_name: 'i',
        gpu_type_id: 'NVIDIA L4',
        gpu_count: 1,
        disk_gb: 7,
        usd_per_hour: 0.5,
        locations: ['EU-1'],
        endpoint_id: '',
        open: true,
      },
    ],
    'starting anew goes on with the same span',
  );
  await pods.update(id, { imageName: 'j', containerDiskGb: 500 });
  t.match(
    await spansOf(core, id),
    [
      { image_name: 'i', disk_gb: 7, open: false, forward: true },
      { image_name: 'j', disk_gb: 504, open: true },
    ],
    'what is metered has changed',
  );
  await core.sql`DELETE FROM usage_span WHERE subject_id = ${id} AND ended_at IS NOT NULL`;
  await pods.act('stopPod', id);
  await pods.act('stopPod', id);
  t.match(await spansOf(core, id), [{ open: false, forward: true }]);
  await setPrice(core, 'NVIDIA L4', 2);
  await pods.act('startPod', id);
  t.match(
    await spansOf(core, id),
    [
      { usd_per_hour: 0.5, open: false },
      { usd_per_hour: 2, open: true },
    ],
    'a new span at the price of now',
  );
  await pods.remove(id);
  t.match(await spansOf(core, id), [{ open: false }, { open: false }]);
  const still = await pods.create({ startCommand: ['true'] });
  await pods.act('stopPod', still.id);
  await pods.remove(still.id);
  t.match(await spansOf(core, still.id), [{ open: false }], 'one that stood still ends nothing');
});

t.test('a refused pod is not metered', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent({ gpus: [L4] });
  const pods = podCalls(core.clients, core.key);
  await pods.create({ startCommand: ['true'] });
  await t.rejects(pods.create({ startCommand: ['true'] }));
  t.equal((await core.sql`SELECT FROM usage_span`).length, 1);
});

t.test('a volume is metered by its size', async (t) => {
  const core = await startReplicas(t);
  await setPrice(core, 'VOLUME_GB', 0.25);
  const { volumes } = core.clients;
  const networkVolume = { id: '', name: 'v', sizeGb: 10, dataCenterId: 'EU-1', createTime: undefined };
  const { id } = (await call(volumes, 'createNetworkVolume', { networkVolume }, core.key)).networkVolume!;
  const update = (fields: Partial<typeof networkVolume>, updateMask: string[]) =>
    call(volumes, 'updateNetworkVolume', { networkVolume: { ...networkVolume, ...fields, id }, updateMask }, core.key);
  t.match(await spansOf(core, id), [
    { kind: 'VOLUME', locations: ['EU-1'], disk_gb: 10, usd_per_hour: 2.5, gpu_type_id: '', open: true },
  ]);
  await update({ name: 'w' }, ['name']);
  await update({ sizeGb: 10 }, ['size_gb']);
  t.equal((await spansOf(core, id)).length, 1, 'nothing of what is metered changed');
  await setPrice(core, 'VOLUME_GB', 1);
  await update({ sizeGb: 20 }, ['size_gb']);
  t.match(await spansOf(core, id), [
    { disk_gb: 10, usd_per_hour: 2.5, open: false, forward: true },
    { disk_gb: 20, usd_per_hour: 20, open: true },
  ]);
  await call(volumes, 'deleteNetworkVolume', { id }, core.key);
  t.match(await spansOf(core, id), [{ open: false }, { open: false }]);
});

t.test('usage outlives what was used', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const { endpointId, workerId } = await startWorker(core, agent);
  await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
  await call(core.clients.endpoints, 'deleteEndpoint', { id: endpointId }, core.key);
  t.equal((await core.sql`SELECT FROM worker`).length, 0);
  t.match(await spansOf(core, workerId), [{ endpoint_id: endpointId, open: false }]);
});

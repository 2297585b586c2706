// test: postgres, 10 s
/**
 * No GPU is assigned twice: the database guarantees it, even without the placement lock, with two replicas, and from
 * start to end of its use.
 */

import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import postgres from 'postgres';
import t from 'tap';
import { grpcClients } from '../../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const gpus = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    uuid: `GPU-${index + 1}`,
    name: 'NVIDIA L4',
    memoryMib: 24_576,
    migProfile: '',
  }));
const L4_POD = { name: 'p', startCommand: ['true'], gpuIds: ['NVIDIA L4'], gpuCount: 1, computeType: 'GPU' };
const holds = async (core: CoreReplicas, machineId: string) =>
  await core.sql<{ gpu_uuid: string; worker_id: string | null; pod_id: string | null }[]>`
  SELECT gpu_uuid, worker_id, pod_id FROM gpu_hold WHERE machine_id = ${machineId} ORDER BY gpu_uuid`;
const waitsForARow = (core: CoreReplicas) =>
  waitFor(
    'a placement to wait for the other transaction',
    async () =>
      (
        await core.sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND wait_event = 'transactionid'`
      ).length > 0,
  );

/** Assigns a GPU to a worker without the placement lock, which core never does. `meanwhile` runs before the commit. */
async function givenBeside(
  core: CoreReplicas,
  machineId: string,
  endpointId: string,
  workerId: string,
  meanwhile: () => Promise<unknown>,
) {
  const beside = postgres(core.url, { max: 1 });
  try {
    await beside.begin(async (sql) => {
      await sql`INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids, desired)
        VALUES (${workerId}, ${endpointId}, ${machineId}, 1, '{GPU-1}', 'DRAIN')`;
      await meanwhile();
    });
  } finally {
    await beside.end();
  }
}

t.test('an assignment without the lock wins if it is first, and the second goes elsewhere', async (t) => {
  const core = await startReplicas(t);
  const { machineId } = await core.joinAgent({ gpus: gpus(3), startWorkers: false });
  const idle = await core.createEndpoint({ workersMin: 0 });
  const pods = podCalls(core.clients, core.key);
  let pod: ReturnType<typeof pods.create>;
  await givenBeside(core, machineId, idle, 'beside00000001', async () => {
    pod = pods.create(L4_POD);
    await waitsForARow(core);
  });
  t.same((await pod!).gpuUuids, ['GPU-2'], 'a pod');
  await core.sql`UPDATE worker SET ended_at = now() WHERE id = 'beside00000001'`;
  let endpointId = '';
  await givenBeside(core, machineId, idle, 'beside00000002', async () => {
    endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'] });
    await waitsForARow(core);
  });
  const [worker] = await waitFor('a worker to be placed', async () => {
    const rows = await core.sql<
      { gpu_uuids: string[] }[]
    >`SELECT gpu_uuids FROM worker WHERE endpoint_id = ${endpointId}`;
    return rows.length > 0 && rows;
  });
  t.same(worker!.gpu_uuids, ['GPU-3'], 'a worker');
  const twice = core.sql`INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids)
    VALUES ('w', ${idle}, ${machineId}, 1, '{GPU-2}')`;
  await t.rejects(twice, { code: '23505', constraint_name: 'gpu_hold_machine_id_gpu_uuid_pk' });
});

t.test('two replicas at once', async (t) => {
  const core = await startReplicas(t, 2);
  const { machineId } = await core.joinAgent({ gpus: gpus(4) });
  const second = grpcClients(core.replicas[1]!.address);
  t.teardown(() => second.close());
  const both = [podCalls(core.clients, core.key), podCalls(second, core.key)];
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      both[index % 2]!.create(L4_POD).then(
        ({ gpuUuids }) => gpuUuids[0]!,
        (error: unknown) => reasonOf(Promise.reject(error)),
      ),
    ),
  );
  t.same(
    answers.filter((answer) => answer.startsWith('GPU-')).sort(),
    gpus(4).map(({ uuid }) => uuid),
  );
  t.same(
    [...new Set(answers.filter((answer) => !answer.startsWith('GPU-')).map((answer) => answer.split(':')[0]))],
    ['NO_CAPACITY'],
  );
  t.equal((await holds(core, machineId)).length, 4);
  await t.rejects(
    core.joinAgent({ gpus: [...gpus(1), ...gpus(1)] }),
    { message: /names a uuid twice/ },
    'no agent may say that it has one GPU twice',
  );
});

t.test('a GPU is held from start to end', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ gpus: gpus(1) });
  const holder = async () =>
    (await holds(core, agent.machineId)).map(({ worker_id, pod_id }) => worker_id ?? pod_id).join();
  const pods = podCalls(core.clients, core.key);
  const pod = await pods.create(L4_POD);
  t.equal(await holder(), pod.id);
  await pods.act('stopPod', pod.id);
  t.equal(await holder(), '', 'a pod that stands still has none');
  await pods.act('startPod', pod.id);
  t.equal(await holder(), pod.id);
  await pods.remove(pod.id);
  t.equal(await holder(), '');
  const flash = { flashBootType: FlashBootType.FLASHBOOT, workersMin: 0, idleTimeoutSeconds: 1, gpuIds: ['NVIDIA L4'] };
  const sleeping = await core.createEndpoint(flash);
  t.equal((await core.wait(sleeping, (await core.submit(sleeping)).id)).state, JobState.COMPLETED);
  const { workerId } = await waitFor('a frozen worker', () =>
    agent.desired.find(({ desired }) => desired === DesiredState.FREEZE),
  );
  t.equal(await holder(), workerId, 'a frozen worker keeps its own');
  const other = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMax: 1 });
  await core.ready(other);
  const next = (await core.sql<{ id: string }[]>`SELECT id FROM worker WHERE endpoint_id = ${other}`)[0]!.id;
  t.equal(await holder(), next, 'until another is given it');
  await core.sql`UPDATE machine SET gpus = '[]' WHERE id = ${agent.machineId}`;
  await core.updateEndpoint(other, { workersMin: 0, workersMax: 0 });
  await waitFor(
    'it to end',
    async () => (await core.sql`SELECT FROM worker WHERE id = ${next} AND ended_at IS NOT NULL`).length > 0,
  );
  t.equal(await holder(), '', 'its end gives back a GPU that the machine has no more');
});

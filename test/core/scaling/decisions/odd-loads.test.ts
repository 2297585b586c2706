// test: postgres, 10 s
/** Unusual loads and changes: each settles, and its explanations are true meanwhile. */
import t from 'tap';
import { Fleet } from '../../../fleet/fleet.ts';
import { checkMoment, checkReplays } from '../../../fleet/fleet-checks.ts';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { range } from '../../../helpers/many.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { SEED } from '../../../helpers/time/seeded-random.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const silent = { onAssignment: () => undefined };
const core = await startReplicas(t);
const { clients, key, sql } = core;
const parts = { addresses: () => core.replicas.map(({ address }) => address), clients, rootKey: core.rootKey, sql };
const why = async (endpointId: string, apiKey = key) =>
  (await call(clients.endpoints, 'explain', { endpointId }, apiKey)).explanation!;
const alive = async (endpointId: string) =>
  sql`SELECT * FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL`;

t.test('a machine that flaps every second: no worker starts twice, and every job ends', async (t) => {
  const fleet = new Fleet(parts, { seed: SEED, machines: 1, endpoints: 1, workers: 2, accounts: 1 });
  t.teardown(() => fleet.stop());
  const machine = fleet.addMachine('machineflaps', await fleet.newAgentKey(), ['NVIDIA A40', 'NVIDIA A40'], {
    crashShare: 0,
  });
  await waitFor('it', () => machine.connected);
  const owner = await fleet.newAccount('flaps');
  const endpoint = await fleet.createEndpoint(owner, {
    gpuIds: ['NVIDIA A40'],
    workersMax: 2,
    workersMin: 1,
    idleTimeoutSeconds: 60,
  });
  const ids: string[] = [];
  for (const _ of range(4)) {
    ids.push(...(await fleet.submit(range(4).map(() => endpoint))));
    machine.partition(400);
    const sinceMs = performance.now();
    await waitFor('a second', () => performance.now() - sinceMs > 1_000);
    t.notOk(
      (await why(endpoint.id, endpoint.key)).workers.some(({ state }) => state === 'CRASHED'),
      'no worker is said to have crashed',
    );
  }
  await waitFor(
    'all jobs',
    async () => (await sql`SELECT FROM job WHERE id = ANY(${ids}) AND state = 'COMPLETED'`).length === ids.length,
  );
  t.same([...fleet.faults, ...(await checkMoment(sql))], []);
  t.ok(machine.counts.started <= 2, `${machine.counts.started} workers`);
});

t.test('workersMax lowered below what runs', async (t) => {
  const agent = await core.joinAgent({ gpus: [], cpuSlots: 8, ...silent });
  const endpointId = await core.createEndpoint({
    computeType: 'CPU',
    workersMin: 0,
    workersMax: 6,
    scalerType: 2,
    scalerValue: 1,
  });
  await Promise.all(range(8).map(() => core.submit(endpointId)));
  await waitFor('six', () => agent.assignments.length === 6);
  await core.updateEndpoint(endpointId, { workersMax: 2 });
  await waitFor(
    'four to drain',
    async () => (await why(endpointId)).workers.filter(({ state }) => state === 'DRAINING').length === 4,
  );
  const summary =
    /^2 jobs wait and 6 run\. All 6 workers are busy or stopping; .* but workersMax is 2\. To change that: raise workersMax\.$/;
  t.match(await why(endpointId), { summary, limits: [{ limit: 'WORKERS_MAX', cut: 6 }] });
  for (const { ref } of [...agent.assignments]) agent.finish(ref!);
  await waitFor('the other two', () => agent.assignments.length === 8);
  t.equal((await alive(endpointId)).filter(({ desired }) => desired === 'RUN').length, 2);
  for (const { ref } of agent.assignments.slice(6)) agent.finish(ref!);
  await core.updateEndpoint(endpointId, { workersMax: 0 });
  await waitFor('zero', async () => (await alive(endpointId)).length === 0);
  agent.drop();
});

t.test('GPU types change while a worker is busy', async (t) => {
  const agent = await core.joinAgent({ gpus: [L4], ...silent });
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 0, workersMax: 1 });
  await core.submit(endpointId);
  await waitFor('it to run', () => agent.assignments.length === 1);
  await core.submit(endpointId);
  await core.updateEndpoint(endpointId, { gpuIds: ['NVIDIA H200'] });
  // Otherwise the previous version serves while no worker of this one comes up.
  await call(clients.endpoints, 'restartEndpoint', { id: endpointId, atOnce: true }, key);
  await waitFor('drain', async () => (await why(endpointId)).workers[0]?.state === 'DRAINING');
  t.match(
    (await why(endpointId)).summary,
    /^At least one job waits and one runs\. No worker can ever start: .* a GPU of NVIDIA H200/,
  );
  await core.updateEndpoint(endpointId, { gpuIds: ['NVIDIA L4'] });
  const taken = /^At least one job waits and one runs\. Its only worker is busy or stopping/;
  await waitFor('the cause as it is now', async () => taken.test((await why(endpointId)).summary));
  agent.finish(agent.assignments[0]!.ref!);
  await waitFor('the next', () => agent.assignments.length === 2);
  agent.finish(agent.assignments[1]!.ref!);
  await core.updateEndpoint(endpointId, { workersMax: 0 });
  await waitFor('zero', async () => (await alive(endpointId)).length === 0);
  agent.drop();
});

t.test('endpoints that are deleted while they scale', async (t) => {
  const agent = await core.joinAgent({ gpus: [], cpuSlots: 100 });
  await Promise.all(
    range(30).map(async () => {
      const id = await core.createEndpoint({
        computeType: 'CPU',
        workersMin: 0,
        workersMax: 3,
        scalerType: 2,
        scalerValue: 1,
      });
      await Promise.all(range(3).map(() => core.submit(id)));
      await core.updateEndpoint(id, { workersMax: 0 });
      await call(clients.endpoints, 'deleteEndpoint', { id }, key);
    }),
  );
  await waitFor('nothing', () => agent.desired.length === 0);
  t.same(await sql`SELECT w.id FROM worker w LEFT JOIN endpoint e ON e.id = w.endpoint_id WHERE e.id IS NULL`, []);
  t.same(
    await sql`SELECT s.endpoint_id FROM scale_decision s LEFT JOIN endpoint e ON e.id = s.endpoint_id
      WHERE e.id IS NULL`,
    [],
  );
  t.same(
    await sql`SELECT s.endpoint_id FROM scale_log s LEFT JOIN endpoint e ON e.id = s.endpoint_id WHERE e.id IS NULL`,
    [],
  );
  agent.drop();
});

t.test('each decision replays from its sample', async (t) => {
  t.same((await checkReplays(sql)).faults, []);
});

// test: postgres, 10 s
/**
 * One bad machine: an endpoint's workers crash there and run elsewhere. It is tried last and after a back-off, the
 * reason is shown, and one finished job clears it.
 */

import type { MachineCrashes } from '@slipway/core/domain/scaling/machine-crashes';
import { runsSomewhere, withCrashes } from '@slipway/core/domain/scaling/machine-crashes';
import { place } from '@slipway/core/domain/scaling/placement';
import type { WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { checkReplays } from '../../../fleet/fleet-checks.ts';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../../helpers/grpc/scripted-agent.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { CPU, crashed, machine } from './crash-fixtures.ts';

t.setTimeout(600_000);

t.test('placement after crashes', async (t) => {
  const [a, b, c] = [machine('a'), machine('b', 1), machine('c', 2)];
  const goes = (crashes: MachineCrashes[], machines = [a, b, c], up = false) => {
    const placed = place(withCrashes(machines, crashes, up), CPU);
    return 'machineId' in placed ? placed.machineId : placed.refusalByMachine;
  };
  t.equal(goes([]), 'a');
  t.equal(goes([crashed('a')]), 'b', 'elsewhere');
  t.equal(goes([crashed('a', 3), crashed('b', 2)]), 'c');
  t.equal(
    goes([crashed('a', 3), crashed('b', 2)], [a, b]),
    'b',
    'where nothing else is free there, fewest crashes first',
  );
  t.equal(goes([crashed('a', 1, 1_500), crashed('b', 2)], [a, b]), 'b', 'and nowhere before its pause is over');
  t.equal(
    goes([crashed('a', 1, 1_500)], [a]),
    'a: a worker of it crashed there (w, exit code 3); it is tried there again in 2 s',
  );
  const everywhere = [crashed('a'), crashed('b', 2), crashed('c', 3)];
  t.equal(goes(everywhere), 'a', 'what crashes on three machines is not moved on');
  t.equal(goes([...everywhere], [a, b, c, machine('d', 9)]), 'a');
  t.equal(goes([...everywhere], [a, b, c, machine('d', 9)], true), 'd', 'unless others of its workers run');
  const worker = (given: Partial<WorkerSample>) =>
    ({ state: 'READY', version: 1, failures: 0, ...given }) as WorkerSample;
  t.same(
    [{}, { failures: 1 }, { version: 0 }, { state: 'INITIALIZING' }].map((given) =>
      runsSomewhere([worker(given as Partial<WorkerSample>)], 1),
    ),
    [true, false, false, false],
  );
});

t.test('one bad GPU: the next worker of the machine gets another if there is one', async (t) => {
  const gpu = (uuid: string, given = {}) => ({
    uuid,
    name: 'NVIDIA L4',
    migProfile: '',
    used: false,
    standby: false,
    unhealthy: '',
    ...given,
  });
  const asked = (gpuCount: number) => ({ ...CPU, gpuIds: ['NVIDIA L4'], gpuCount });
  const goes = (gpus: ReturnType<typeof gpu>[], gpuUuids: string[] | undefined, gpuCount = 1) => {
    const placed = place(
      withCrashes([{ ...machine('a'), gpus }], [{ ...crashed('a'), ...(gpuUuids && { gpuUuids }) }], false),
      asked(gpuCount),
    );
    return 'machineId' in placed ? placed.gpuUuids.join() : placed.refusalByMachine;
  };
  const three = [gpu('g1'), gpu('g2'), gpu('g3')];
  t.equal(goes(three, undefined), 'g1', 'as decisions were that did not know');
  t.equal(goes(three, ['g1']), 'g2');
  t.equal(goes(three, ['g1', 'g2'], 2), 'g3,g1', 'what is needed beside');
  t.equal(goes([gpu('g1'), gpu('g2', { used: true })], ['g1']), 'g1', 'where there is no other');
  t.equal(goes([gpu('g1'), gpu('g2', { standby: true })], ['g1']), 'g1', 'no frozen worker goes for it');
});

t.test('a bad machine that ranks first otherwise, a good one, and the explanation', async (t) => {
  const core = await startReplicas(t);
  const gpu = (uuid: string, name: string, memoryMib = 24_576) => ({ uuid, name, memoryMib, migProfile: '' });
  const bad = await core.joinAgent({
    gpus: [gpu('GPU-1', 'NVIDIA L4'), gpu('GPU-2', 'NVIDIA L4')],
    startWorkers: false,
  });
  const good = await core.joinAgent({ gpus: [gpu('GPU-3', 'NVIDIA A40', 46_068)] });
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4', 'NVIDIA A40'], workersMin: 0, workersMax: 2 });
  const crash = (agent: ScriptedAgent, workerId: string): void =>
    agent.send({
      workers: [
        {
          workerId,
          endpointId,
          state: WorkerState.UNHEALTHY,
          reason: 'The worker ended with exit code 3. Its last lines:\nsecret: no driver',
          exitCode: 3,
        },
      ],
    });
  const machines = async (key: string) =>
    (await call(core.clients.endpoints, 'explain', { endpointId }, key)).explanation!.machines;
  const startedOn = (agent: ScriptedAgent, but: string[] = []) =>
    waitFor('a worker there', () => agent.desired.map(({ workerId }) => workerId).find((id) => !but.includes(id)));

  const { id } = await core.submit(endpointId);
  const first = await startedOn(bad);
  crash(bad, first);
  t.equal(
    (await core.wait(endpointId, id)).state,
    JobState.COMPLETED,
    'the next start is elsewhere, though the preferred GPU is free',
  );
  t.equal(good.desired.length, 1);
  const [blamed] = (await machines(core.rootKey)).filter(({ name }) => name === bad.machineId);
  t.match(blamed, {
    fits: true,
    reason: `it could take one more now, after all others: a worker of it crashed there (${first}, exit code 3)`,
  });

  // One more worker is wanted, and only the bad machine has capacity.
  await core.updateEndpoint(endpointId, { workersMin: 2 });
  const second = await startedOn(bad, [first]);
  const row = async (workerId: string) => (await core.sql`SELECT failures FROM worker WHERE id = ${workerId}`)[0]!;
  t.equal((await row(second)).failures, 1, 'it goes on with the series there');
  const gpusOf = async (workerId: string) =>
    (await core.sql`SELECT gpu_uuids FROM worker WHERE id = ${workerId}`)[0]!.gpu_uuids as string[];
  t.not((await gpusOf(second))[0], (await gpusOf(first))[0], 'on another GPU');
  // Late in a series, so that its back-off is long enough to observe.
  await core.sql`UPDATE worker SET failures = 5 WHERE id = ${second}`;
  crash(bad, second);
  const refused = await waitFor('the pause', async () =>
    (await machines(core.rootKey)).find(({ refusedBy }) => refusedBy === 'CRASHES'),
  );
  t.match(refused, {
    name: bad.machineId,
    change: /if its workers run elsewhere/,
    reason: new RegExp(
      `^6 of its workers in a row crashed, the last one there \\(${second}, exit code 3\\); it is tried there ` +
        'again in [1-3]?\\d s$',
    ),
  });
  t.notMatch(
    JSON.stringify(await machines(core.key)),
    new RegExp(`${bad.machineId}|${second}`),
    "machines are the operator's",
  );
  t.equal(
    (await core.sql`SELECT FROM worker WHERE machine_id = ${bad.machineId}`).length,
    2,
    'none starts there meanwhile',
  );
  await core.sql`UPDATE worker SET retry_at = now() WHERE id = ${second}`;
  const third = await startedOn(bad, [first, second]);
  t.equal((await row(third)).failures, 6);

  // A finished job ends the series.
  bad.ready([{ workerId: third, endpointId }]);
  await core.ready(endpointId, 2);
  const jobs = await Promise.all(Array.from({ length: 6 }, () => core.submit(endpointId)));
  for (const job of jobs) t.equal((await core.wait(endpointId, job.id)).state, JobState.COMPLETED);
  await waitFor('it to be forgiven', async () => (await row(third)).failures === 0);
  t.notMatch((await machines(core.rootKey)).map(({ reason }) => reason).join(), /crashed/);
  const logged = await core.sql`SELECT refusal_by_machine FROM scale_decision`;
  t.notMatch(JSON.stringify(logged), /secret/, 'no line of a worker goes to the log');
  const { decisions, faults } = await checkReplays(core.sql as never);
  t.ok(decisions >= 3);
  t.same(faults, [], 'and each decision is the same again from its sample');
});

t.test('scarce GPUs: an endpoint whose workers crash reserves none during its back-off', async (t) => {
  const core = await startReplicas(t);
  const T4 = 'Tesla T4';
  const agent = await core.joinAgent({
    startWorkers: false,
    gpus: [1, 2, 3].map((n) => ({ uuid: `GPU-T${n}`, name: T4, memoryMib: 15_360, migProfile: '' })),
  });
  const heavy = await core.newAccount('heavy');
  const quota = { workers: undefined, gpus: undefined, queuedJobs: undefined, requests: undefined, gpuWeight: 10 };
  await call(core.clients.access, 'setQuota', { accountId: heavy, quota }, core.rootKey);
  const key = await core.newKey(undefined, [], heavy);
  const fields = { gpuIds: [T4], workersMin: 1, workersMax: 2 };
  const crashing = await core.createEndpoint(fields, key);
  const workersOf = (id: string) =>
    core.sql<{ id: string }[]>`SELECT id FROM worker WHERE endpoint_id = ${id} AND ended_at IS NULL`;
  const [first] = await waitFor('its worker', async () => {
    const rows = await workersOf(crashing);
    return rows.length === 1 && rows;
  });
  await waitFor('its machine to be told', () => agent.desired.some(({ workerId }) => workerId === first!.id));
  // Late in a series, so that its back-off is long.
  await core.sql`UPDATE worker SET failures = 8 WHERE id = ${first!.id}`;
  agent.send({
    workers: [{ workerId: first!.id, endpointId: crashing, state: WorkerState.UNHEALTHY, reason: 'boom' }],
  });
  await waitFor(
    'the crash',
    async () => (await core.sql`SELECT FROM worker WHERE id = ${first!.id} AND state = 'UNHEALTHY'`).length === 1,
  );
  await call(
    core.clients.endpoints,
    'updateEndpoint',
    { endpoint: Endpoint.fromPartial({ id: crashing, workersMin: 2 }), updateMask: ['workers_min'] },
    key,
  );
  await waitFor(
    'the next to wait for the pause',
    async () =>
      (await core.sql`SELECT FROM scale_decision WHERE endpoint_id = ${crashing} AND throttled = 1`).length === 1,
  );
  const other = await core.createEndpoint({ ...fields, workersMin: 2 });
  await waitFor('both workers of the other', async () => (await workersOf(other)).length === 2);
  t.equal((await workersOf(crashing)).length, 1);
  await core.updateEndpoint(other, { workersMin: 0, workersMax: 0 });
});

t.test(
  'the only GPU: after a crash another endpoint gets it, and the crashed one is retried when it is free',
  async (t) => {
    const core = await startReplicas(t);
    const agent = await core.joinAgent({
      startWorkers: false,
      gpus: [{ uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' }],
    });
    const fields = { gpuIds: ['NVIDIA L4'], workersMax: 1 };
    const told = (endpointId: string, but = '') =>
      waitFor(
        'its machine to be told of a worker',
        () => agent.desired.find((worker) => worker.endpointId === endpointId && worker.workerId !== but)?.workerId,
      );
    const held = () => core.sql`SELECT worker_id FROM gpu_hold`;
    const crashing = await core.createEndpoint({ ...fields, workersMin: 1 });
    const first = await told(crashing);
    const other = await core.createEndpoint({ ...fields, workersMin: 0 });
    const { id } = await core.submit(other);
    const throttled = (endpointId: string) =>
      waitFor(
        'it to wait for the GPU',
        async () =>
          (await core.sql`SELECT FROM scale_decision WHERE endpoint_id = ${endpointId} AND throttled = 1`).length === 1,
      );
    await throttled(other);
    agent.send({ workers: [{ workerId: first, endpointId: crashing, state: WorkerState.UNHEALTHY, reason: 'boom' }] });
    const second = await told(other);
    t.same(await held(), [{ worker_id: second }]);
    await core.sql`UPDATE worker SET retry_at = now() WHERE id = ${first}`;
    await throttled(crashing);
    t.same(await held(), [{ worker_id: second }], 'its next try waits, as any other');
    agent.ready([{ workerId: second, endpointId: other }]);
    t.equal((await core.wait(other, id)).state, JobState.COMPLETED);
    await core.updateEndpoint(other, { workersMin: 0, workersMax: 0 });
    await waitFor('it to be told to go', () =>
      agent.desired.every(({ workerId, desired }) => workerId !== second || desired !== DesiredState.RUN),
    );
    agent.send({ workers: [{ workerId: second, endpointId: other, state: WorkerState.STOPPED }] });
    const third = await told(crashing, first);
    t.same(await held(), [{ worker_id: third }]);
  },
);

t.test('crashes of other versions or long ago do not count; recent ones outlive pruned rows', async (t) => {
  const core = await startReplicas(t);
  const bad = await core.joinAgent({ startWorkers: false, cpuSlots: 30 });
  const endpointId = await core.createEndpoint({ workersMin: 1, workersMax: 1 });
  const first = await waitFor('a worker', () => bad.desired[0]?.workerId);
  bad.send({ workers: [{ workerId: first, endpointId, state: WorkerState.UNHEALTHY, reason: 'boom' }] });
  const next = await waitFor('the next', () => bad.desired.find(({ workerId }) => workerId !== first)?.workerId);
  const explained = async () =>
    (await call(core.clients.endpoints, 'explain', { endpointId }, core.rootKey)).explanation!.machines[0]!.reason;
  t.match(await explained(), /crashed there/);
  await core.sql`
    INSERT INTO worker (id, endpoint_id, machine_id, version, state, desired, ended_at, failures)
    SELECT 'old' || n, ${endpointId}, ${bad.machineId}, 0, 'STOPPED', 'DRAIN', now() + interval '1 s', 1
      FROM generate_series(1, 40) n`;
  // Every change of workers prunes surplus rows.
  bad.send({ workers: [{ workerId: next, endpointId, state: WorkerState.UNHEALTHY, reason: 'boom' }] });
  await waitFor(
    'the rows that are too many to go',
    async () => (await core.sql`SELECT FROM worker WHERE id LIKE 'old%'`).length <= 20,
  );
  t.match(await explained(), /crashed/, 'crashes are not among them');
  await core.sql`UPDATE worker SET retry_at = retry_at - interval '61 min', ended_at = now()
    WHERE endpoint_id = ${endpointId} AND state = 'UNHEALTHY'`;
  await waitFor('an hour to be enough', async () => !/crashed/.test(await explained()));
  await core.sql`UPDATE worker SET retry_at = now() WHERE id = ${next}`;
  t.match(await explained(), /crashed/);
  await call(core.clients.endpoints, 'restartEndpoint', { id: endpointId }, core.key);
  await waitFor('the new version', async () => !/crashed/.test(await explained()));
});

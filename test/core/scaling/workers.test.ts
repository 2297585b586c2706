// test: postgres, 40 s
/** Workers start, stop, crash and are replaced: real database, scripted agent. */

import { WorkerStore } from '@slipway/core/store/machines/worker-store';
import { PLACEMENT_LOCK } from '@slipway/core/store/scaling/standby-rows';
import type { Database } from '@slipway/core/store/sql/database';
import { Sealer } from '@slipway/kit/host/seal';
import type { Clock } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const silent = { onAssignment: () => undefined };
const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };

const workersOf = async (core: CoreReplicas, endpointId: string) =>
  (await call(core.clients.machines, 'listWorkers', { endpointId }, core.key)).workers;
const rowsOf = (core: CoreReplicas, endpointId: string) =>
  core.sql`SELECT * FROM worker WHERE endpoint_id = ${endpointId} ORDER BY created_at`;
const idsOf = (agent: { desired: { workerId: string }[] }): string[] => agent.desired.map((worker) => worker.workerId);

t.test('from zero: the first job starts a worker, and idleTimeout ends it', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 0, idleTimeoutSeconds: 1 });
  for (let round = 1; round <= 2; round += 1) {
    const { id } = await core.submit(endpointId);
    t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
    await waitFor('the worker to go', () => agent.desired.length === 0);
  }
  t.match((await rowsOf(core, endpointId))[0], { state: 'STOPPED', desired: 'DRAIN' }, 'it stays readable');
  const { workers, recent } = await call(core.clients.machines, 'listWorkers', { endpointId }, core.key);
  t.same(workers, [], 'and is no longer listed');
  const times = recent.map(({ createTime, readyTime, busy, endTime }) => [
    createTime,
    readyTime,
    busy[0]?.beginTime,
    busy.at(-1)?.endTime,
    endTime,
  ]);
  t.equal(times.length, 2, 'but among the recent ones');
  for (const of of times)
    t.same(
      of.map(Number),
      of.map(Number).toSorted((a, b) => a - b),
      'made, ready, busy, idle, ended',
    );
  t.same(
    (await call(core.clients.machines, 'listWorkers', { endpointId: '' }, core.rootKey)).recent,
    [],
    'of one endpoint only',
  );
});

t.test('busy periods of a worker: short pauses are joined, and the latest periods are kept', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 1 });
  const [{ id }] = await waitFor('a worker', async () => {
    const [worker] = await workersOf(core, endpointId);
    return worker?.state === WorkerState.READY ? ([worker] as const) : undefined;
  });
  const store = new WorkerStore({ sql: core.sql } as unknown as Database, new Sealer('0'.repeat(64)));
  const later = (seconds: number) => core.sql`
    UPDATE worker SET busy_times = ARRAY(SELECT at - ${seconds}::int * interval '1 s' FROM unnest(busy_times) AS at)
      WHERE id = ${id}`;
  const busy = async () => (await workersOf(core, endpointId))[0]!.busy;
  for (const pauseSeconds of [1, 3]) {
    await store.touch([id], [], [id]);
    await later(pauseSeconds);
  }
  const [short, ...more] = await busy();
  t.same(more, [], 'a pause of a second');
  await store.touch([id], [], []);
  await later(60);
  await store.touch([id], [], [id]);
  const [long, ...others] = await busy();
  t.same(others, [], 'a job of a minute');
  t.equal(
    Number(long!.beginTime),
    Number(short!.beginTime) - 60_000,
    'it began when the short ones did, a minute earlier by now',
  );
  t.ok(Number(long!.endTime) - Number(long!.beginTime) >= 64_000, 'and ended after all of them');
  for (let round = 0; round < 30; round += 1) {
    await later(10);
    await store.touch([id], [], [id]);
  }
  t.equal((await busy()).length, 24);
  t.ok(
    (await busy()).every(({ beginTime, endTime }) => endTime! >= beginTime!),
    'whole ones',
  );
});

t.test('a first job waits for no timer', async (t) => {
  // On this clock, periods of loops (about a second) never end during the test.
  const clock: Clock = {
    ...systemClock,
    after: (ms, fn) => systemClock.after(ms >= 900 && ms <= 2_200 ? 120_000 : ms, fn),
  };
  const core = await startReplicas(t, 1, {}, { clock });
  await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  const { id } = await core.submit(endpointId);
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
});

t.test('a first job does not wait for the resync', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  await core.sql.begin(async (sql) => {
    // Only the resync reads this table. Locking it stops the resync, and no single evaluation.
    await sql`LOCK TABLE endpoint_demand IN ACCESS EXCLUSIVE MODE`;
    const waiting = () => sql`SELECT FROM pg_locks WHERE relation = 'endpoint_demand'::regclass AND NOT granted`;
    await waitFor('the look to stand still', async () => (await waiting()).length > 0);
    await core.submit(endpointId);
    await waitFor(
      'its worker',
      async () => (await sql`SELECT FROM worker WHERE endpoint_id = ${endpointId}`).length === 1,
    );
  });
});

t.test('a low-priority job starts no worker', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  const low = await core.submit(endpointId, {}, true);
  t.equal((await core.wait(endpointId, low.id, 1_500)).state, JobState.IN_QUEUE);
  const normal = await core.submit(endpointId);
  t.equal((await core.wait(endpointId, normal.id)).state, JobState.COMPLETED, 'a normal one does');
  t.equal((await core.wait(endpointId, low.id)).state, JobState.COMPLETED, 'and then it is served too');
});

t.test('a busy worker is never idle, and finishes when the endpoint scales to zero', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(silent);
  const endpointId = await core.createEndpoint({ workersMin: 0, idleTimeoutSeconds: 1 });
  const { id } = await core.submit(endpointId);
  await waitFor('it to run', () => agent.assignments.length === 1);
  t.equal((await core.wait(endpointId, id, 2_500)).state, JobState.IN_PROGRESS);
  t.match(agent.desired, [{ desired: DesiredState.RUN }]);
  t.match(
    (await workersOf(core, endpointId)).map(({ busy }) => busy.map(({ endTime }) => endTime)),
    [[undefined]],
    'it is busy, and that goes on',
  );
  await core.updateEndpoint(endpointId, { workersMax: 0 });
  await waitFor('the drain', () => agent.desired[0]?.desired === DesiredState.DRAIN);
  const second = await core.submit(endpointId);
  t.equal((await core.wait(endpointId, second.id, 1_000)).state, JobState.IN_QUEUE, 'a draining worker gets nothing');
  agent.finish(agent.assignments[0]!.ref!);
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
  await waitFor('the worker to go', () => agent.desired.length === 0);
});

t.test(
  'a crash: retried at once, then with a growing back-off; the row has the reason; a finished job ends the series',
  async (t) => {
    const core = await startReplicas(t);
    const agent = await core.joinAgent();
    const endpointId = await core.createEndpoint();
    await core.ready(endpointId);
    const crash = (workerId: string): void =>
      agent.send({ workers: [{ workerId, endpointId, state: WorkerState.UNHEALTHY, reason: 'boom', exitCode: 3 }] });
    const [first] = idsOf(agent);
    crash(first!);
    const [second] = await waitFor('a new worker', () =>
      agent.desired.length === 1 && idsOf(agent)[0] !== first ? idsOf(agent) : undefined,
    );
    const lists = await call(core.clients.machines, 'listWorkers', { endpointId }, core.key);
    t.same(
      lists.workers.map(({ id }) => id),
      [second],
      'what has ended is no worker',
    );
    const words = { sentence: 'boom', lastLine: 'boom', reason: 'boom' };
    t.match(
      lists.ended,
      [{ endpointId, count: 1, exitCode: 3, ...words, lastWorkerId: first, lastEndTime: Date }],
      'but told',
    );
    await core.ready(endpointId);
    const [before] = await core.sql`SELECT now()::text AS crash`;
    crash(second!);
    const [third] = await waitFor('the next', () =>
      agent.desired.length === 1 && idsOf(agent)[0] !== second ? idsOf(agent) : undefined,
    );
    const [row] = await core.sql`
    SELECT second.failures, second.retry_at >= ${before!.crash}::timestamptz + interval '1 s' AS paused,
      third.created_at >= second.retry_at AS waited
    FROM worker second, worker third WHERE second.id = ${second!} AND third.id = ${third!}`;
    t.same(row, { failures: 2, paused: true, waited: true }, 'it keeps its place for a second');
    const { recent } = await call(core.clients.machines, 'listWorkers', { endpointId }, core.key);
    const { crashTime, retryTime, endTime } = recent.find(({ id }) => id === second)!;
    t.ok(crashTime! < retryTime! && retryTime! <= endTime!, 'it tells its exit apart from the end of the pause');
    const failuresOf = async (id: string) =>
      (await core.sql`SELECT failures FROM worker WHERE id = ${id}`)[0]!.failures as number;
    t.equal(await failuresOf(third!), 2, 'its successor carries the crashes');
    await core.ready(endpointId);
    await core.wait(endpointId, (await core.submit(endpointId)).id);
    await waitFor('the series to end', async () => (await failuresOf(third!)) === 0);
  },
);

t.test('a worker that crashes just when it is drained has ended, and its GPU is free', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ gpus: [L4] });
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 0, idleTimeoutSeconds: 1 });
  await core.wait(endpointId, (await core.submit(endpointId)).id);
  const [workerId] = idsOf(agent);
  const row = async () => (await rowsOf(core, endpointId))[0]!;
  await core.sql.begin(async (sql) => {
    await sql`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK})`;
    const waiting = () => sql`
      SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database
        WHERE datname = current_database())`;
    await waitFor('its drain to wait for the lock', async () => (await waiting()).length > 0);
    agent.send({
      workers: [{ workerId: workerId!, endpointId, state: WorkerState.UNHEALTHY, reason: 'boom', exitCode: 3 }],
    });
    await waitFor('the crash to be written', async () => (await row()).state === 'UNHEALTHY');
    t.match(await row(), { desired: 'RUN', ended_at: null }, 'nobody has told it to go yet');
  });
  await waitFor('its end', async () => (await row()).ended_at !== null);
  t.same(await core.sql`SELECT FROM gpu_hold`, []);
});

t.test(
  'a worker that dies with a job: the attempt is lost at once when its agent says so, soon when it only ' +
    'reports the death',
  async (t) => {
    const core = await startReplicas(t);
    const agent = await core.joinAgent(silent);
    const endpointId = await core.createEndpoint({ retryLimit: 1 });
    await core.ready(endpointId);
    const { id } = await core.submit(endpointId);
    const [assigned] = await waitFor('it to run', () =>
      agent.assignments.length === 1 ? agent.assignments : undefined,
    );
    agent.send({
      workers: [{ workerId: assigned!.ref!.workerId, endpointId, state: WorkerState.UNHEALTHY, reason: 'killed' }],
    });
    const again = await waitFor('the second attempt', () => agent.assignments[1]);
    t.match(again.ref, { jobId: id, attempt: 2 });
    agent.send({
      workers: [{ workerId: again.ref!.workerId, endpointId, state: WorkerState.UNHEALTHY, reason: 'killed again' }],
    });
    t.match(
      await core.wait(endpointId, id),
      { state: JobState.FAILED, error: /killed again/, retries: 1 },
      'the true cause at the limit',
    );
  },
);

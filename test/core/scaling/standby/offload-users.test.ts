// test: postgres, 30 s
/**
 * Offload in core besides jobs that need a GPU: pods, the operator, time, and GPU memory that is not known yet. A real
 * database, scripted agents.
 */

import { FlashBootStandby } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { OffloadFailure, StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { CAN, FLASH, GB, holder, L4, living, pod, rows, run, standby } from './offload-rows.ts';

t.setTimeout(600_000);

t.test('the operator suspends and resumes a worker', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(CAN);
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 1, workersMax: 1 });
  await core.ready(endpointId);
  const [worker] = await rows(core, endpointId);
  const ask = (rpc: 'suspendWorker' | 'resumeWorker', key = core.rootKey) =>
    call(core.clients.machines, rpc, { workerId: worker!.id }, key);
  t.match(await reasonOf(ask('resumeWorker')), /IN_USE/);
  t.match(await reasonOf(ask('suspendWorker', core.key)), /UNAUTHORIZED/);
  t.match((await ask('suspendWorker')).worker, { id: worker!.id, suspended: true });
  t.ok(await ask('suspendWorker'), 'idempotent');
  await standby(core, endpointId, 'HOST');
  t.same(await holder(core), [worker!.id], 'nothing is placed there');
  t.match(await reasonOf(podCalls(core.clients, core.key).create(pod)), /NO_CAPACITY/);
  const { id } = await core.submit(endpointId);
  t.match((await ask('resumeWorker')).worker, { suspended: false });
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
  t.same(agent.moves.conflicts, []);
});

t.test('after an hour on the GPU a worker goes to host memory, and stays there', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(CAN);
  const endpointId = await core.createEndpoint(FLASH);
  const other = await core.createEndpoint({ ...FLASH, flashBootStandby: FlashBootStandby.GPU });
  const age = () => core.sql`UPDATE worker SET desired_at = now() - interval '2 h', busy_at = now() - interval '2 h'`;
  await run(core, endpointId);
  await standby(core, endpointId, 'GPU');
  await age();
  const { id } = await standby(core, endpointId, 'HOST');
  await run(core, other);
  await standby(core, other, 'GPU');
  await age();
  await waitFor('the other to end', async () => (await living(core, other)).length === 0);
  t.match(await living(core, endpointId), [{ id, reached: 'HOST' }], 'kept while host memory allows');
  // It must not be on standby again before it is asked for.
  await core.sql`UPDATE endpoint SET idle_timeout_seconds = 600 WHERE id = ${endpointId}`;
  await run(core, endpointId);
  const { explanation } = await call(core.clients.endpoints, 'explain', { endpointId }, core.key);
  t.match(explanation!.workers, [{ id, reason: /resumed from host memory: 10\.0 GB in 2\.4 s/ }]);
  t.same(agent.moves.conflicts, []);
});

t.test('a worker in host memory counts as any on standby: in metering, quotas, workersMax and health', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent(CAN);
  const quota = { workers: 1, gpus: 1, queuedJobs: undefined, requests: undefined, gpuWeight: undefined };
  await call(core.clients.access, 'setQuota', { accountId: core.accountId, quota }, core.rootKey);
  const host = { ...FLASH, flashBootStandby: FlashBootStandby.HOST, workersMax: 1 };
  const [first, second] = [await core.createEndpoint(host), await core.createEndpoint(host)];
  await run(core, first);
  const { id } = await standby(core, first, 'HOST');
  t.same(await core.sql`SELECT ended_at IS NULL AS open FROM usage_span WHERE subject_id = ${id}`, [{ open: false }]);
  const { workers } = await call(core.clients.jobs, 'getHealth', { endpointId: first }, core.key);
  t.match(workers, { standby: 1, idle: 0, ready: 0, running: 0, initializing: 0, throttled: 0 });
  await run(core, second);
  await standby(core, second, 'HOST');
  await run(core, first);
  t.equal((await rows(core, first)).length, 1, 'the quota of one worker had a place for each, in turn');
});

t.test('a pod takes the GPU of an idle worker that runs, of no other', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ ...CAN, onAssignment: () => undefined });
  const endpointId = await core.createEndpoint({ ...FLASH, idleTimeoutSeconds: 600, workersMin: 1 });
  const pods = podCalls(core.clients, core.key);
  await core.ready(endpointId);
  t.match(await reasonOf(pods.create(pod)), /NO_CAPACITY/, 'workersMin holds');
  const { id: jobId } = await core.submit(endpointId);
  const { ref } = await waitFor('the job', () => agent.assignments[0]);
  await core.updateEndpoint(endpointId, { workersMin: 0 });
  t.match(await reasonOf(pods.create(pod)), /NO_CAPACITY/, 'nor does a pod wait for jobs');
  agent.finish(ref!);
  t.equal((await core.wait(endpointId, jobId)).state, JobState.COMPLETED);
  const [worker] = await living(core, endpointId);
  t.match(worker, { desired: 'RUN', state: 'READY' });
  await core.updateEndpoint(endpointId, { flashBootStandby: FlashBootStandby.GPU });
  t.match(await reasonOf(pods.create(pod)), /NO_CAPACITY/, 'GPU: it is never offloaded');
  await core.updateEndpoint(endpointId, { flashBootStandby: FlashBootStandby.AUTO });
  const { id } = await pods.create(pod);
  t.same(await holder(core), [id]);
  t.match(await standby(core, endpointId, 'HOST'), { id: worker!.id });
  await waitFor('the pod to start', () => agent.desiredPods.some(({ running }) => running));
  t.same(agent.moves.conflicts, []);
  await pods.remove(id);
  await core.submit(endpointId);
  await waitFor('it to be back', async () => (await living(core, endpointId))[0]?.state === 'READY');
  t.equal((await rows(core, endpointId)).length, 1);
});

t.test('a worker that is in host memory against the wish to keep it on its GPU gives the GPU up', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(CAN);
  const host = { ...FLASH, flashBootStandby: FlashBootStandby.HOST };
  const [first, second] = [await core.createEndpoint(host), await core.createEndpoint(FLASH)];
  await run(core, first);
  const { id } = await standby(core, first, 'HOST');
  // Its agent was away while it was resumed and frozen again.
  await core.sql`UPDATE worker SET standby_level = 'GPU', standby_reached = '', state = 'READY' WHERE id = ${id}`;
  t.same(await holder(core), [id]);
  const move = { bytes: 10 * GB, durationMs: 5_301 };
  const there = { state: WorkerState.FROZEN, standbyLevel: StandbyLevel.HOST, lastOffload: move };
  agent.send({ workers: [{ workerId: id, endpointId: first, ...there }] });
  await standby(core, first, 'HOST');
  t.same(await holder(core), [], 'it has left its GPU');
  await run(core, second);
  await run(core, first);
  t.equal((await rows(core, first)).length, 1);
  t.same(agent.moves.conflicts, []);
});

t.test('GPU memory that is not known yet: the agent decides, and the budget holds', async (t) => {
  const core = await startReplicas(t);
  let failure: OffloadFailure | undefined = OffloadFailure.NOT_ENOUGH_HOST_MEMORY;
  const agent = await core.joinAgent({ ...CAN, gpuBytes: 0, onMove: async () => failure });
  const [first, second] = [await core.createEndpoint(FLASH), await core.createEndpoint(FLASH)];
  await run(core, first);
  const [one] = await rows(core, first);
  await run(core, second);
  t.match(await core.sql`SELECT state, offload_failure FROM worker WHERE id = ${one!.id}`, [
    { state: 'UNHEALTHY', offload_failure: 'NOT_ENOUGH_HOST_MEMORY' },
  ]);
  failure = undefined;
  await run(core, first);
  await standby(core, second, 'HOST');
  t.same(agent.moves.conflicts, []);
});

t.test('SLIPWAY_STANDBY_SECONDS: how long a worker keeps its memory on the GPU', async (t) => {
  const core = await startReplicas(t, 1, { SLIPWAY_STANDBY_SECONDS: '2' });
  const agent = await core.joinAgent({ ...CAN, gpus: [L4, { ...L4, uuid: 'GPU-2' }] });
  const goes = await core.createEndpoint(FLASH);
  const ends = await core.createEndpoint({ ...FLASH, flashBootStandby: FlashBootStandby.GPU });
  await run(core, goes);
  const { id } = await standby(core, goes, 'GPU');
  await run(core, ends);
  t.equal((await standby(core, goes, 'HOST')).id, id, 'nobody else needs its GPU');
  await waitFor('the other to end', async () => (await living(core, ends)).length === 0);
  t.same(await holder(core), []);
  t.match(await living(core, goes), [{ id, reached: 'HOST' }], 'in host memory it stays');
  await run(core, goes);
  t.equal((await rows(core, goes)).length, 1);
  t.same(agent.moves.conflicts, []);
});

// test: postgres, 30 s
/**
 * Offload of standby workers in core: who leaves a GPU for whom, reservation before restore, budget and failures. A
 * real database, scripted agents.
 */

import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { FlashBootStandby } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { OffloadFailure, StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../../helpers/grpc/scripted-agent.ts';
import { podCalls } from '../../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { readMetrics, valueOf } from '../../../helpers/system/metrics.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { CAN, FLASH, GB, holder, L4, living, pod, rows, run, standby } from './offload-rows.ts';

t.setTimeout(600_000);

t.test('two endpoints share a card: each keeps its worker, and none starts twice', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(CAN);
  const [first, second] = [await core.createEndpoint(FLASH), await core.createEndpoint(FLASH)];
  for (let round = 0; round < 3; round += 1) {
    await run(core, first);
    await run(core, second);
  }
  const [[one, ...none], [two, ...nobody]] = [await rows(core, first), await rows(core, second)];
  t.same([none, nobody], [[], []], 'no cold start after the first');
  t.match(await standby(core, first, 'HOST'), { id: one!.id });
  await standby(core, second, 'GPU');
  t.same(await holder(core), [two!.id], 'the card belongs to one');
  t.same(agent.moves.conflicts, []);
  const { workers } = await call(core.clients.machines, 'listWorkers', { endpointId: first }, core.key);
  t.match(workers, [
    {
      state: WorkerState.FROZEN,
      standbyLevel: StandbyLevel.HOST,
      gpuMemoryBytes: 10 * GB,
      lastOffload: { bytes: 10 * GB, durationMs: 5_300 },
      lastRestore: { bytes: 10 * GB, durationMs: 2_400 },
      suspended: false,
    },
  ]);
  const { status } = await call(core.clients.machines, 'getMachine', { id: agent.machineId }, core.rootKey);
  t.match(status!.machine!.gpuOffload, { supported: true, standbyMemoryUsedBytes: 10 * GB });
  await podCalls(core.clients, core.key).create(pod);
  await standby(core, second, 'HOST');
  await waitFor('the pod to start', () => agent.desiredPods.some(({ running }) => running));
  t.same(agent.moves.conflicts, []);
});

t.test('who restores has the GPU first, and waits until the other has left it', async (t) => {
  const core = await startReplicas(t);
  let leave: () => void = () => undefined;
  const left = new Promise<void>((resolve) => (leave = resolve));
  let held = '';
  const agent = await core.joinAgent({
    ...CAN,
    onMove: async (move, workerId) => {
      if (move === 'OFFLOAD' && workerId === held) await left;
      return undefined;
    },
  });
  const [first, second] = [await core.createEndpoint(FLASH), await core.createEndpoint(FLASH)];
  await run(core, first);
  await run(core, second);
  const [one] = await rows(core, first);
  held = (await standby(core, second, 'GPU')).id;
  const { id } = await core.submit(first);
  await waitFor('the second to be asked to leave', () =>
    agent.desired.some(({ workerId, standbyLevel }) => workerId === held && standbyLevel === StandbyLevel.HOST),
  );
  t.same(await holder(core), [one!.id], 'the GPU is reserved');
  const asked = () => agent.desired.find(({ workerId }) => workerId === one!.id);
  t.match(asked(), { desired: DesiredState.FREEZE, standbyLevel: StandbyLevel.HOST }, 'and not used yet');
  leave();
  t.equal((await core.wait(first, id)).state, JobState.COMPLETED);
  t.same(agent.moves.conflicts, []);
  t.equal((await rows(core, first)).length, 1);
});

t.test('an idle worker makes way at once: no idle timeout delays the job of another endpoint', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(CAN);
  const patient = { ...FLASH, idleTimeoutSeconds: 600 };
  const [first, second] = [await core.createEndpoint(patient), await core.createEndpoint(patient)];
  await run(core, first);
  const [worker] = await living(core, first);
  t.match(worker, { desired: 'RUN', state: 'READY' }, 'idle, and far from its timeout');
  await run(core, second);
  t.match(await standby(core, first, 'HOST'), { id: worker!.id });
  await run(core, first);
  t.equal((await rows(core, first)).length, 1);
  const request = { endpointId: first, pageSize: 100, beforeId: 0 };
  const { decisions } = await call(core.clients.endpoints, 'listDecisions', request, core.key);
  const kinds = new Set(decisions.flatMap(({ actions }) => actions.map(({ kind }) => kind)));
  t.ok(kinds.has('OFFLOAD') && kinds.has('RESTORE'), `its decisions name them: ${[...kinds].join()}`);
  t.same(agent.moves.conflicts, []);
});

t.test('a failed move ends the worker, and its jobs go to a new one', async (t) => {
  const core = await startReplicas(t);
  const failures = new Map<string, OffloadFailure>([['RESTORE', OffloadFailure.NOT_ENOUGH_GPU_MEMORY]]);
  await core.joinAgent({ ...CAN, onMove: (move) => Promise.resolve(failures.get(move)) });
  const [first, second] = [await core.createEndpoint(FLASH), await core.createEndpoint(FLASH)];
  await run(core, first);
  await run(core, second);
  await standby(core, first, 'HOST');
  await run(core, first);
  const [one, another] = await core.sql`
    SELECT state, offload_failure FROM worker WHERE endpoint_id = ${first} ORDER BY created_at`;
  t.match(one, { state: 'UNHEALTHY', offload_failure: 'NOT_ENOUGH_GPU_MEMORY' });
  t.ok(another, 'a new one did the job');
  failures.set('OFFLOAD', OffloadFailure.TIMED_OUT);
  await run(core, second);
  await waitFor('the one that could not leave to be gone', async () =>
    (await rows(core, first)).every(({ ended }) => ended),
  );
});

t.test('GPU: never offloaded; HOST: at once; a full budget evicts the longest offloaded', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ ...CAN, offload: { standbyMemoryBytes: 15 * GB } });
  const stays = await core.createEndpoint({ ...FLASH, flashBootStandby: FlashBootStandby.GPU });
  await run(core, stays);
  await standby(core, stays, 'GPU');
  const goes = await core.createEndpoint({ ...FLASH, flashBootStandby: FlashBootStandby.HOST });
  await run(core, goes);
  await waitFor('it to end for another', async () => (await living(core, stays)).length === 0);
  await standby(core, goes, 'HOST');
  t.same(await holder(core), [], 'nobody needs the GPU');
  const next = await core.createEndpoint({ ...FLASH, flashBootStandby: FlashBootStandby.HOST });
  await run(core, next);
  await standby(core, next, 'HOST');
  await waitFor('the first to be evicted', async () => (await living(core, goes)).length === 0);
  t.same(agent.moves.conflicts, []);
});

t.test('a move without a report ends the worker in time, and its jobs go to a new one', async (t) => {
  const core = await startReplicas(t, 1, { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' });
  let silent: string | undefined = 'RESTORE';
  const never = new Promise<undefined>(() => undefined);
  await core.joinAgent({ ...CAN, onMove: (move) => (move === silent ? never : Promise.resolve(undefined)) });
  const [first, second] = [await core.createEndpoint(FLASH), await core.createEndpoint(FLASH)];
  const pass = (workerId: string) => core.sql`
    UPDATE worker SET desired_at = now() - interval '5 min', busy_at = now() - interval '5 min',
      offloaded_at = offloaded_at - interval '5 min' WHERE id = ${workerId} OR offloaded_at IS NOT NULL`;
  await run(core, first);
  await run(core, second);
  const { id: offloaded } = await standby(core, first, 'HOST');
  const { id: jobId } = await core.submit(first);
  await standby(core, second, 'HOST');
  await waitFor('the restore', async () => (await living(core, first))[0]?.desired === 'RUN');
  await pass(offloaded);
  t.equal((await core.wait(first, jobId)).state, JobState.COMPLETED);
  const late = 'Its agent did not report for too long that its GPU memory was moved.';
  const ended = async (workerId: string) => {
    const [row] = await core.sql`SELECT state, reason, offload_failure AS failure FROM worker WHERE id = ${workerId}`;
    return row;
  };
  t.same(await ended(offloaded), { state: 'STOPPED', reason: late, failure: 'TIMED_OUT' });
  silent = 'OFFLOAD';
  const [holding] = await living(core, first);
  await waitFor('it to be on standby', async () => (await living(core, first))[0]?.state === 'FROZEN');
  const { id: nextId } = await core.submit(second);
  await waitFor(
    'the offload',
    async () => (await core.sql`SELECT FROM worker WHERE id = ${holding!.id} AND standby_level = 'HOST'`).length > 0,
  );
  await pass(holding!.id);
  t.equal((await core.wait(second, nextId)).state, JobState.COMPLETED);
  t.match(await ended(holding!.id), { reason: late });
  const metrics = await readMetrics(core.replicas[0]!.metrics);
  t.equal(valueOf(metrics, 'slipway_core_offload_timed_out_total'), 2);
});

const NOT_NVIDIA = "only NVIDIA's driver can move GPU memory, and the machine has AMD Instinct MI300X OAM";
const UNABLE: [title: string, machine: Parameters<CoreReplicas['joinAgent']>[0], fault: string][] = [
  ['an agent that does not know levels', { gpus: [L4] }, 'its agent is older than this feature'],
  [
    'GPUs of another vendor',
    {
      gpus: [{ ...L4, name: 'AMD Instinct MI300X OAM', memoryMib: 196_592 }],
      offload: { supported: false, unsupportedReason: NOT_NVIDIA, standbyMemoryBytes: 0 },
    },
    NOT_NVIDIA,
  ],
];
for (const [title, machine, fault] of UNABLE)
  t.test(`${title}: as before`, async (t) => {
    const core = await startReplicas(t);
    const agent: ScriptedAgent = await core.joinAgent(machine);
    const gpuIds = [machine!.gpus![0]!.name];
    const [first, second] = [
      await core.createEndpoint({ ...FLASH, gpuIds, flashBootStandby: FlashBootStandby.HOST }),
      await core.createEndpoint({ ...FLASH, gpuIds }),
    ];
    await run(core, first);
    const { id } = await standby(core, first, 'GPU');
    const { endpoint } = await call(core.clients.endpoints, 'getEndpoint', { id: first }, core.key);
    t.equal(
      endpoint!.flashBootStandbyReason,
      `no machine can move the GPU memory of its workers to host memory: ${fault}`,
    );
    const { explanation } = await call(core.clients.endpoints, 'explain', { endpointId: first }, core.key);
    t.match(explanation!.workers, [
      { id, reason: `it is on standby and resumes for the next job; cannot offload: ${fault}` },
    ]);
    const { status } = await call(core.clients.machines, 'getMachine', { id: agent.machineId }, core.rootKey);
    if (machine!.offload) t.match(status!.machine!.gpuOffload, { supported: false, unsupportedReason: fault });
    t.match(
      await reasonOf(call(core.clients.machines, 'suspendWorker', { workerId: id }, core.rootKey)),
      /cannot offload workers/,
    );
    await run(core, second);
    await waitFor('it to be evicted', async () => (await living(core, first)).length === 0);
    t.notOk(agent.desired.some(({ standbyLevel }) => standbyLevel === StandbyLevel.HOST));
  });

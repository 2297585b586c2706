// test: postgres
/** Explanations keep a job's earlier attempts: each with its cause, its error and its worker's end. */

import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const core = await startReplicas(t);
const { clients, key, rootKey } = core;
const whyJob = async (endpointId: string, jobId: string, apiKey = key) =>
  (await call(clients.jobs, 'explain', { endpointId, jobId }, apiKey)).explanation!;
const agent = await core.joinAgent({ gpus: [L4], onAssignment: () => undefined });

t.test(
  "history: every lost attempt with its cause, its worker's end when that is told later, and nothing of " +
    'one that never failed',
  async (t) => {
    const endpointId = await core.createEndpoint({
      gpuIds: ['NVIDIA L4'],
      retryLimit: 2,
      workersMax: 1,
      workersMin: 0,
    });
    const { id } = await core.submit(endpointId);
    const assigned = (attempt: number) =>
      waitFor(
        `attempt ${attempt}`,
        () => agent.assignments.find(({ ref }) => ref!.jobId === id && ref!.attempt === attempt)?.ref,
      );
    const first = await assigned(1);
    agent.finish(first!, {
      kind: OutcomeKind.LOST,
      error: `The worker ${first!.workerId} was ended by SIGKILL while it held the job.\nsecret line`,
    });
    await waitFor('the loss', async () => (await core.sql`SELECT FROM lost_attempt WHERE job_id = ${id}`).length === 1);
    agent.send({
      workers: [
        {
          workerId: first!.workerId,
          endpointId,
          state: WorkerState.UNHEALTHY,
          exitCode: 137,
          reason: 'The worker was ended. Its last lines:\nCUDA out of memory',
        },
      ],
    });
    const second = await assigned(2);
    await waitFor(
      'its end',
      async () =>
        (await core.sql`SELECT FROM worker WHERE id = ${first!.workerId} AND state = 'UNHEALTHY'`).length === 1,
    );
    agent.finish(second!, { kind: OutcomeKind.LOST, error: 'It went silent.' });
    agent.finish((await assigned(3))!);
    t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
    const explained = await whyJob(endpointId, id);
    t.match(explained, {
      lostAttempts: 2,
      summary: /^It is done, by attempt 3\. 2 of its attempts were lost before\.$/,
    });
    t.match(explained.attempts, [
      { attempt: 3, workerAlive: true, cause: '', lostTime: undefined },
      // Also at the first worker, if the job was assigned before the end of that worker was reported.
      {
        attempt: 2,
        workerId: second!.workerId,
        cause: 'It went silent.',
        machine: '',
        lostTime: Date,
        ...(second!.workerId !== first!.workerId && { exitCode: undefined, reason: '' }),
      },
      {
        attempt: 1,
        workerId: first!.workerId,
        workerAlive: false,
        cause: /ended by SIGKILL/,
        exitCode: 137,
        reason: /CUDA out of memory/,
        lostTime: Date,
      },
    ]);
    const times = explained.attempts
      .toReversed()
      .flatMap(({ startTime, endTime }) => [startTime!.getTime(), endTime!.getTime()]);
    t.equal(times.length, 6);
    t.same(
      times,
      times.toSorted((a, b) => a - b),
      'each begins when the one before has ended',
    );
    t.ok(times[0]! < times[5]!);
    t.match(
      (await whyJob(endpointId, id, rootKey)).attempts[1],
      { machine: agent.machineId },
      'the operator learns where',
    );
    const { secret: jobsOnly } = await call(
      clients.keys,
      'createKey',
      {
        name: 'jobs',
        scope: KeyScope.RESTRICTED,
        endpointIds: [],
        accountId: '',
        permissions: { management: Permission.UNSPECIFIED, jobs: Permission.READ },
      },
      key,
    );
    t.notMatch(
      JSON.stringify(await whyJob(endpointId, id, jobsOnly)),
      /secret line|out of memory/,
      'lines of a log only for who may read workers',
    );
    const { id: smooth } = await core.submit(endpointId);
    agent.finish((await waitFor('the next', () => agent.assignments.find(({ ref }) => ref!.jobId === smooth)))!.ref!);
    await core.wait(endpointId, smooth);
    t.equal((await core.sql`SELECT FROM lost_attempt WHERE job_id = ${smooth}`).length, 0);
    await core.updateEndpoint(endpointId, { workersMax: 0 });
    await call(clients.endpoints, 'deleteEndpoint', { id: endpointId }, key);
    await waitFor(
      'the history to go with the job',
      async () => (await core.sql`SELECT FROM lost_attempt WHERE job_id = ${id}`).length === 0,
    );
  },
);

t.test(
  'an attempt that its user tries again is remembered with its error and its times; one that was lost, once',
  async (t) => {
    const endpointId = await core.createEndpoint({
      gpuIds: ['NVIDIA L4'],
      retryLimit: 0,
      workersMax: 1,
      workersMin: 0,
    });
    const { id } = await core.submit(endpointId);
    const assigned = (attempt: number) =>
      waitFor(
        `attempt ${attempt}`,
        () => agent.assignments.find(({ ref }) => ref!.jobId === id && ref!.attempt === attempt)?.ref,
      );
    agent.finish((await assigned(1))!, { kind: OutcomeKind.FAILED, error: 'no colour' });
    t.equal((await core.wait(endpointId, id)).state, JobState.FAILED);
    const before = (await whyJob(endpointId, id)).attempts;
    t.match(before, [{ attempt: 1, cause: '', lostTime: undefined, startTime: Date, endTime: Date }]);
    await call(clients.jobs, 'retryJob', { endpointId, jobId: id }, key);
    agent.finish((await assigned(2))!, { kind: OutcomeKind.LOST, error: 'It went silent.' });
    t.equal((await core.wait(endpointId, id)).state, JobState.FAILED);
    await call(clients.jobs, 'retryJob', { endpointId, jobId: id }, key);
    const third = await assigned(3);
    const { attempts, lostAttempts } = await whyJob(endpointId, id);
    t.equal(lostAttempts, 0);
    t.match(attempts, [
      { attempt: 3, cause: '', startTime: Date, endTime: undefined },
      { attempt: 2, cause: 'It went silent.', startTime: Date, endTime: Date },
      {
        attempt: 1,
        cause: 'no colour',
        startTime: before[0]!.startTime,
        endTime: before[0]!.endTime,
        lostTime: before[0]!.endTime,
      },
    ]);
    agent.finish(third!);
    await core.wait(endpointId, id);
    await core.updateEndpoint(endpointId, { workersMax: 0 });
  },
);

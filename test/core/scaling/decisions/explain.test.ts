// test: postgres, 10 s
/**
 * Explanations of waiting jobs and of an endpoint's workers: a true cause, in fields and in words, with no more than a
 * key may see.
 */
import { CRASH_CHANGE } from '@slipway/core/domain/reports/what-would-change';
import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const core = await startReplicas(t);
const { clients, key, rootKey } = core;
const why = async (endpointId: string, apiKey = key) =>
  (await call(clients.endpoints, 'explain', { endpointId }, apiKey)).explanation!;
const whyJob = async (endpointId: string, jobId: string, apiKey = key) =>
  (await call(clients.jobs, 'explain', { endpointId, jobId }, apiKey)).explanation!;
const quota = (queuedJobs: number | undefined) =>
  call(
    clients.access,
    'setQuota',
    {
      accountId: core.accountId,
      quota: { workers: undefined, gpus: undefined, queuedJobs, requests: undefined },
    },
    rootKey,
  );
const agent = await core.joinAgent({ gpus: [L4], onAssignment: () => undefined });

t.test('unplaced: the reason of each machine and its remedy; machine names for the operator only', async (t) => {
  const endpointId = await core.createEndpoint({ gpuIds: ['AMPERE_80'], workersMin: 0 });
  await core.submit(endpointId);
  const { id } = await core.submit(endpointId);
  await waitFor('the refusal', async () => (await why(endpointId)).limits[0]?.limit === 'NO_PLACE');
  const explained = await whyJob(endpointId, id);
  const summary =
    /^It waits in place 2\. .*No worker can ever start: no machine can run it, .*1 machine has other GPUs/;
  t.match(explained, { state: JobState.IN_QUEUE, queuePosition: 2, attempt: 0, summary });
  const { endpoint } = explained;
  const others = { refusedBy: 'OTHER_GPUS', reason: 'has other GPUs', change: /add one of their types to gpuIds/ };
  t.match(endpoint!.machines, [{ name: '', count: 1, fits: false, ...others }]);
  t.match(endpoint!.lastDecision, {
    target: 1,
    throttled: 1,
    reason: 'a job waits and there is no worker',
    queued: 1,
    limits: [{ limit: 'NO_PLACE' }],
  });
  t.notOk(JSON.stringify(explained).includes(agent.machineId), 'no machine is named');
  t.match((await why(endpointId, rootKey)).machines, [
    { name: agent.machineId, refusedBy: 'OTHER_GPUS', change: /add NVIDIA L4 to gpuIds/ },
  ]);
});

t.test('workersMax as the limit, a busy worker, and a GPU in use', async (t) => {
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 0, workersMax: 1 });
  const first = await core.submit(endpointId);
  await waitFor('it to run', () => agent.assignments.length === 1);
  const { id } = await core.submit(endpointId);
  const explained = await whyJob(endpointId, id);
  t.match(explained, {
    queuePosition: 1,
    summary: /Its only worker is busy/,
    endpoint: { workers: [{ state: 'BUSY', held: 1 }] },
  });
  const taken = await waitFor('the machines as they are now', async () =>
    (await why(endpointId)).machines.find(({ refusedBy }) => refusedBy === 'GPUS_TAKEN'),
  );
  t.match(taken, { count: 1, change: /free 1 GPU of NVIDIA L4 there/ });
  const running = await whyJob(endpointId, first.id);
  t.match(running, {
    state: JobState.IN_PROGRESS,
    queuePosition: 0,
    attempt: 1,
    summary: /^It runs on worker/,
    endpoint: undefined,
  });
  const other = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 0, workersMax: 0 });
  await core.submit(other);
  t.match(await why(other), {
    summary: 'At least one job waits and none runs, but workersMax is 0: raise it to let workers start.',
  });
  await quota(1);
  await core.sql`UPDATE endpoint_tally SET queued = 50 WHERE endpoint_id = ${other}`;
  t.match(
    (await why(other)).limits.filter(({ cut }) => cut === 0),
    [
      { limit: 'QUEUE_LENGTH', text: /^50 jobs wait and 50 is the most for workersMax 0/ },
      { limit: 'QUEUED_JOBS', text: /account wait and its quota is 1:/ },
    ],
  );
  await quota(0);
  t.match((await why(other)).limits.at(-1), {
    limit: 'QUEUED_JOBS',
    text: /may have no queued jobs: .* raises its quota$/,
  });
  await quota(undefined);
  agent.finish(agent.assignments[0]!.ref!);
  await waitFor('the next', () => agent.assignments.length === 2);
  agent.finish(agent.assignments[1]!.ref!);
  await core.updateEndpoint(endpointId, { workersMax: 0 });
  await waitFor('the GPU to be free', () => agent.desired.length === 0);
});

t.test('a lost attempt: the end of its worker, with log lines for keys that may read workers', async (t) => {
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], retryLimit: 0, workersMax: 1, workersMin: 0 });
  const { id } = await core.submit(endpointId);
  const before = agent.assignments.length;
  const { ref } = await waitFor('it to run', () => agent.assignments[before]);
  agent.send({
    workers: [
      {
        workerId: ref!.workerId,
        endpointId,
        state: WorkerState.UNHEALTHY,
        reason: 'exit code 3\nCUDA out of memory',
        exitCode: 3,
      },
    ],
  });
  await core.wait(endpointId, id);
  const explained = await whyJob(endpointId, id);
  t.match(explained, {
    state: JobState.FAILED,
    attempts: [{ attempt: 1, workerId: ref!.workerId, exitCode: 3, reason: /CUDA out of memory/ }],
  });
  const jobsOnly = (
    await call(
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
    )
  ).secret;
  t.match((await whyJob(endpointId, id, jobsOnly)).attempts, [{ exitCode: 3, reason: '' }]);
  const { decisions } = await call(clients.endpoints, 'listDecisions', { endpointId, pageSize: 0, beforeId: 0 }, key);
  t.match(
    decisions.find(({ actions }) => actions.length > 0 && actions[0]!.kind === 'ADD'),
    { present: 0 },
  );
  const earlier = await call(
    clients.endpoints,
    'listDecisions',
    { endpointId, pageSize: 1, beforeId: decisions[0]!.id },
    key,
  );
  t.same(earlier.decisions, decisions.slice(1, 2), 'page by page');
  await core.updateEndpoint(endpointId, { workersMax: 0 });
});

t.test('only low-priority jobs: they wait, start no worker, and run', async (t) => {
  const endpointId = await core.createEndpoint({
    gpuIds: ['NVIDIA L4'],
    workersMin: 0,
    workersMax: 1,
    idleTimeoutSeconds: 1,
  });
  const { id } = await core.submit(endpointId, {}, true);
  const waits =
    /place 1, behind all jobs without low priority\. Only a job of low priority waits and none runs\. There are no workers; .*start no worker/;
  await waitFor('the queue to be seen', async () => waits.test((await whyJob(endpointId, id)).summary));
  await core.updateEndpoint(endpointId, { workersMax: 0 });
  t.match(
    (await why(endpointId)).summary,
    /^Only a job of low priority waits and none runs, but workersMax is 0: raise it/,
  );
  await core.updateEndpoint(endpointId, { workersMin: 1, workersMax: 1 });
  const { ref } = await waitFor('it to run', () => agent.assignments.find((one) => one.ref!.jobId === id));
  t.match((await why(endpointId)).summary, /^No job waits and one runs\. There is one worker/);
  agent.finish(ref!);
  await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
  await waitFor('the GPU to be free', () => agent.desired.length === 0);
});

t.test('what would change it: of a quota that binds and of a worker that crashes again and again', async (t) => {
  const accountId = await core.newAccount('narrow');
  const narrow = await core.newKey(KeyScope.ALL, [], accountId);
  await call(
    clients.access,
    'setQuota',
    { accountId, quota: { workers: 0, gpus: undefined, queuedJobs: undefined, requests: undefined } },
    rootKey,
  );
  const bounded = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 0, workersMax: 1 }, narrow);
  await core.submit(bounded, {}, false, narrow);
  const binding = await waitFor('the quota', async () => {
    const { limits, summary } = await why(bounded, narrow);
    return limits[0]?.limit === 'QUOTA' && { limits, summary };
  });
  t.match(binding.limits, [
    { cut: 1, change: /^let workers or pods of the account end, or ask the operator for a higher quota/ },
  ]);
  t.match(
    binding.summary,
    /cannot be placed: the account's quota of 0 workers is used up\. To change that: let workers or pods of the account end, or ask/,
  );
  const frail = await core.joinAgent({ gpus: [{ ...L4, uuid: 'GPU-3', name: 'NVIDIA A30' }], startWorkers: false });
  const crashing = await core.createEndpoint({ gpuIds: ['NVIDIA A30'], workersMin: 0, workersMax: 1 });
  await core.submit(crashing);
  const worker = await waitFor('a worker', () => frail.desired.find(({ endpointId }) => endpointId === crashing));
  frail.send({
    workers: [
      {
        workerId: worker.workerId,
        endpointId: crashing,
        state: WorkerState.UNHEALTHY,
        reason: 'exit code 3',
        exitCode: 3,
      },
    ],
  });
  const crashed = await waitFor('the crash', async () => {
    const { workers, summary } = await why(crashing);
    // The machine is new, and the list of machines is only read now and then.
    return workers[0]?.state === 'CRASHED' && !summary.includes('can ever start') && { workers, summary };
  });
  t.equal(crashed.workers[0]!.change, CRASH_CHANGE);
  t.ok(crashed.summary.endsWith(`To change that: ${CRASH_CHANGE}.`), crashed.summary);
  await core.updateEndpoint(crashing, { workersMax: 0 });
});

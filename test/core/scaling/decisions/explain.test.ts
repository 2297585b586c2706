// test: postgres, 10 s
/**
 * Explanations of waiting jobs and of an endpoint's workers: a true cause, in fields and in words, with no more than a
 * key may see.
 */

import { EXPLANATIONS_MAX } from '@slipway/core/domain/accounts/call-limits';
import { explainWorker, summarizeEndpoint } from '@slipway/core/domain/reports/explanation';
import { CRASH_CHANGE } from '@slipway/core/domain/reports/what-would-change';
import type { ScaleLimit } from '@slipway/core/domain/scaling/scale-target';
import type { ScaleSettings, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(120_000);

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

t.test('a disconnected machine: its workers are not called idle, busy or resuming', async (t) => {
  const gone = await core.joinAgent({
    gpus: [{ ...L4, uuid: 'GPU-2', name: 'NVIDIA A10' }],
    onAssignment: () => undefined,
  });
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA A10'], workersMin: 0, workersMax: 1 });
  const first = await core.submit(endpointId);
  await waitFor('it to run', () => gone.assignments.length === 1);
  const { id } = await core.submit(endpointId);
  gone.drop();
  await waitFor('that it is away', async () => (await why(endpointId)).workers[0]?.state === 'AWAY');
  t.match(
    (await whyJob(endpointId, id)).summary,
    /^It waits in place 1\. .* Its only worker is away \(its machine is not connected; it is given up/,
  );
  t.match(
    (await whyJob(endpointId, first.id)).summary,
    /^It runs on worker \w+ as attempt 1, but its machine is not connected: .* tried again\.$/,
  );
  const frozen = { id: 'w', state: 'FROZEN', desired: 'FREEZE', held: 0, reachable: false } as WorkerSample;
  const reason = (away: boolean): string =>
    explainWorker(frozen, { workersMax: 3 } as ScaleSettings, { told: '', gaveWay: '', away }).reason;
  t.same([true, false].map(reason), [
    'it is frozen and does not wake while its machine is not connected',
    'it is frozen and does not wake while its machine takes nothing new',
  ]);
  await core.updateEndpoint(endpointId, { workersMax: 0 });
});

t.test(
  'of a load-balancing endpoint requests are told; the only worker, and a first crash, are not counted',
  async (t) => {
    const balanced = await core.createEndpoint({
      type: EndpointType.LB,
      workersMin: 0,
      workersMax: 0,
      scalerValue: 10,
    });
    t.match(
      (await why(balanced)).summary,
      /^No request waits and none runs\. There are no workers; the scaler says: there are no requests\.$/,
    );
    const crashed = { id: 'w', state: 'UNHEALTHY', failures: 1, retryDue: true, held: 0 } as WorkerSample;
    const settings = { workersMax: 3 } as ScaleSettings;
    let refusal = '';
    let told = 'no such image';
    let limits: ScaleLimit[] = [];
    const mend = ` To change that: ${CRASH_CHANGE}.`;
    const summary = (...workers: WorkerSample[]): string =>
      summarizeEndpoint(
        { queued: 1, running: 0, oldestWaitMs: 0, workers },
        settings,
        workers.map((worker) => explainWorker(worker, settings, { told, gaveWay: '', away: false })),
        { what: 'job', low: 0, reason: 'r', cannotRun: '', refusal, limits, machines: [], starved: 0 },
      );
    const jobs = 'At least one job waits and none runs.';
    t.equal(
      summary(crashed),
      `${jobs} Its only worker crashed (it crashed; another takes its place: no such image).${mend}`,
    );
    const again = { ...crashed, failures: 2 };
    t.equal(
      summary(again, again),
      `${jobs} 2 of 2 workers crashed (it crashed, 2 times in a row; another takes its place: no such image).${mend}`,
    );
    const starting = { ...crashed, state: 'INITIALIZING', failures: 0 } as WorkerSample;
    t.equal(summary(starting), `${jobs} Its only worker starts (it has not asked for work yet: no such image).`);
    t.match(
      summary({ ...starting, failures: 1 }),
      /work yet, and the one before it crashed \(slipway workers tells how\): no such/,
    );
    t.match(
      summary({ ...starting, failures: 3 }),
      /work yet, and 3 in a row before it crashed \(.* To change that: mend what its reason or its last lines name/,
    );
    refusal = 'no machine has a free GPU';
    t.equal(
      summary(),
      `${jobs} Workers find no place: no machine has a free GPU. To change that: join a machine (slipway agent).`,
    );
    const cause = 'Its only worker crashed (it crashed; another takes its place: no such image).';
    t.equal(
      summary(crashed),
      `${jobs} ${cause} Further workers find no place: no machine has a free GPU.${mend}`,
      'the cause comes first',
    );
    const busy = { ...crashed, state: 'READY', failures: 0, held: 1 } as WorkerSample;
    refusal = '';
    t.match(summary(busy), /the scaler says: r\. To change that: a lower scalerValue starts further workers sooner\.$/);
    limits = [{ limit: 'WORKERS_MAX', cut: 1, text: 'workersMax is 1' }];
    t.match(summary(busy), / To change that: raise workersMax\.$/);
    told =
      'The worker ended with exit code 3. Its last lines:\nTraceback (most recent call last):\n  File "handler.py"\nNo module named torch\n';
    t.match(
      summary(crashed),
      / crashed \(it crashed; another takes its place: The worker ended with exit code 3. Its last lines: … No module named torch\)\./,
      'with what the worker said last',
    );
    told = 'The worker ended with exit code 3. Its last lines:\nboom';
    t.match(summary(crashed), /code 3. Its last lines: boom\)\./);
  },
);

t.test(
  'a server that is not ready: what its health path answers, while it starts and when it was ready before',
  async (t) => {
    const serving = await core.joinAgent({
      gpus: [{ ...L4, uuid: 'GPU-5', name: 'NVIDIA RTX A5000' }],
      startWorkers: false,
    });
    const endpointId = await core.createEndpoint({
      type: EndpointType.LB,
      gpuIds: ['NVIDIA RTX A5000'],
      workersMin: 1,
      workersMax: 1,
    });
    const { workerId } = await waitFor('its worker', () =>
      serving.desired.find((worker) => worker.endpointId === endpointId),
    );
    const tell = (state: WorkerState, health: HttpHealth, reason = ''): void => {
      serving.send({ workers: [{ workerId, endpointId, state, capacity: 0, address: '127.0.0.1:9', health, reason }] });
    };
    const seen = async (text: string) =>
      waitFor(text, async () => {
        const explained = await why(endpointId);
        // The machine is new, and the list of machines is only read now and then.
        return (
          explained.workers[0]?.reason.includes(text) && !explained.summary.includes('can ever start') && explained
        );
      });
    tell(WorkerState.INITIALIZING, HttpHealth.UNHEALTHY, 'its server answers GET /ping on port 8000 with 404 for 55 s');
    const starting = await seen('with 404 for 55 s');
    t.match(starting.workers, [{ state: 'STARTING', reason: /^it is not ready yet: its server answers/ }]);
    t.match(
      starting.summary,
      /^No request waits and none runs\. There is one worker, not ready \(it is not ready yet: its server answers .* 404 for 55 s\)\.$/,
    );
    tell(WorkerState.READY, HttpHealth.READY);
    const idle = await seen('it can take a request');
    t.match(idle.workers, [{ state: 'IDLE' }]);
    tell(WorkerState.READY, HttpHealth.UNHEALTHY, 'nothing listens on port 8000');
    t.match((await seen('nothing listens on port 8000')).workers, [
      { state: 'UNREADY', reason: /^it is not ready any more, and gets no requests/ },
    ]);
    t.match(await call(clients.machines, 'listWorkers', { endpointId }, key), {
      workers: [{ reason: 'nothing listens on port 8000' }],
    });
    await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
  },
);

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
    /find no place: the account's quota of 0 workers is used up\. To change that: let workers or pods of the account end, or ask/,
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

t.test('one account asks so often and no more, for jobs and endpoints together, and others go on', async (t) => {
  const busy = await core.newKey(KeyScope.ALL, [], await core.newAccount('busy'));
  const endpointId = await core.createEndpoint({ workersMin: 0 }, busy);
  let refused = '';
  const ask = async () => {
    const reason = await reasonOf(whyJob(endpointId, 'none', busy));
    if (reason.startsWith('RATE_LIMITED')) refused = reason;
    return reason.split(':')[0]!;
  };
  const seen: string[] = [];
  // On a machine that is too busy for all calls of one window, the next window is tried.
  while (!seen.includes('RATE_LIMITED') && seen.length < 10 * EXPLANATIONS_MAX)
    seen.push(...(await Promise.all(Array.from({ length: 101 }, ask))));
  t.same([...new Set(seen)].sort(), ['JOB_NOT_FOUND', 'RATE_LIMITED']);
  t.ok(
    seen.filter((reason) => reason === 'JOB_NOT_FOUND').length >= EXPLANATIONS_MAX,
    'all that is within the rate passes',
  );
  // The window may be over by now: endpoints are asked until they are rejected too.
  const ofEndpoints = await waitFor('one of an endpoint', async () =>
    (await Promise.all(Array.from({ length: 101 }, () => reasonOf(why(endpointId, busy)).catch(() => '')))).find(
      (reason) => reason.startsWith('RATE_LIMITED'),
    ),
  );
  for (const text of [refused, ofEndpoints])
    t.match(text, /^RATE_LIMITED: More than 200 such calls of an account in 10 s; try again in \d+ s\./);
  t.ok((await why(endpointId, rootKey)).summary, 'the operator is not limited');
});

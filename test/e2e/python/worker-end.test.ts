// test: postgres, python, 70 s
/**
 * How Python workers end and what becomes of their jobs: cancel, timeout, refresh, crash, drain, kill
 * (docs/reference/worker-protocol.md#stopping).
 */

import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../helpers/scratch.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { PYTHONS, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { groupAlive } from '../../helpers/system/process-table.ts';
import type { EndpointOptions, System } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

type Version = keyof typeof PYTHONS;

interface Who {
  worker: string;
  pid: number;
  version: string;
}

t.setTimeout(600_000);
t.jobs = 2;

const none = skipWithoutPython('new') && skipWithoutPython('old');
const system = none ? undefined : await startSystem(t);

async function jobsFor(
  t: Test,
  version: Version,
  file: string,
  options: Partial<EndpointOptions> = {},
): Promise<EndpointJobs> {
  const id = await system!.createEndpoint({ command: pythonHandler(version, file), workersMax: 1, ...options });
  t.teardown(() => system!.endWorkers(id));
  return endpointJobs(system!, id);
}

for (const version of Object.keys(PYTHONS) as Version[]) {
  t.test(`ends of a Python worker, ${version} SDK`, { skip: skipWithoutPython(version) }, async (t) => {
    t.jobs = 4;
    await Promise.all([
      // One worker after the other of one endpoint: each part begins with the worker that the one before it left.
      t.test('one after the other', async (t) => {
        const jobs = await jobsFor(t, version, 'all.py', { retryLimit: 1 });
        await t.test('refresh_worker', (t) => refresh(t, jobs));
        await t.test('cancel of a handler that blocks', (t) => cancelBlocking(t, jobs));
        if (version === 'old') await t.test('execution timeout', (t) => timeout(t, jobs, version));
        await t.test('SIGTERM to a polling worker', (t) => kill(t, jobs, 'SIGTERM'));
        if (version === 'old') return;
        // Where the SDK has no say, one SDK shows it.
        await t.test('kill -9 of a worker', (t) => kill(t, jobs, 'SIGKILL'));
        await t.test('crash in a job', (t) => crashInJob(t, system!, jobs));
      }),
      t.test('scale to zero', async (t) => {
        const fields = { workersMin: 0, idleTimeoutSeconds: 1 };
        await drain(t, system!, await jobsFor(t, version, 'all.py', { fields }));
      }),
      ...(version === 'old'
        ? []
        : [
            t.test('execution timeout', async (t) => timeout(t, await jobsFor(t, version, 'at_once.py'), version)),
            t.test('crash before the first ping', async (t) =>
              crashAtStart(t, system!, await jobsFor(t, version, 'crash_at_start.py', { ready: 0 })),
            ),
          ]),
    ]);
  });
}

t.test('a failed fitness check', { skip: skipWithoutPython('new') }, async (t) => {
  const jobs = await jobsFor(t, 'new', 'unhealthy.py', { ready: 0 });
  const worker = await unhealthyWorker(system!, jobs);
  t.match(worker.reason, /fallen off the bus/);
});

const who = async (jobs: EndpointJobs): Promise<Who> =>
  (await jobs.settled(await jobs.run({ who: true }))).output as Who;

async function unhealthyWorker(system: System, jobs: EndpointJobs) {
  return waitFor('an unhealthy worker', async () => {
    const { workers } = await call(system.clients.machines, 'listWorkers', { endpointId: jobs.id }, system.key);
    return workers.find((worker) => worker.state === WorkerState.UNHEALTHY);
  });
}

async function cancelBlocking(t: Test, jobs: EndpointJobs): Promise<void> {
  const { path, notes } = await scratch(t);
  const [note, never] = ['note', 'never'].map(path);
  const id = await jobs.run({ note, until: never });
  const [, worker, pid] = (await notes('note', 1))[0]!.split(' ');
  t.equal((await jobs.cancel(id)).status, 'CANCELLED', 'the answer comes at once');
  await waitFor('the worker that cannot be stopped from inside to be killed', () => !groupAlive(Number(pid)));
  const next = await who(jobs);
  t.not(next.worker, worker, 'a new worker runs the next job');
  t.equal((await jobs.look(id)).status, 'CANCELLED');
  t.equal((await jobs.counted({ inProgress: 0 })).jobs.retried, 0);
}

async function timeout(t: Test, jobs: EndpointJobs, version: Version): Promise<void> {
  const { path, notes, lines } = await scratch(t);
  const [note, never] = ['note', 'never'].map(path);
  const id = await jobs.run({ note, until: never }, { policy: { executionTimeout: 5_000 } });
  const [first] = await notes('note', 1);
  const job = await jobs.settled(id);
  t.equal(job.status, 'TIMED_OUT');
  t.ok(job.executionTime! >= 5_000 && job.executionTime! < 30_000, `it ran for ${job.executionTime} ms`);
  t.match(job.error, /execution ?timeout|5,?000|5 s/i, 'the error says why');
  if (version === 'new') {
    await notes('note', 2);
    t.ok(lines('note').includes(`stopped ${id}`), 'the handler was stopped through the stop channel');
  } else {
    await waitFor('the worker to be killed', () => !groupAlive(Number(first!.split(' ')[2])));
  }
  t.equal((await jobs.settled(await jobs.run({}))).status, 'COMPLETED', 'the endpoint goes on');
  t.equal((await jobs.look(id)).status, 'TIMED_OUT');
}

async function refresh(t: Test, jobs: EndpointJobs): Promise<void> {
  const before = await who(jobs);
  const job = await jobs.settled(await jobs.run({ who: true, refresh: true }));
  t.match(job, { status: 'COMPLETED', output: { worker: before.worker } });
  const after = await who(jobs);
  t.not(after.worker, before.worker, 'the next job runs on a new worker');
  await waitFor('the old one to go', () => !groupAlive(before.pid));
  t.equal((await jobs.counted({ inProgress: 0 })).jobs.retried, 0);
}

async function crashAtStart(t: Test, system: System, jobs: EndpointJobs): Promise<void> {
  const waiting = await jobs.run({});
  const worker = await unhealthyWorker(system, jobs);
  t.equal(worker.exitCode, 1);
  t.match(worker.reason, /RuntimeError: the weights are not where they should be/, 'the reason shows its last lines');
  const { log } = await call(
    system.clients.machines,
    'getWorkerLog',
    { workerId: worker.id, tailBytes: 0 },
    system.key,
  );
  t.match(
    log.toString(),
    /loading the model\n.*Traceback.*crash_at_start\.py.*RuntimeError/s,
    'the log shows all of it',
  );
  t.equal((await jobs.health()).workers.ready, 0);
  t.match(await jobs.look(waiting), { status: 'IN_QUEUE' }, 'the job waits: no worker has seen it');
}

async function crashInJob(t: Test, system: System, jobs: EndpointJobs): Promise<void> {
  const { path, lines } = await scratch(t);
  const note = path('note');
  const before = (await jobs.counted({ inProgress: 0 })).jobs;
  const id = await jobs.run({ note, crash: 42 });
  const job = await jobs.settled(id);
  t.equal(job.status, 'FAILED');
  t.match(job.error, /42/, 'the error names the exit code');
  t.equal(job.retries, 1);
  const tries = lines('note').map((line) => line.split(' ')[1]);
  t.equal(tries.length, 2, 'one try and, at a limit of 1, one more');
  t.equal(new Set(tries).size, 2, 'each on a worker of its own');
  await jobs.counted({ failed: before.failed + 1, retried: before.retried + 1 });
  // Workers whose slots others have taken are listed as ended.
  const { workers, ended } = await call(system.clients.machines, 'listWorkers', { endpointId: jobs.id }, system.key);
  t.ok(
    [...workers, ...ended].some((worker) => worker.exitCode === 42),
    'the crash can be seen',
  );
}

async function kill(t: Test, jobs: EndpointJobs, signal: NodeJS.Signals): Promise<void> {
  const { path, open, notes } = await scratch(t);
  const [note, until] = ['note', 'until'].map(path);
  const first = await who(jobs);
  const held = signal === 'SIGKILL';
  let id = '';
  if (held) {
    id = await jobs.run({ note, until, return: 'done' });
    await notes('note', 1);
  }
  process.kill(first.pid, signal);
  // A job that meets a worker on its way out may be taken and never started
  // (docs/reference/worker-protocol.md#stopping).
  if (!held) id = await jobs.run({ note, return: 'done' });
  await notes('note', held ? 2 : 1);
  open('until');
  const job = await jobs.settled(id);
  t.match(job, { status: 'COMPLETED', output: 'done' });
  if (held) t.equal(job.retries, 1);
  else t.ok((job.retries ?? 0) <= 1);
  t.not((await who(jobs)).worker, first.worker);
}

async function drain(t: Test, system: System, jobs: EndpointJobs): Promise<void> {
  const { pid, version } = await who(jobs);
  const {
    workers: [worker],
  } = await call(system.clients.machines, 'listWorkers', { endpointId: jobs.id }, system.key);
  t.equal(worker?.sdkVersion ?? version, version, 'the worker told its SDK version');
  // The SDK ends only when its held polls are answered; without that this takes as long as a poll is held.
  await waitFor('the idle worker to end', () => !groupAlive(pid), 18_000);
  const { workers } = await call(system.clients.machines, 'listWorkers', { endpointId: jobs.id }, system.key);
  t.notOk(
    workers.some((left) => left.state === WorkerState.UNHEALTHY),
    'it ended as it was told to',
  );
  t.not((await who(jobs)).pid, pid, 'a job wakes a new one');
}

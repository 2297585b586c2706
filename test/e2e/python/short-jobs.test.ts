// test: postgres, python, 110 s
/**
 * Short jobs of real Python workers are handed over several at once (docs/reference/worker-protocol.md#short-jobs), and
 * what becomes of those not begun.
 */

import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../helpers/scratch.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { PYTHONS, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import type { PublicJson } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

type Version = keyof typeof PYTHONS;

t.setTimeout(600_000);
t.jobs = 2;

const SHORT = { sleep: 0.005 };
/** Concurrent jobs of a worker that is kept busy. */
const ROOM = 20;

const versions = Object.keys(PYTHONS) as Version[];
const none = versions.every((version) => skipWithoutPython(version) !== false);
const system = none ? undefined : await startSystem(t);

for (const version of versions) {
  t.test(`short jobs, ${version} SDK`, { skip: skipWithoutPython(version) }, async (t) => {
    const jobs = endpointJobs(
      system!,
      await system!.createEndpoint({ command: pythonHandler(version, 'all.py'), workersMax: 1, retryLimit: 0 }),
    );
    await t.test('a worker runs far more than one short job a second', (t) => fast(t, jobs));
    await t.test('a worker that dies with several prefetched jobs', (t) => killed(t, jobs));
    await t.test('a job that hangs before prefetched ones', (t) => hangs(t, jobs));
  });
}

t.test('short jobs that stream, and concurrent ones', { skip: skipWithoutPython('new') }, async (t) => {
  const streams = endpointJobs(
    system!,
    await system!.createEndpoint({ command: pythonHandler('new', 'generator.py'), workersMax: 1 }),
  );
  const several = endpointJobs(
    system!,
    await system!.createEndpoint({
      command: pythonHandler('new', 'at_once.py'),
      env: { CONCURRENCY: '4' },
      workersMax: 1,
    }),
  );
  const streamed = await Promise.all(
    Array.from({ length: 10 }, (_, number) => streams.run({ values: [number, 'second', 'last'] })),
  );
  const batched = await settledAll(several, await Promise.all(Array.from({ length: 60 }, () => several.run(SHORT))));
  t.ok(batched.every(({ status }) => status === 'COMPLETED'));
  t.ok(
    batched.some((job) => (job.output as { peak: number }).peak > 1) &&
      batched.every((job) => (job.output as { peak: number }).peak <= 4),
  );
  for (const [number, id] of streamed.entries()) {
    t.equal((await streams.settled(id)).status, 'COMPLETED');
    t.same((await streams.drain(id)).outputs, [number, 'second', 'last']);
  }
});

t.test('a worker with capacity for many jobs', { skip: skipWithoutPython('new') }, async (t) => {
  const jobs = endpointJobs(
    system!,
    await system!.createEndpoint({
      command: pythonHandler('new', 'at_once.py'),
      env: { CONCURRENCY: String(ROOM) },
      workersMax: 1,
      retryLimit: 0,
    }),
  );
  await t.test('it stays running while jobs are short', (t) => awake(t, jobs));
  await t.test('it has its full capacity once jobs are long', (t) => filled(t, jobs));
});

t.test('prefetched jobs that a worker must not begin', { skip: skipWithoutPython('new') }, async (t) => {
  const jobs = endpointJobs(
    system!,
    await system!.createEndpoint({ command: pythonHandler('new', 'all.py'), workersMax: 1, retryLimit: 0 }),
  );
  await t.test('because a job requests another worker', (t) => refreshes(t, jobs));
  await t.test('because another worker is free while a job takes long', (t) => recalled(t, jobs));
});

/** Checks that a take brings several jobs. The SDK alone takes one at a time, and sleeps for a second after each. */
async function fast(t: Test, jobs: EndpointJobs): Promise<void> {
  const startedMs = performance.now();
  const ended = await settledAll(jobs, await Promise.all(Array.from({ length: 40 }, () => jobs.run(SHORT))));
  const tookMs = performance.now() - startedMs;
  t.ok(ended.every(({ status }) => status === 'COMPLETED'));
  const takes = await takesOf(ended[0]!['workerId'] as string);
  t.ok(takes.length > 0 && takes.length * 4 < ended.length * 3, `${takes.length} takes brought ${ended.length} jobs`);
  const executionMs = ended.reduce((sum, job) => sum + job.executionTime!, 0);
  t.ok(
    executionMs <= tookMs,
    `they ran one after the other, ${executionMs} ms in all: none counts the time that it waited in hand`,
  );
}

/**
 * The SDK writes down how many jobs it has not started after each take: with half of its room or more it sleeps for a
 * second.
 */
async function awake(t: Test, jobs: EndpointJobs): Promise<void> {
  const { path, lines } = await scratch(t);
  const note = path('note');
  const ids: string[] = [];
  const ended: PublicJson[] = [];
  while (ids.length < 120)
    ids.push(...(await Promise.all(Array.from({ length: 60 }, () => jobs.run({ ...SHORT, note })))));
  while (ended.length < ids.length) ended.push(...(await settledAll(jobs, ids.slice(ended.length, ended.length + 60))));
  t.ok(ended.every((job) => job.status === 'COMPLETED' && !job.retries));
  t.same(
    runsOf(
      ids,
      lines('note')
        .filter((line) => line.startsWith('start'))
        .map((line) => line.slice('start '.length)),
    )
      .flat()
      .sort(),
    [...ids].sort(),
  );
  t.ok(ended.every((job) => (job.output as { peak: number }).peak <= ROOM));
  const { worker: workerId } = ended[0]!.output as { worker: string };
  const queued = await takesOf(workerId);
  const full = queued.filter((count) => count * 2 >= ROOM).length;
  t.ok(queued.length > 3 * full, `${full} of ${queued.length} takes sent it to sleep`);
}

/** Checks that all jobs run at once: none of them ends before all of them run. */
async function filled(t: Test, jobs: EndpointJobs): Promise<void> {
  const { path, open, notes } = await scratch(t);
  const [note, until] = ['note', 'until'].map(path);
  const ids = await Promise.all(Array.from({ length: ROOM }, () => jobs.run({ note, until })));
  await notes('note', ROOM);
  open('until');
  const ended = await settledAll(jobs, ids);
  t.ok(ended.every(({ status }) => status === 'COMPLETED'));
  t.equal(Math.max(...ended.map((job) => (job.output as { peak: number }).peak)), ROOM);
}

async function killed(t: Test, jobs: EndpointJobs): Promise<void> {
  const { path, open, lines } = await scratch(t);
  const [note, until] = ['note', 'until'].map(path);
  const [doomed, ...others] = await handedOver(jobs, { crash: 'SIGKILL', note, until }, { note });
  open('until');
  const { status, error } = await jobs.settled(doomed!);
  t.equal(status, 'FAILED', 'it ended its worker');
  t.match(error, /worker/i);
  const ended = await settledAll(jobs, others);
  t.ok(
    ended.every((job) => job.status === 'COMPLETED' && !job.retries),
    'the others had not begun: nothing is counted',
  );
  for (const id of others) t.equal(lines('note').filter((line) => line.startsWith(id)).length, 1, 'each ran once');
}

async function hangs(t: Test, jobs: EndpointJobs): Promise<void> {
  const { path, lines } = await scratch(t);
  const [note, never] = ['note', 'never'].map(path);
  const [hung, unwanted, ...others] = await handedOver(
    jobs,
    { note, until: never },
    { note },
    { policy: { executionTimeout: 6_000 } },
  );
  t.equal((await jobs.cancel(unwanted!)).status, 'CANCELLED');
  t.equal((await jobs.settled(hung!)).status, 'TIMED_OUT');
  const ended = await settledAll(jobs, others);
  t.ok(
    ended.every(({ status }) => status === 'COMPLETED'),
    'none is TIMED_OUT for the time in which it waited behind it',
  );
  t.ok(
    ended.every(({ retries }) => !retries),
    'they had not begun',
  );
  t.equal((await jobs.look(unwanted!)).status, 'CANCELLED');
  t.notOk(
    lines('note').some((line) => line.startsWith(unwanted!)),
    'and it never ran',
  );
}

async function refreshes(t: Test, jobs: EndpointJobs): Promise<void> {
  const { path, open, lines } = await scratch(t);
  const [note, until] = ['note', 'until'].map(path);
  const [last, ...others] = await handedOver(jobs, { note, until, refresh: true }, { note });
  open('until');
  t.equal((await jobs.settled(last!)).status, 'COMPLETED');
  const ended = await settledAll(jobs, others);
  t.ok(ended.every((job) => job.status === 'COMPLETED' && !job.retries));
  const ran = runsOf([last!, ...others], lines('note'));
  t.same(ran.map(([job]) => job).sort(), [last, ...others].sort(), 'each ran once');
  t.equal(new Set(ran.map(([, worker]) => worker)).size, 2, 'the others at its successor');
}

async function recalled(t: Test, jobs: EndpointJobs): Promise<void> {
  const { path, open, lines } = await scratch(t);
  const [note, until] = ['note', 'until'].map(path);
  const [long, ...behind] = await handedOver(jobs, { note, until }, { note });
  t.equal((await system!.request('PATCH', `/v1/endpoints/${jobs.id}`, { workersMax: 2 })).status, 200);
  const ended = await settledAll(jobs, behind);
  t.ok(ended.every((job) => job.status === 'COMPLETED' && !job.retries));
  t.equal((await jobs.look(long!)).status, 'IN_PROGRESS', 'while it still runs');
  open('until');
  t.equal((await jobs.settled(long!)).status, 'COMPLETED', 'its result counts');
  t.same(
    (await settledAll(jobs, [await jobs.run(SHORT)])).map(({ status }) => status),
    ['COMPLETED'],
  );
  const ran = runsOf([long!, ...behind], lines('note'));
  t.same(ran.map(([job]) => job).sort(), [long, ...behind].sort(), 'each ran once');
  const [[, worker] = []] = ran.filter(([job]) => job === long);
  t.notOk(
    ran.some(([job, other]) => job !== long && other === worker),
    'none of them there',
  );
}

/**
 * The worker runs `first`, which waits, and has prefetched some of four jobs like `other`. Returns ids: the first, the
 * prefetched ones, the rest.
 */
async function handedOver(
  jobs: EndpointJobs,
  first: object,
  other: object,
  more: Record<string, unknown> = {},
): Promise<string[]> {
  for (let tries = 0; ; tries += 1) {
    await untilFast(jobs);
    // Busy for a second, as far as the SDK is concerned.
    await jobs.run(SHORT);
    const front = await jobs.run(first, more);
    const others = await Promise.all(Array.from({ length: 4 }, () => jobs.run(other, more)));
    await jobs.reached(front, 'IN_PROGRESS');
    const states = (): Promise<PublicJson[]> => Promise.all(others.map((id) => jobs.look(id)));
    const taken = await waitFor(
      'jobs in hand',
      async () => {
        const running = (await states()).filter(({ status }) => status === 'IN_PROGRESS');
        return running.length >= 2 && running.map(({ id }) => id);
      },
      5_000,
    ).catch(() => undefined);
    if (taken) return [front, ...taken, ...others.filter((id) => !taken.includes(id))];
    // On a busy machine the worker may ask between the first and the others.
    if (tries === 10) throw new Error('nothing was handed over');
    for (const id of [front, ...others]) await jobs.cancel(id);
  }
}

/** Returns the jobs that the SDK held after each of its takes, as it wrote them into its worker's log. */
async function takesOf(workerId: string): Promise<number[]> {
  const { log } = await call(system!.clients.machines, 'getWorkerLog', { workerId, tailBytes: 0 }, system!.key);
  return [...String(log).matchAll(/Jobs in queue: (\d+)/g)].map(([, count]) => Number(count));
}

/** Returns the job and worker of each run of these jobs: an earlier try of `handedOver` may have left lines too. */
function runsOf(ids: readonly string[], lines: readonly string[]): string[][] {
  return lines.map((line) => line.split(' ')).filter(([job]) => ids.includes(job!));
}

/** Waits until core knows that the jobs are short. */
async function untilFast(jobs: EndpointJobs): Promise<void> {
  for (;;) {
    const startedMs = performance.now();
    await settledAll(jobs, await Promise.all(Array.from({ length: 12 }, () => jobs.run(SHORT))));
    if (performance.now() - startedMs < 6_000) return;
  }
}

function settledAll(jobs: EndpointJobs, ids: readonly string[]): Promise<PublicJson[]> {
  return Promise.all(ids.map((id) => jobs.settled(id)));
}

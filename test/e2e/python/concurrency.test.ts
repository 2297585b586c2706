// test: postgres, python, 10 s
/**
 * Workers that take several jobs at once with concurrency_modifier (docs/reference/worker-protocol.md#concurrency), and
 * stopping one of them.
 */

import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../helpers/scratch.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { type PYTHONS, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import type { System } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

type Version = keyof typeof PYTHONS;

interface Output {
  peak: number;
  pid: number;
  worker: string;
}

t.setTimeout(600_000);
t.jobs = 2;

const system = skipWithoutPython('old') ? undefined : await startSystem(t);

for (const version of ['old'] as Version[]) {
  t.test(`several jobs at once, ${version} SDK`, { skip: skipWithoutPython(version) }, async (t) => {
    const jobs = endpointJobs(
      system!,
      await system!.createEndpoint({
        command: pythonHandler(version, 'at_once.py'),
        env: { CONCURRENCY: '4' },
        workersMax: 1,
      }),
    );
    await t.test('a worker runs as many jobs as it allows, not more', (t) => capped(t, system!, jobs, version));
    await t.test('cancelling one job leaves the others running', (t) => cancelOne(t, jobs, version));
    await t.test('a job after a cancel does not wait for the cancelled one', (t) => afterCancel(t, jobs));
  });
}

t.test(
  'a worker stuck in a cancelled job does not count for workersMax',
  { skip: skipWithoutPython('old') },
  async (t) => {
    const jobs = endpointJobs(
      system!,
      await system!.createEndpoint({ command: pythonHandler('old', 'at_once.py'), workersMax: 1 }),
    );
    const { path, open, notes } = await scratch(t);
    const [note, until] = ['note', 'until'].map(path);
    const doomed = await jobs.run({ note, until });
    await notes('note', 1);
    const other = await jobs.run({ until });
    const { workerId } = await jobs.reached(other, 'IN_PROGRESS');
    // It says so once for each of the two jobs. A job that only its machine has would go to another worker.
    await waitFor('the worker to have taken the other', async () => {
      const of = { workerId, tailBytes: 0 };
      const { log } = await call(system!.clients.machines, 'getWorkerLog', of, system!.key);
      return log.toString().split('Jobs in queue: 1').length === 3;
    });
    // An old SDK receives no stop, and the other job keeps its worker from being killed.
    await jobs.cancel(doomed);
    const next = await jobs.settled(await jobs.run({}));
    t.equal(next.status, 'COMPLETED');
    t.not((next.output as Output).worker, workerId, 'another worker runs the next job');
    t.equal((await jobs.look(other)).status, 'IN_PROGRESS', 'while the blocked one goes on with what it has');
    open('until');
    t.match(await jobs.settled(other), { status: 'COMPLETED', output: { worker: workerId } });
    await waitFor(
      'one worker to be left',
      async () =>
        (await call(system!.clients.machines, 'listWorkers', { endpointId: jobs.id }, system!.key)).workers.length ===
        1,
    );
  },
);

// Old SDKs start a job that they took while others ran only when one of those ends. So one job runs until the worker
// has all others.
async function capped(t: Test, system: System, jobs: EndpointJobs, version: Version): Promise<void> {
  const { path, open, notes } = await scratch(t);
  const [note, first, rest] = ['note', 'first', 'rest'].map(path);
  const opener = await jobs.run({ note, until: first });
  await notes('note', 1);
  const others = await Promise.all(Array.from({ length: 7 }, () => jobs.run({ note, until: rest })));
  await jobs.counted({ inProgress: 4, inQueue: 4 }); // Four of eight are taken, the others wait.
  const { workerId } = await jobs.look(opener);
  if (version === 'old') {
    await waitFor('the worker to have three jobs in its own queue', async () =>
      (await call(system.clients.machines, 'getWorkerLog', { workerId, tailBytes: 0 }, system.key)).log.includes(
        'Jobs in queue: 3',
      ),
    );
  }
  open('first');
  t.equal((await jobs.settled(opener)).status, 'COMPLETED');
  await notes('note', 5); // 1 start, 1 end, at least 3 more starts
  await jobs.counted({ inProgress: 4, inQueue: 3 }); // The free place is filled again.
  open('rest');
  const ended = await Promise.all(others.map((id) => jobs.settled(id)));
  t.ok(ended.every((job) => job.status === 'COMPLETED'));
  const outputs = ended.map((job) => job.output as Output);
  t.equal(new Set(outputs.map((output) => output.worker)).size, 1, 'one worker ran them all');
  const peak = Math.max(...outputs.map((output) => output.peak));
  t.ok(peak >= 3 && peak <= 4, `${peak} ran at once`);
}

async function cancelOne(t: Test, jobs: EndpointJobs, version: Version): Promise<void> {
  const { path, open, notes, lines } = await scratch(t);
  const [note, until] = ['note', 'until'].map(path);
  const doomed = await jobs.run({ note, until });
  await notes('note', 1);
  const other = await jobs.run({ note, until });
  const { workerId } = await jobs.reached(other, 'IN_PROGRESS');
  if (version === 'new') await notes('note', 2);
  t.equal((await jobs.cancel(doomed)).status, 'CANCELLED', 'the answer comes at once');
  t.equal((await jobs.look(doomed)).status, 'CANCELLED');
  if (version === 'new') {
    await notes('note', 3);
    t.ok(lines('note').includes(`stopped ${doomed}`), 'the handler was stopped through the stop channel');
  }
  open('until');
  const { status, output } = await jobs.settled(other);
  t.equal(status, 'COMPLETED');
  t.equal((output as Output).worker, workerId, 'on the same worker: it was not killed for the sake of one job');
  t.equal((await jobs.look(doomed)).status, 'CANCELLED', 'a late result changes nothing');
  t.notOk((await jobs.look(doomed)).output);
}

// The cancelled job would run for ever. An old SDK receives no stop, and it begins a job that it takes now only when
// the cancelled one is over.
async function afterCancel(t: Test, jobs: EndpointJobs): Promise<void> {
  const { path, notes, lines } = await scratch(t);
  const [note, never] = ['note', 'never'].map(path);
  const doomed = await jobs.run({ note, until: never });
  await notes('note', 1);
  t.equal((await jobs.cancel(doomed)).status, 'CANCELLED');
  const next = await jobs.run({ note }, { policy: { executionTimeout: 30_000 } });
  const { status, retries } = await jobs.settled(next);
  t.equal(status, 'COMPLETED', 'never TIMED_OUT behind a job that nobody wants');
  t.notOk(retries, 'it was given to no worker that could not begin it');
  t.notOk(lines('note').includes(`end ${doomed}`), 'nobody waited for the end of the cancelled one');
}

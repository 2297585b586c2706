/** What a worker does wrong, or loses, on the bridge: each must leave the job whole. */

import { once } from 'node:events';
import { connect } from 'node:net';
import type { Test } from 'tap';
import type { RawWorker } from '../helpers/system/raw-worker.ts';
import type { BridgeSetting } from './bridge-setting.ts';
import { parked } from './bridge-setting.ts';

export async function twice(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const id = await jobs.run({});
  await worker.takeJob();
  const statuses = await Promise.all([worker.done(id, { output: 'first' }), worker.done(id, { output: 'first' })]);
  t.same(statuses, [200, 200]);
  t.equal(await worker.done(id, { output: 'second' }), 200);
  t.equal(await worker.done(id, { error: 'third' }), 200);
  t.match(await jobs.settled(id), { status: 'COMPLETED', output: 'first' }, 'the first one counts');
  t.equal((await jobs.counted({ inProgress: 0 })).jobs.completed, 1);
}

export async function closedPoll(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const closing = new AbortController();
  const poll = worker.take({ signal: closing.signal });
  await parked(jobs);
  closing.abort();
  await t.rejects(poll, { name: 'AbortError' });
  const id = await jobs.run({ after: 'the close' });
  t.equal((await worker.takeJob()).id, id, 'the next take gets it');
  t.equal(await worker.done(id, { output: 1 }), 200);
  const job = await jobs.settled(id);
  t.equal(job.status, 'COMPLETED');
  t.notOk(job.retries, 'no attempt was lost: no worker had seen it');
}

/** Opens a take on a bare socket. `until` gets the received text and decides when to close it without an answer. */
async function takeAndVanish(worker: RawWorker, until: (received: string) => boolean): Promise<void> {
  const url = new URL(worker.takeUrl());
  const socket = connect(Number(url.port), url.hostname);
  const headers = Object.entries({ host: url.host, ...worker.headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\n${headers}\r\n`);
  let received = '';
  while (!until(received)) received += (await once(socket, 'data'))[0];
  socket.destroy();
}

export async function closedWhileWriting(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const vanished = takeAndVanish(worker, (received) => received.length > 0);
  await parked(jobs);
  const pad = 'x'.repeat(9 * 1024 * 1024);
  const id = await jobs.run({ pad });
  await vanished;
  const job = await worker.takeJob();
  t.equal(job.id, id, 'the next take gets it');
  t.equal((job.input.pad as string).length, pad.length);
  t.equal(await worker.done(id, { output: 'got it' }), 200);
  t.match(await jobs.settled(id), { status: 'COMPLETED', output: 'got it' });
}

export async function lostHandover(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const vanished = takeAndVanish(worker, (received) => received.includes('"input"'));
  await parked(jobs);
  const id = await jobs.run({});
  await vanished;
  // The bridge wrote the whole answer and cannot know that it was lost. The worker's next take says that it holds
  // nothing.
  t.equal((await worker.takeJob()).id, id, 'it comes again');
  t.equal(await worker.done(id, { output: 'got it' }), 200);
  t.match(await jobs.settled(id), { status: 'COMPLETED', output: 'got it' });
}

export async function unsent(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const id = await jobs.run({});
  await worker.takeJob();
  // A lone surrogate in an output makes it do so: it logs the failure and takes the next job.
  const next = worker.takeJob();
  const job = await jobs.settled(id);
  t.equal(job.status, 'FAILED');
  t.match(
    job.error,
    /asked for new jobs without having returned a result .* log/,
    'it may have run: nobody can say that it was not confirmed',
  );
  const other = await jobs.run({});
  t.equal((await next).id, other);
  t.equal(await worker.done(other, { output: 1 }), 200);
}

export async function previousWorker(t: Test, { jobs, worker, next }: BridgeSetting): Promise<void> {
  const id = await jobs.run({});
  t.equal((await worker.takeJob()).id, id);
  process.kill(worker.pid, 'SIGKILL');
  const second = await next();
  t.not(second.id, worker.id, 'a restart is a new worker');
  t.equal((await second.takeJob()).id, id, 'the lost attempt is put back');
  t.equal(await worker.done(id, { output: 'from the grave' }), 200, 'accepted');
  t.equal((await jobs.look(id)).status, 'IN_PROGRESS', 'and dropped');
  t.equal(await second.done(id, { output: 'alive' }), 200);
  t.match(await jobs.settled(id), { status: 'COMPLETED', output: 'alive', retries: 1, workerId: second.id });
}

export async function strangers(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const id = await jobs.run({});
  await worker.takeJob();
  t.equal(
    await worker.done('00000000-0000-4000-8000-000000000000-u1', { output: 1 }),
    200,
    'an unknown job is dropped',
  );
  const slowly = async (url: string): Promise<number> => {
    const startedAtMs = performance.now();
    const { status } = await fetch(url, { headers: worker.headers });
    t.ok(performance.now() - startedAtMs > 900, 'slowly: SDKs ask again at once');
    return status;
  };
  const [gone, forged] = await Promise.all([
    slowly(worker.takeUrl().replace(worker.id, 'nosuchworker00')),
    slowly(worker.takeUrl().replace(/(\/v2\/[a-z0-9]+\/)[^/]+/, '$1forged')),
  ]);
  t.equal(gone, 404, 'a worker that is not there gets nothing');
  t.equal(forged, 401, 'nor does one with a wrong token');
  t.equal(await worker.done(id, { output: 1 }), 200);
  t.match(await jobs.settled(id), { status: 'COMPLETED', output: 1 });
}

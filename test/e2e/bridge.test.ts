// test: postgres, 20 s
/**
 * The worker protocol at its edges, spoken by hand to a real agent's bridge (docs/reference/worker-protocol.md#routes).
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Test } from 'tap';
import t from 'tap';
import type { RawWorker } from '../helpers/system/raw-worker.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import type { BridgeSetting } from './bridge-setting.ts';
import { openSetting, parked } from './bridge-setting.ts';

const MEBIBYTE = 1024 * 1024;

t.setTimeout(600_000);
t.test('bridge', async (t) => {
  t.jobs = 7;
  const system = await startSystem(t);
  const part = (
    name: string,
    body: (t: Test, setting: BridgeSetting) => Promise<void>,
    sdk?: string,
  ): Promise<unknown> => t.test(name, async (t) => body(t, await openSetting(t, system, {}, sdk)));
  await Promise.all([
    part('bodies are raw JSON whatever their label', labels),
    part('a result that cannot be used ends the job with a clear text', unusable),
    part('chunks, progress and the late ones', progressAndChunks),
    part('a result that comes twice', twice),
    part('a poll that is closed before a job comes', closedPoll),
    part('a poll that is closed while a job is being written', closedWhileWriting),
    part('a job that was written but never arrived', lostHandover),
    t.test('a result that its SDK could not send', async (t) =>
      unsent(t, await openSetting(t, system, { retryLimit: 0 })),
    ),
    part('two takes at once', twoTakes),
    part('over-take at concurrency 1', overTake, '1.7.4'),
    part('batch takes', batches),
    part('several results in one request', resultBatch),
    part('stop channel', stopChannel),
    part('a result of a former worker', previousWorker),
    part('refresh', refresh),
    part('strangers', strangers),
  ]);
});

async function labels(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const awkward = '{ "output" : {"a=b&c":"100 %+1 \\u0026 \\u00fc ü","n":12345678901234567890123,"f":1.10} }';
  for (const label of [
    'application/x-www-form-urlencoded',
    'application/json',
    'text/plain',
    'multipart/form-data',
    'nonsense',
  ]) {
    const id = await jobs.run({ label });
    const job = await worker.takeJob();
    t.match(job, { id, input: { label } });
    t.equal(await worker.done(id, awkward, label), 200);
    await jobs.settled(id);
    const { text } = await jobs.status(id);
    t.ok(
      text.includes('{"a=b&c":"100 %+1 \\u0026 \\u00fc ü","n":12345678901234567890123,"f":1.10}'),
      `${label}: byte for byte`,
    );
  }
}

async function unusable(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const bodies: [what: string, body: string, error: RegExp][] = [
    ['a little over the limit', `{"output":"${'x'.repeat(20 * MEBIBYTE)}"}`, /at most 20971520 bytes/],
    ['too much to keep until it is looked at', `{"output":"${'x'.repeat(40 * MEBIBYTE)}"}`, /at most 20971520 bytes/],
    ['no JSON', '{"output": NaN}', /valid JSON/],
    ['no object', '[1]', /object/],
    ['nothing', '', /valid JSON/],
    ['an error that is a list', '{"error":[1]}', /^\[1\]$/],
  ];
  for (const [what, body, error] of bodies) {
    const id = await jobs.run({ what });
    t.equal((await worker.takeJob()).id, id);
    // As SDKs do. Without a word the job would count as lost when so large a body takes its time on a busy machine.
    t.equal(await worker.ping(id), 200);
    t.equal(await worker.done(id, body), 200, `${what}: never a 4xx, which an SDK would only log`);
    t.match(await jobs.settled(id), { status: 'FAILED', error }, what);
  }
}

async function progressAndChunks(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const id = await jobs.run({});
  await worker.takeJob();
  t.equal(await worker.done(id, { status: 'IN_PROGRESS', output: { percent: 10 } }), 200);
  t.match(await jobs.when(id, 'showing progress', (job) => job.output !== undefined), {
    status: 'IN_PROGRESS',
    output: { percent: 10 },
  });
  for (const number of [1, 2, 3]) t.equal(await worker.chunk(id, number), 200);
  t.equal(await worker.done(id, { output: [] }, undefined, true), 200);
  t.equal(
    await worker.done(id, { status: 'IN_PROGRESS', output: { percent: 99 } }),
    200,
    'progress may overtake nothing any more',
  );
  t.equal(await worker.chunk(id, 4), 200);
  t.same(await jobs.drain(id), { outputs: [1, 2, 3], status: 'COMPLETED' });
  t.same((await jobs.look(id)).output, []);
}

async function twice(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const id = await jobs.run({});
  await worker.takeJob();
  const statuses = await Promise.all([worker.done(id, { output: 'first' }), worker.done(id, { output: 'first' })]);
  t.same(statuses, [200, 200]);
  t.equal(await worker.done(id, { output: 'second' }), 200);
  t.equal(await worker.done(id, { error: 'third' }), 200);
  t.match(await jobs.settled(id), { status: 'COMPLETED', output: 'first' }, 'the first one counts');
  t.equal((await jobs.counted({ inProgress: 0 })).jobs.completed, 1);
}

async function closedPoll(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
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

async function closedWhileWriting(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const vanished = takeAndVanish(worker, (received) => received.length > 0);
  await parked(jobs);
  const pad = 'x'.repeat(9 * MEBIBYTE);
  const id = await jobs.run({ pad });
  await vanished;
  const job = await worker.takeJob();
  t.equal(job.id, id, 'the next take gets it');
  t.equal((job.input.pad as string).length, pad.length);
  t.equal(await worker.done(id, { output: 'got it' }), 200);
  t.match(await jobs.settled(id), { status: 'COMPLETED', output: 'got it' });
}

async function lostHandover(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
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

async function unsent(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
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

async function twoTakes(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const closing = new AbortController();
  const takes = [1, 2].map(() => worker.take({ signal: closing.signal }));
  await parked(jobs);
  const ids = [await jobs.run({ number: 1 }), await jobs.run({ number: 2 })];
  const first = await Promise.any(
    takes.map(async (take) => (await take).jobs[0] ?? Promise.reject(new Error('empty'))),
  );
  t.equal(first.id, ids[0], 'first in, first out');
  await jobs.counted({ inProgress: 1, inQueue: 1 }); // One at a time: the bridge goes by its own count.
  t.equal(await worker.done(first.id, { output: 1 }), 200);
  const second = Promise.any([
    ...takes.map(async (take) => {
      const [job] = (await take).jobs;
      return job && job.id !== first.id ? job : Promise.reject(new Error('empty'));
    }),
    worker.takeJob({ signal: closing.signal }),
  ]);
  t.equal((await second).id, ids[1]);
  closing.abort();
  t.equal(await worker.done(ids[1]!, { output: 2 }), 200);
  for (const id of ids) t.match(await jobs.settled(id), { status: 'COMPLETED' });
  t.equal((await jobs.counted({ completed: 2 })).jobs.retried, 0);
}

// SDKs 1.7.1 to 1.7.5 ask again right after a take and say that they hold nothing
// (docs/reference/worker-protocol.md#concurrency).
async function overTake(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const ids = [await jobs.run({ number: 1 }), await jobs.run({ number: 2 })];
  t.equal((await worker.takeJob()).id, ids[0]);
  const closing = new AbortController();
  const over = worker.take({ signal: closing.signal });
  t.equal(await worker.ping(ids[0]!), 200);
  await jobs.counted({ inProgress: 1, inQueue: 1 }); // The second job is not given away.
  t.equal(await worker.done(ids[0]!, { output: 1 }), 200);
  const second = (await over).jobs[0] ?? (await worker.takeJob());
  t.equal(second.id, ids[1]);
  t.equal(await worker.done(ids[1]!, { output: 2 }), 200);
  for (const id of ids) t.match(await jobs.settled(id), { status: 'COMPLETED' });
  t.equal((await jobs.counted({ completed: 2 })).jobs.retried, 0, 'the first job was not taken for lost');
}

async function batches(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const ids: string[] = [];
  for (let number = 0; number < 5; number += 1) ids.push(await jobs.run({ number }));
  const taken: string[] = [];
  while (taken.length < 3) {
    const { status, jobs: batch } = await worker.take({ batch: 3 - taken.length, inProgress: taken.length > 0 });
    t.ok(status === 200 || status === 204);
    taken.push(...batch.map((job) => job.id));
  }
  t.same(taken, ids.slice(0, 3), 'in order, as many as asked for');
  await jobs.counted({ inProgress: 3, inQueue: 2 });
  for (const id of taken) t.equal(await worker.done(id, { output: id }), 200);
  while (taken.length < 5) taken.push(...(await worker.take({ batch: 3 })).jobs.map((job) => job.id));
  t.same(taken, ids);
  for (const id of ids.slice(3)) t.equal(await worker.done(id, { output: id }), 200);
  for (const id of ids) t.match(await jobs.settled(id), { status: 'COMPLETED', output: id });
}

async function resultBatch(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const ids = await Promise.all([1, 2, 3].map((number) => jobs.run({ number })));
  await waitFor('all three', async () => {
    await worker.take({ batch: 3, inProgress: true });
    return (await jobs.health()).jobs.inProgress === 3;
  });
  const result = (id: string, body: string): string => `${id} 0 ${Buffer.byteLength(body)}\n${body}\n`;
  const [ok, failed, odd] = [
    result(ids[0]!, '{"output":"é"}'),
    result(ids[1]!, '{"error":"no"}'),
    result(ids[2]!, '{"output":NaN}'),
  ];
  t.equal(await worker.doneBatch(ok.slice(0, -1)), 400, 'what is cut off is refused');
  t.equal((await jobs.look(ids[0]!)).status, 'IN_PROGRESS', 'and changes nothing');
  t.equal(await worker.doneBatch(ok + result('nobody', '{}') + failed + odd), 200);
  t.match(await jobs.settled(ids[0]!), { status: 'COMPLETED', output: 'é' });
  t.match(await jobs.settled(ids[1]!), { status: 'FAILED', error: 'no' });
  t.match(await jobs.settled(ids[2]!), { status: 'FAILED', error: /not valid JSON/ });
  t.equal(await worker.doneBatch(ok), 200, 'a second time is dropped');
}

async function stopChannel(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
  const id = await jobs.run({});
  await worker.takeJob();
  const stops = worker.stopSignals();
  t.match(await jobs.cancel(id), { id, status: 'CANCELLED' });
  t.same(await stops, [id]);
  // An SDK that has stopped a job posts nothing; its next take shows that it is free.
  const next = await jobs.run({});
  t.equal((await worker.takeJob()).id, next, 'the same worker goes on');
  t.equal(await worker.done(next, { output: 1 }), 200);
  t.equal((await jobs.settled(next)).workerId, worker.id);
  t.equal((await jobs.look(id)).status, 'CANCELLED');
}

async function previousWorker(t: Test, { jobs, worker, next }: BridgeSetting): Promise<void> {
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

async function refresh(t: Test, { jobs, worker, next }: BridgeSetting): Promise<void> {
  const id = await jobs.run({});
  await worker.takeJob();
  const later = await jobs.run({});
  t.equal(await worker.done(id, { output: 1, stopPod: true }), 200);
  t.same((await worker.take()).jobs, [], 'it gets no more work');
  const second = await next();
  t.equal((await second.takeJob()).id, later);
  t.equal(await second.done(later, { output: 2 }), 200);
  t.match(await jobs.settled(id), { status: 'COMPLETED', output: 1 });
  t.match(await jobs.settled(later), { status: 'COMPLETED', output: 2 });
}

async function strangers(t: Test, { jobs, worker }: BridgeSetting): Promise<void> {
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

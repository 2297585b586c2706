// test: postgres, 15 s
/**
 * The worker protocol at its edges, spoken by hand to a real agent's bridge (docs/reference/worker-protocol.md#routes).
 */
import type { Test } from 'tap';
import t from 'tap';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import {
  closedPoll,
  closedWhileWriting,
  lostHandover,
  previousWorker,
  strangers,
  twice,
  unsent,
} from './bridge-faults.ts';
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

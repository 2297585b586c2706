// test: postgres
/** Streamed output: order, both ways of reading, waits, and what a stale attempt may not do. */

import type { EngineMeter } from '@slipway/core/jobs/engine-meter';
import { ReadChunks } from '@slipway/core/jobs/read/read-chunks';
import { WaitStopper } from '@slipway/core/jobs/read/wait-stopper';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import {
  never,
  outcome,
  refused,
  runningJob,
  slotsOn,
  startEngines,
  submission,
} from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const engines = await startEngines(t, { replicas: 2 });
const { engine, sql, replicas } = engines;
const { calls, attempts } = engine;
type Claimed = Awaited<ReturnType<typeof runningJob>>;
const chunk = (job: Claimed, number: number, text = `"c${number}"`) => ({
  endpointId: job.endpointId,
  jobId: job.jobId,
  attempt: job.attempt,
  machineId: job.machineId,
  number,
  output: Buffer.from(text),
  metrics: undefined,
});
const append = (job: Claimed, from: number, to: number): Promise<unknown> =>
  Promise.all(Array.from({ length: to - from + 1 }, (_, i) => attempts.appendChunks([chunk(job, from + i)])));
const drain = { cursor: undefined, waitMs: 0, limit: 0 };
const numbers = (page: { chunks: { number: number }[] }): number[] => page.chunks.map((each) => each.number);

t.test('the shared cursor: each chunk once, in order', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  t.match(await calls.readChunks(job, drain, never), {
    chunks: [],
    state: 'IN_PROGRESS',
    more: false,
    cursor: { attempt: 0, number: 0 },
  });
  await append(job, 1, 3);
  t.same(numbers(await calls.readChunks(job, { ...drain, limit: 2 }, never)), [1, 2]);
  await append(job, 4, 4);
  t.match(await calls.readChunks(job, { ...drain, limit: 1 }, never), {
    chunks: [{ number: 3, attempt: 1, output: Buffer.from('"c3"') }],
    more: true,
  });
  await attempts.recordOutcome(outcome(job));
  t.match(await calls.readChunks(job, drain, never), {
    chunks: [{ number: 4 }],
    state: 'COMPLETED',
    more: false,
    cursor: { attempt: 1, number: 4 },
  });
  t.match(await calls.readChunks(job, drain, never), { chunks: [], state: 'COMPLETED', more: false });
});

t.test('an own cursor reads everything again and leaves the shared one alone', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  await append(job, 1, 5);
  const own = (number: number, limit = 0) =>
    calls.readChunks(job, { cursor: { attempt: number === 0 ? 0 : 1, number }, waitMs: 0, limit }, never);
  t.same(numbers(await own(0)), [1, 2, 3, 4, 5]);
  t.match(await own(2, 2), { chunks: [{ number: 3 }, { number: 4 }], more: true, cursor: { attempt: 1, number: 4 } });
  t.match(await own(5), { chunks: [], cursor: { attempt: 1, number: 5 } });
  t.same(numbers(await calls.readChunks(job, drain, never)), [1, 2, 3, 4, 5]);
});

t.test('many readers share the chunks: none twice, none lost', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  await append(job, 1, 200);
  const read: number[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      for (;;) {
        const page = await replicas[i % 2]!.engine.calls.readChunks(job, { ...drain, limit: 7 }, never);
        if (page.chunks.length === 0) return;
        read.push(...numbers(page));
      }
    }),
  );
  t.same(
    read.toSorted((a, b) => a - b),
    Array.from({ length: 200 }, (_, i) => i + 1),
  );
});

t.test('readers of many jobs share statements', async (t) => {
  const endpointId = await engines.endpoint();
  const jobs: Claimed[] = [];
  while (jobs.length < 40) jobs.push(await runningJob(engines, endpointId));
  const batches: number[] = [];
  const meter = {
    batches: {
      watch:
        () =>
        (items: number): void =>
          void batches.push(items),
    },
  } as unknown as EngineMeter;
  const reads = new ReadChunks({ stores: replicas[0]!.stores, events: replicas[0]!.events, clock: systemClock, meter });
  const waiting = jobs.map((job) => reads.read(job, { ...drain, waitMs: 30_000 }, never));
  await waitFor('all to have looked', async () => batches.reduce((sum, items) => sum + items, 0) >= jobs.length);
  await Promise.all(jobs.map((job) => append(job, 1, 2)));
  for (const page of await Promise.all(waiting)) t.equal(page.chunks[0]?.number, 1);
  const statements = batches.length;
  t.ok(statements <= jobs.length / 2, `${statements} statements for ${jobs.length} readers who looked twice`);
  const places = await Promise.all(jobs.map((job) => reads.read(job, drain, never)));
  t.ok(
    places.every(({ cursor }) => cursor.number === 2),
    'each shared place has moved',
  );
  t.equal(batches.length, statements + 1);
});

t.test('a large page is read alone, once its reader has capacity, and loses nothing', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  let rooms = 0;
  const room = async (): Promise<void> => {
    rooms += 1;
  };
  const read = async (limit = 0): Promise<number[]> =>
    numbers(await calls.readChunks(job, { ...drain, limit }, never, room));
  await append(job, 1, 120);
  t.same(
    await read(100),
    Array.from({ length: 100 }, (_, i) => i + 1),
  );
  t.equal(rooms, 0);
  t.same(
    await read(),
    Array.from({ length: 20 }, (_, i) => i + 101),
  );
  for (let number = 121; number <= 124; number += 1)
    await attempts.appendChunks([chunk(job, number, JSON.stringify('x'.repeat(40_000)))]);
  t.same(await read(1), [121]);
  t.equal(rooms, 0);
  t.same(await read(), [122, 123, 124], 'more than 64 KiB');
  t.equal(rooms, 1);
  await append(job, 125, 230);
  t.equal((await read()).length, 106, 'more than 100');
  t.equal(rooms, 2);
});

t.test('a waiting reader wakes at a chunk, also from another replica, and at the end', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  for (const [i, { engine: reader }] of replicas.entries()) {
    const waiting = reader.calls.readChunks(job, { ...drain, waitMs: 30_000 }, never);
    await reader.calls.get(job, { omitOutput: true, ttlMs: 0 });
    await append(job, i + 1, i + 1);
    t.same(numbers(await waiting), [i + 1]);
  }
  const waiting = replicas.map(({ engine: reader }) =>
    reader.calls.readChunks(job, { ...drain, waitMs: 30_000 }, never),
  );
  await attempts.recordOutcome(outcome(job, { kind: 'FAILED', error: 'broken' }));
  for (const page of await Promise.all(waiting)) t.match(page, { chunks: [], state: 'FAILED', error: 'broken' });
});

t.test('the wait of a reader ends by the clock and when it is abandoned', async (t) => {
  const { id } = await calls.submit(submission(await engines.endpoint()));
  const [row] = await sql<{ endpoint_id: string }[]>`SELECT endpoint_id FROM job WHERE id = ${id}`;
  const key = { endpointId: row!.endpoint_id, jobId: id };
  t.match(await calls.readChunks(key, { ...drain, waitMs: 60 }, never), { chunks: [], state: 'IN_QUEUE' });
  const abandoned = new WaitStopper();
  const waiting = calls.readChunks(key, { ...drain, waitMs: 300_000 }, abandoned);
  abandoned.stop();
  t.match(await waiting, { chunks: [], state: 'IN_QUEUE' });
});

t.test('an answer ends after 8 MiB, but holds at least one chunk', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  for (let number = 1; number <= 12; number += 1)
    await attempts.appendChunks([chunk(job, number, JSON.stringify('x'.repeat(999_000)))]);
  const first = await calls.readChunks(job, drain, never);
  t.equal(first.chunks.length, 8);
  t.equal(first.more, true);
  t.same(numbers(await calls.readChunks(job, drain, never)), [9, 10, 11, 12]);
});

t.test('metrics count as well', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const metrics = Buffer.from(JSON.stringify({ text: 'm'.repeat(999_000) }));
  for (let number = 1; number <= 12; number += 1) await attempts.appendChunks([{ ...chunk(job, number), metrics }]);
  t.equal((await calls.readChunks(job, drain, never)).chunks.length, 8);
  t.same(numbers(await calls.readChunks(job, drain, never)), [9, 10, 11, 12]);
});

t.test('an outcome is never stored before the chunks that were given earlier', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const given = append(job, 1, 300);
  const recorded = attempts.recordOutcome(outcome(job));
  const page = await calls.wait(job, 30_000, never).then(() => calls.readChunks(job, drain, never));
  t.equal(page.chunks.length, 300);
  await Promise.all([given, recorded]);
});

t.test('chunks and progress of an attempt that is not current are dropped without a word', async (t) => {
  const endpointId = await engines.endpoint();
  const job = await runningJob(engines, endpointId);
  await append(job, 1, 2);
  await append(job, 1, 2);
  await attempts.recordOutcome(outcome(job, { kind: 'LOST' }));
  await append(job, 3, 3);
  const [second] = await attempts.claim(endpointId, slotsOn(endpointId, 1));
  await append(job, 4, 4);
  await append(second!, 1, 1);
  t.match((await calls.readChunks(job, drain, never)).chunks, [{ attempt: 2, number: 1 }]);
  attempts.recordProgress(job, Buffer.from('"stale"'));
  attempts.recordProgress(second!, Buffer.from('"old"'));
  attempts.recordProgress(second!, Buffer.from('"50 %"'));
  const shown = await waitFor('progress', async () => (await calls.get(job, { omitOutput: false, ttlMs: 0 })).output);
  t.equal(shown.toString(), '"50 %"', 'the latest value of the current attempt');
  await attempts.recordOutcome(outcome(second!));
  await append(second!, 2, 2);
  attempts.recordProgress(second!, Buffer.from('"late"'));
  attempts.recordProgress(await runningJob(engines, endpointId), Buffer.from('"another"'));
  t.same((await calls.readChunks(job, drain, never)).chunks, []);
  t.equal(
    (await calls.get(job, { omitOutput: false, ttlMs: 0 })).output!.toString(),
    '{"b":2}',
    'progress never replaces a result',
  );
});

t.test('metrics travel with their chunk', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  await attempts.appendChunks([{ ...chunk(job, 1), metrics: Buffer.from('{"tokens":3}') }]);
  t.match((await calls.readChunks(job, drain, never)).chunks, [{ number: 1, metrics: Buffer.from('{"tokens":3}') }]);
  await refused(t, calls.readChunks({ endpointId: job.endpointId, jobId: 'nonsense' }, drain, never), 'JOB_NOT_FOUND');
});

t.test('a chunk that is no JSON ends its job, and is never shown', async (t) => {
  const broken = [
    chunk(await runningJob(engines, await engines.endpoint()), 2, '{"a":'),
    chunk(await runningJob(engines, await engines.endpoint()), 2, ''),
  ];
  const long = chunk(await runningJob(engines, await engines.endpoint()), 2, `["${'x'.repeat(500_000)}",}`);
  const metrics = { ...chunk(await runningJob(engines, await engines.endpoint()), 2), metrics: Buffer.from('{') };
  for (const bad of [...broken, long, metrics]) {
    const first = attempts.appendChunks([
      { ...bad, number: 1, output: Buffer.from(JSON.stringify('y'.repeat(300_000))), metrics: undefined },
    ]);
    t.same(
      await attempts.appendChunks([bad, { ...bad, number: 3, output: Buffer.from('"after it"'), metrics: undefined }]),
      [bad],
    );
    t.same(await first, []);
    t.equal(await attempts.recordOutcome(outcome(bad)), 'stale', 'the job has ended');
    t.match(await calls.get(bad, { omitOutput: false, ttlMs: 0 }), {
      state: 'FAILED',
      error: /not valid JSON/,
      output: undefined,
    });
    t.same(numbers(await calls.readChunks(bad, drain, never)), [1], 'what came before is there');
  }
});

t.test('chunks keep their order while a large one is checked', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const large = JSON.stringify(Array.from({ length: 100_000 }, (_, i) => i));
  await Promise.all([
    attempts.appendChunks([chunk(job, 1, large)]),
    attempts.appendChunks([chunk(job, 2)]),
    attempts.recordOutcome(outcome(job)),
  ]);
  const { chunks } = await calls.readChunks(job, drain, never);
  t.same(
    chunks.map(({ number, output }) => [number, output.length]),
    [
      [1, large.length],
      [2, 4],
    ],
  );
});

t.test('progress that is no JSON is not shown', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  attempts.recordProgress(job, Buffer.from('"good"'));
  attempts.recordProgress(await runningJob(engines, job.endpointId), Buffer.from('{'));
  await waitFor('progress', async () => (await calls.get(job, { omitOutput: false, ttlMs: 0 })).output);
  const long = Buffer.from(`["${'x'.repeat(300_000)}"]`);
  attempts.recordProgress(job, long.subarray(1));
  attempts.recordProgress(job, long);
  const shown = await waitFor('progress', async () => {
    const { output } = await calls.get(job, { omitOutput: false, ttlMs: 0 });
    return output && output.length > 100 ? output : undefined;
  });
  t.ok(shown.equals(long));
});

// test: postgres
/** Operations of owners on their jobs: cancel, retry, purge, shorten the TTL, list. */

import type { JobState } from '@slipway/core/domain/jobs/job-state';
import { JOB_STATES } from '@slipway/core/domain/jobs/job-state';
import t from 'tap';
import type { Engines } from '../../helpers/system/job-engine.ts';
import {
  never,
  outcome,
  refused,
  runningJob,
  slotsOn,
  startEngines,
  submission,
} from '../../helpers/system/job-engine.ts';

const engines = await startEngines(t);
const { engine, events, sql } = engines;
const { calls, attempts } = engine;
const state = async (key: { endpointId: string; jobId: string }): Promise<JobState> =>
  (await calls.get(key, { omitOutput: true, ttlMs: 0 })).state;

/** Returns a job in a state. */
async function jobIn(wanted: JobState): Promise<{ endpointId: string; jobId: string; attempt: number }> {
  const endpointId = await engines.endpoint();
  if (wanted === 'IN_QUEUE') return { endpointId, jobId: (await calls.submit(submission(endpointId))).id, attempt: 0 };
  const job = await runningJob(engines as Engines, endpointId);
  if (wanted === 'COMPLETED' || wanted === 'FAILED')
    await attempts.recordOutcome(outcome(job, { kind: wanted, error: 'why' }));
  if (wanted === 'CANCELLED') await calls.cancel(job);
  if (wanted === 'TIMED_OUT') {
    await sql`UPDATE job SET execution_deadline_at = now() WHERE id = ${job.jobId}`;
    await calls.wait(job, 10_000, never);
  }
  t.equal(await state(job), wanted);
  return job;
}

t.test('cancel from every state', async (t) => {
  for (const from of JOB_STATES) {
    const job = await jobIn(from);
    const stops: unknown[] = [];
    const off = events.on('stop', (some) => {
      stops.push(...some.filter((stop) => stop.jobId === job.jobId));
    });
    const after = await calls.cancel(job);
    off();
    const expected = from === 'IN_QUEUE' || from === 'IN_PROGRESS' ? 'CANCELLED' : from;
    t.equal(after.state, expected, `${from} becomes ${expected}`);
    t.equal(await state(job), expected);
    t.equal(stops.length, from === 'IN_PROGRESS' ? 1 : 0, 'only a running attempt is stopped');
    if (from === 'IN_PROGRESS') t.match(stops[0], { machineId: 'machine00001', attempt: 1 });
    t.equal(
      await attempts.recordOutcome(outcome({ ...job, attempt: 1, machineId: 'machine00001' })),
      'stale',
      'an outcome comes too late',
    );
    t.same(await attempts.claim(job.endpointId, slotsOn(job.endpointId, 1)), [], 'nothing is left to claim');
  }
});

t.test('retry from every state', async (t) => {
  for (const from of JOB_STATES) {
    const job = await jobIn(from);
    if (from === 'FAILED') await sql`INSERT INTO job_chunk VALUES (${job.endpointId}, ${job.jobId}, 1, 1, '1', NULL)`;
    if (from !== 'FAILED' && from !== 'TIMED_OUT') {
      await refused(t, calls.retry(job), 'JOB_NOT_RETRYABLE', `${from} cannot be retried`);
      t.equal(await state(job), from);
      continue;
    }
    const [before] = await sql`SELECT position FROM job WHERE id = ${job.jobId}`;
    t.match(await calls.retry(job), {
      id: job.jobId,
      state: 'IN_QUEUE',
      retries: 0,
      delayMs: undefined,
      finishedAtMs: undefined,
    });
    t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), {
      output: undefined,
      error: undefined,
      workerId: undefined,
    });
    const [row] = await sql`
      SELECT position, expires_at = ttl_deadline_at AS lives, (SELECT count(*) FROM job_chunk
        WHERE job_id = j.id) AS chunks
      FROM job j WHERE id = ${job.jobId}`;
    t.match(row, { lives: true, chunks: 0 });
    t.ok(row!['position'] > before!['position'], 'at the end of the queue');
    t.match(await attempts.claim(job.endpointId, slotsOn(job.endpointId, 1)), [
      { jobId: job.jobId, attempt: 2, input: Buffer.from('{"a":1}') },
    ]);
  }
});

t.test('purge removes queued jobs and nothing else, and counts them', async (t) => {
  const endpointId = await engines.endpoint({ workers_max: 20 });
  const running = await runningJob(engines as Engines, endpointId);
  const queued = await Promise.all(
    Array.from({ length: 2_100 }, (_, i) =>
      calls.submit(submission(endpointId, { policy: { lowPriority: i % 7 === 0 } })),
    ),
  );
  const { id: expired } = queued[0]!;
  await sql`UPDATE job SET expires_at = now() WHERE id = ${expired}`;
  const elsewhere = await jobIn('IN_QUEUE');
  t.equal(await calls.purge(endpointId), queued.length - 1, 'an expired job is not counted');
  await refused(t, calls.get({ endpointId, jobId: queued[5]!.id }, { omitOutput: true, ttlMs: 0 }), 'JOB_NOT_FOUND');
  t.equal(await state(running), 'IN_PROGRESS');
  t.equal(await state(elsewhere), 'IN_QUEUE');
  t.equal(await calls.purge(endpointId), 0);
  const [row] = await sql`SELECT count(*) AS n FROM job_input WHERE endpoint_id = ${endpointId}`;
  t.equal(row!['n'], 1, 'inputs go with their jobs');
});

t.test('a waiter sees a purge and a cancel', async (t) => {
  const purged = await jobIn('IN_QUEUE');
  const gone = refused(t, calls.wait(purged, 20_000, never), 'JOB_NOT_FOUND', 'the waiter of a purged job');
  await calls.get(purged, { omitOutput: true, ttlMs: 0 });
  await calls.purge(purged.endpointId);
  await gone;
  const job = await jobIn('IN_QUEUE');
  const waiting = calls.wait(job, 20_000, never);
  await calls.cancel(job);
  t.equal((await waiting).state, 'CANCELLED');
});

t.test('unknown jobs, other endpoints and malformed ids are not found', async (t) => {
  const job = await jobIn('COMPLETED');
  const endpointId = await engines.endpoint();
  const unknown = '00000000-0000-4000-8000-000000000000-u1';
  for (const key of [
    { endpointId, jobId: job.jobId },
    { endpointId: job.endpointId, jobId: 'x' },
    { endpointId, jobId: unknown },
  ]) {
    await refused(t, calls.get(key, { omitOutput: false, ttlMs: 0 }), 'JOB_NOT_FOUND');
    await refused(t, calls.get(key, { omitOutput: false, ttlMs: 5_000 }), 'JOB_NOT_FOUND');
    await refused(t, calls.wait(key, 1_000, never), 'JOB_NOT_FOUND');
    await refused(t, calls.cancel(key), 'JOB_NOT_FOUND');
    await refused(t, calls.retry(key), 'JOB_NOT_FOUND');
    await refused(t, calls.readChunks(key, { cursor: undefined, waitMs: 1_000, limit: 0 }, never), 'JOB_NOT_FOUND');
  }
});

t.test('a reader may set the remaining life', async (t) => {
  const left = async (jobId: string): Promise<number> => {
    const [row] = await sql<
      { ms: number }[]
    >`SELECT (extract(epoch FROM expires_at - now()) * 1000)::float8 AS ms FROM job WHERE id = ${jobId}`;
    return row!.ms;
  };
  const queued = await jobIn('IN_QUEUE');
  await calls.get(queued, { omitOutput: true, ttlMs: 6_000 });
  t.ok((await left(queued.jobId)) <= 6_000);
  await calls.get(queued, { omitOutput: true, ttlMs: 200_000_000 });
  t.ok((await left(queued.jobId)) > 199_000_000, 'also longer, while it is not final');
  const done = await jobIn('COMPLETED');
  await calls.get(done, { omitOutput: true, ttlMs: 200_000_000 });
  t.ok((await left(done.jobId)) <= 1_800_000, 'retention still ends');
  await calls.get(done, { omitOutput: true, ttlMs: 1_000 });
  t.ok((await left(done.jobId)) <= 1_000);
  for (const ttlMs of [-1, 0.5, 604_800_001])
    await refused(t, calls.get(done, { omitOutput: true, ttlMs }), 'INVALID_REQUEST', String(ttlMs));
});

t.test('list: newest or oldest first, by state, in pages, with the total', async (t) => {
  const endpointId = await engines.endpoint();
  const ids: string[] = [];
  for (let i = 0; i < 5; i += 1) ids.unshift((await calls.submit(submission(endpointId))).id);
  await calls.cancel({ endpointId, jobId: ids[2]! });
  const page = async (request: Parameters<typeof calls.list>[1]) => {
    const { jobs, total } = await calls.list(endpointId, request);
    return { ids: jobs.map((job) => ids.indexOf(job.id)), total };
  };
  t.same(await page({ oldestFirst: false, state: undefined, offset: 0, limit: 0 }), { ids: [0, 1, 2, 3, 4], total: 5 });
  t.same(await page({ oldestFirst: false, state: undefined, offset: 1, limit: 2 }), { ids: [1, 2], total: 5 });
  t.same(await page({ oldestFirst: false, state: 'CANCELLED', offset: 0, limit: 10 }), { ids: [2], total: 1 });
  const first = await calls.list(endpointId, { oldestFirst: false, state: undefined, offset: 0, limit: 2 });
  const top = await calls.submit(submission(endpointId));
  t.same(
    await page({ oldestFirst: false, state: undefined, after: first.next, offset: 0, limit: 2 }),
    { ids: [2, 3], total: 6 },
    'what comes meanwhile shifts no page',
  );
  t.equal(
    (await calls.list(endpointId, { oldestFirst: false, state: undefined, after: first.next, offset: 1, limit: 2 }))
      .next,
    undefined,
    'the last page',
  );
  const oldest = await calls.list(endpointId, { oldestFirst: true, state: undefined, offset: 0, limit: 2 });
  t.same(
    oldest.jobs.map(({ id }) => id),
    [ids[4], ids[3]],
  );
  t.same(await page({ oldestFirst: true, state: undefined, after: oldest.next, offset: 1, limit: 2 }), {
    ids: [1, 0],
    total: 6,
  });
  const newest = await calls.list(endpointId, {
    oldestFirst: true,
    state: undefined,
    after: oldest.next,
    offset: 3,
    limit: 2,
  });
  t.same(
    [newest.jobs.map(({ id }) => id), newest.next],
    [[top.id], undefined],
    'the newest come last, also those that came meanwhile',
  );
  const running = await engine.attempts.claim(endpointId, slotsOn(endpointId, 1));
  t.same(
    (await calls.list(endpointId, { oldestFirst: false, state: undefined, offset: 0, limit: 9 })).jobs.map(
      ({ id }) => id,
    ),
    [top.id, ...ids],
    'in whatever state',
  );
  t.same(
    (await calls.list(endpointId, { oldestFirst: false, state: 'IN_PROGRESS', offset: 0, limit: 9 })).jobs.map(
      ({ id }) => id,
    ),
    running.map(({ jobId }) => jobId),
  );
  await refused(
    t,
    calls.list(endpointId, { oldestFirst: false, state: undefined, offset: -1, limit: 1 }),
    'INVALID_REQUEST',
  );
  await refused(
    t,
    calls.list(endpointId, { oldestFirst: false, state: undefined, offset: 0, limit: 1_001 }),
    'INVALID_REQUEST',
  );
});

t.test('deleting all jobs of an endpoint stops those that run', async (t) => {
  const job = await jobIn('IN_PROGRESS');
  await calls.submit(submission(job.endpointId));
  const stopped: string[] = [];
  events.on('stop', (stops) => {
    stopped.push(...stops.map((stop) => stop.jobId));
  });
  t.equal(await engine.deleteJobs(job.endpointId), 2);
  t.same(stopped, [job.jobId]);
});

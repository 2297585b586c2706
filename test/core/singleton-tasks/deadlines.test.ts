// test: postgres, 10 s
/** Deadlines: the execution timeout, the ttl in every state, the retention of both kinds, all by the database clock. */

import { ExpiryReaper } from '@slipway/core/singleton-tasks/expiry-reaper';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import {
  logger,
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
const { engine, events, sql, stores } = engines;
const { calls, attempts } = engine;
const stops: { jobId: string; reason: string; attempt: number; machineId: string }[] = [];
events.on('stop', (some) => {
  stops.push(...some);
});

t.test('a job that runs too long is TIMED_OUT on time, once, and its attempt is stopped', async (t) => {
  const endpointId = await engines.endpoint();
  const job = await runningJob(engines, endpointId);
  const waiting = calls.wait(job, 30_000, never);
  await sql`UPDATE job SET execution_deadline_at = now() + interval '600 ms', execution_timeout_ms = 5000
    WHERE id = ${job.jobId}`;
  t.match(await waiting, {
    state: 'TIMED_OUT',
    error: 'job timed out: it ran longer than its execution timeout of 5000 ms',
    attempt: 1,
    output: undefined,
  });
  const [row] = await sql<{ late: number }[]>`
    SELECT (extract(epoch FROM finished_at - started_at) * 1000)::float8 AS late FROM job WHERE id = ${job.jobId}`;
  t.comment(`ended after ${Math.round(row!.late)} ms`);
  await waitFor('the stop', () => stops.some((stop) => stop.jobId === job.jobId));
  t.match(
    stops.filter((stop) => stop.jobId === job.jobId),
    [{ attempt: 1, machineId: 'machine00001', reason: 'execution timeout' }],
  );
  t.equal(await attempts.recordOutcome(outcome(job)), 'stale', 'its result comes too late');
  t.match((await calls.health(endpointId)).jobs, { failed: 1, inProgress: 0 });
});

t.test('progress of a job that timed out is gone, its chunks are not', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  await attempts.appendChunks([{ ...job, number: 1, output: Buffer.from('1'), metrics: undefined }]);
  attempts.recordProgress(job, Buffer.from('"half"'));
  await waitFor('progress', async () => (await calls.get(job, { omitOutput: false, ttlMs: 0 })).output);
  await sql`UPDATE job SET execution_deadline_at = now() WHERE id = ${job.jobId}`;
  t.match(await calls.wait(job, 30_000, never), { state: 'TIMED_OUT' });
  t.equal((await calls.get(job, { omitOutput: false, ttlMs: 0 })).output, undefined);
  t.match(await calls.readChunks(job, { cursor: undefined, waitMs: 0, limit: 0 }, never), {
    chunks: [{ number: 1 }],
    state: 'TIMED_OUT',
  });
});

t.test('ttl deletes a job in every state; a running one is stopped', async (t) => {
  const endpointId = await engines.endpoint();
  const queued = {
    endpointId,
    jobId: (await calls.submit(submission(endpointId, { policy: { lowPriority: true } }))).id,
  };
  const running = await runningJob(engines, endpointId);
  const final = await runningJob(engines, endpointId);
  await attempts.recordOutcome(outcome(final));
  const waiting = refused(t, calls.wait(running, 30_000, never), 'JOB_NOT_FOUND', 'the waiter hears of it');
  for (const { jobId } of [queued, running, final])
    await sql`UPDATE job SET ttl_deadline_at = now(), expires_at = now() WHERE id = ${jobId}`;
  for (const key of [queued, running, final])
    await refused(t, calls.get(key, { omitOutput: false, ttlMs: 0 }), 'JOB_NOT_FOUND', 'gone at once');
  t.equal(await attempts.recordOutcome(outcome(running)), 'stale', 'an outcome after the ttl changes nothing');
  await waiting;
  await waitFor('all rows to go', async () => {
    const [row] = await sql<{ n: number }[]>`
      SELECT (SELECT count(*) FROM job WHERE endpoint_id = ${endpointId}) + (SELECT count(*) FROM job_input
        WHERE endpoint_id = ${endpointId})
        + (SELECT count(*) FROM job_output WHERE endpoint_id = ${endpointId}) AS n`;
    return row!.n === 0;
  });
  await waitFor('the stop', () => stops.some((stop) => stop.jobId === running.jobId));
  t.match(
    stops.filter(({ jobId }) => [queued.jobId, final.jobId, running.jobId].includes(jobId)),
    [{ jobId: running.jobId, reason: 'ttl elapsed' }],
  );
});

t.test('the result is kept for the time of its kind, and never beyond the ttl', async (t) => {
  const endpointId = await engines.endpoint();
  const cases = [
    [{}, 1_800_000],
    [{ kind: 'SYNC', waitMs: 1_000 }, 60_000],
    [{ kind: 'SYNC', waitMs: 200_000 }, 200_000],
    [{ policy: { ttlMs: 10_000 } }, 10_000],
  ] as const;
  for (const [more, keptMs] of cases) {
    const job = await runningJob(engines, endpointId, more);
    await attempts.recordOutcome(outcome(job));
    const [row] = await sql<{ kept: number }[]>`
      SELECT (extract(epoch FROM expires_at - finished_at) * 1000)::float8 AS kept FROM job WHERE id = ${job.jobId}`;
    t.ok(
      row!.kept <= keptMs && row!.kept > keptMs - 2_000,
      `${JSON.stringify(more)} is kept ${Math.round(row!.kept)} ms`,
    );
  }
});

t.test('a retried job lives until its first ttl', async (t) => {
  const endpointId = await engines.endpoint();
  const job = await runningJob(engines, endpointId);
  await attempts.recordOutcome(outcome(job, { kind: 'FAILED', error: 'x' }));
  await calls.retry(job);
  const [row] = await sql<
    { left: number }[]
  >`SELECT (extract(epoch FROM expires_at - submitted_at))::float8 AS left FROM job WHERE id = ${job.jobId}`;
  t.equal(row!.left, 86_400);
  t.match(await attempts.claim(endpointId, slotsOn(endpointId, 1)), [{ attempt: 2 }]);
});

t.test('keys and jobs are deleted in bounded batches', async (t) => {
  const endpointId = await engines.endpoint({ workers_max: 10 });
  await Promise.all(Array.from({ length: 1_200 }, () => calls.submit(submission(endpointId))));
  await calls.submit(submission(endpointId, { idempotencyKey: 'k' }));
  await Promise.all(
    engines.replicas.map((replica) =>
      replica.engine.services.find((service) => service.name === 'expiry reaper')!.stop(),
    ),
  );
  await sql`UPDATE job SET expires_at = now() WHERE endpoint_id = ${endpointId}`;
  await sql`UPDATE idempotency_key SET expires_at = now()`;
  const reaper = new ExpiryReaper({ stores, events, clock: systemClock, random: systemRandom, logger });
  const passes = [await reaper.runOnce(), await reaper.runOnce(), await reaper.runOnce()];
  t.same(passes, [1_000, 201, 0]);
  const [row] = await sql`SELECT count(*) AS n FROM idempotency_key`;
  t.equal(row!['n'], 0);
});

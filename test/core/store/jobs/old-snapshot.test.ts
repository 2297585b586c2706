// test: postgres
/**
 * While another session holds an old snapshot open, vacuum may remove nothing. Frequent queries must not scan all jobs
 * that have run since. Measured in index entries, not in time.
 */
import { randomUUID } from 'node:crypto';
import { outcomeRule } from '@slipway/core/domain/jobs/attempt-outcome';
import { DeadlineStore } from '@slipway/core/store/jobs/deadline-store';
import { RunningJobs } from '@slipway/core/store/jobs/running-jobs';
import { ExplainStore } from '@slipway/core/store/reports/explain-store';
import postgres from 'postgres';
import t from 'tap';
import { outcome, slotsOn, startEngines, submission } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const engines = await startEngines(t, { idle: true });
const { sql, database, stores } = engines;
const BATCH = 500;
const BATCHES = 20;
/** How often each is asked in a row. */
const ASKS = 4;
/** Shorter than any that a caller may ask for: deadlines of jobs that ended pass, and stay in their index. */
const TIMEOUT_MS = 100;
const rule = outcomeRule('COMPLETED', { retryLimit: 0, retryHandlerErrors: false });

/** Queues and runs a number of batches. Returns the position up to which jobs were claimed. */
async function work(endpointId: string, after: number): Promise<number> {
  const machineId = 'machine00001';
  const slots = Array.from({ length: BATCH }, () => ({ workerId: 'worker00000001', machineId }));
  const claims = await stores.claims.claim({
    endpointId,
    slots,
    claimId: randomUUID(),
    afterNormal: after,
    afterLow: after,
    inputBytesMax: 1_000,
  });
  const ended = claims.map(({ job: { jobId, attempt } }) => ({
    endpointId,
    jobId,
    attempt,
    machineId,
    rule,
    output: undefined,
    error: undefined,
  }));
  await stores.outcomes.record(ended.sort((a, b) => (a.jobId < b.jobId ? -1 : 1)));
  return Math.max(...claims.map(({ position }) => position));
}

async function entries(): Promise<number> {
  await Promise.all(
    Array.from({ length: 8 }, () => database.hot`SELECT pg_stat_force_next_flush() FROM pg_sleep(0.01)`),
  );
  await Promise.all(Array.from({ length: 8 }, () => sql`SELECT pg_stat_force_next_flush() FROM pg_sleep(0.01)`));
  const [row] = await sql<
    { n: number }[]
  >`SELECT sum(idx_tup_read)::bigint AS n FROM pg_stat_user_indexes WHERE relname LIKE 'job%'`;
  const [seq] = await sql<
    { n: number }[]
  >`SELECT sum(seq_tup_read)::bigint AS n FROM pg_stat_user_tables WHERE relname LIKE 'job%'`;
  return row!.n + seq!.n;
}

t.test('with an old snapshot held open', async (t) => {
  const endpointId = await engines.endpoint();
  await sql`
    INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
      ttl_deadline_at, expires_at)
    SELECT ${endpointId}, gen_random_uuid() || '-u1', 'IN_QUEUE', false, ${TIMEOUT_MS}::int, 1800000, now(),
      now() + interval '1 day', now() + interval '1 day'
    FROM generate_series(1, ${BATCH * (BATCHES + 4)}::int)`;
  await sql`INSERT INTO job_input (endpoint_id, job_id, input) SELECT endpoint_id, id, '{}' FROM job
    WHERE endpoint_id = ${endpointId}`;
  await stores.counts.recount();
  const holder = postgres(engines.url, { max: 1 });
  t.teardown(() => holder.end());
  const snapshot = await holder.reserve();
  await snapshot`BEGIN ISOLATION LEVEL REPEATABLE READ`;
  await snapshot`SELECT count(*) FROM job`;
  // As later, when all claims have been committed for long.
  const running = new RunningJobs(database, 0);
  const explains = new ExplainStore(database, running);
  const deadlines = new DeadlineStore(database, 0);
  let place = 0;
  for (let i = 0; i < BATCHES; i += 1) place = await work(endpointId, place);
  await sql`
    UPDATE job SET expires_at = now() - position * interval '1 ms' WHERE endpoint_id = ${endpointId}
      AND state = 'COMPLETED' AND position % 2 = 0`;
  const endedAt = performance.now();
  await waitFor('their deadlines to pass', async () => performance.now() - endedAt > TIMEOUT_MS);
  const { deleted, lastUs: reapedToUs } = await stores.deletions.reapExpired(BATCH * BATCHES);
  t.equal(deleted.length, (BATCH * BATCHES) / 2);
  const asked: Record<string, () => Promise<unknown>> = {
    'the length of the queue': () => stores.counts.queued([endpointId]),
    'what workers hold': () => running.heldBy([endpointId]),
    'a sample of scaling': async () =>
      t.match(await explains.endpoint(endpointId), { sample: { demand: { queued: 1, running: 0 } } }),
    'what machines hold': () => running.onMachines(['machine00001']),
    'the next execution deadline': () => deadlines.nextMs(2_500),
    'execution deadlines that have passed': () => deadlines.timeOut(500),
    'deleting what has expired': () => stores.deletions.reapExpired(500, reapedToUs),
    'whether more has expired': () => stores.deletions.isDue(reapedToUs),
    'expired leases': () => stores.attempts.expiredLeases(500),
    'queues of endpoints': () => stores.claims.queuedEndpoints([endpointId]),
    'endpoints that are gone': () => stores.deletions.endpointsGone(10),
    'a look at all endpoints': () => stores.scales.endpointsToResync({ queues: false }),
  };
  for (const statistics of ['without statistics', 'with statistics of a moment in which nothing runs']) {
    if (statistics !== 'without statistics') await sql`ANALYZE job`;
    for (const [what, ask] of Object.entries(asked)) {
      await ask();
      const before = await entries();
      for (let i = 0; i < ASKS; i += 1) await ask();
      const read = (await entries()) - before;
      // One of them may be the periodic resync.
      t.ok(
        read < (BATCH * BATCHES * ASKS) / 2,
        `${what}: ${read} index entries for ${ASKS} times after ${BATCH * BATCHES} jobs, ${statistics}`,
      );
    }
  }
  await snapshot`ROLLBACK`;
  snapshot.release();
});

t.test('the jobs that workers hold are exact, whatever changed since the last read', async (t) => {
  const endpointId = await engines.endpoint();
  const running = new RunningJobs(database, 0);
  const held = async () =>
    (await running.heldBy([endpointId])).get(endpointId)!.toSorted((a, b) => (a.workerId < b.workerId ? -1 : 1));
  t.same(await held(), []);
  const jobs = await Promise.all(
    [true, false, false].map((lowPriority) =>
      engines.engine.calls.submit(submission(endpointId, { policy: { lowPriority } })),
    ),
  );
  t.equal(jobs.length, 3);
  const [first] = await engines.engine.attempts.claim(endpointId, slotsOn(endpointId, 1, 'worker00000001'));
  t.same(await held(), [{ workerId: 'worker00000001', held: 1, normal: 1 }]);
  await engines.engine.attempts.claim(endpointId, slotsOn(endpointId, 2, 'worker00000002'));
  t.same(await held(), [
    { workerId: 'worker00000001', held: 1, normal: 1 },
    { workerId: 'worker00000002', held: 2, normal: 1 },
  ]);
  await engines.engine.attempts.recordOutcome(outcome(first!));
  t.same(await held(), [{ workerId: 'worker00000002', held: 2, normal: 1 }]);
  t.equal((await stores.counts.health(endpointId))!.inProgress, 2);
});

t.test('the attempts that machines hold are exact; one with a late commit is found by its name at once', async (t) => {
  const endpointId = await engines.endpoint();
  const running = new RunningJobs(database, 0);
  const machineId = 'machine00002';
  const held = async () =>
    (await running.onMachines([machineId, 'machine00003'])).map(({ jobId, ...rest }) => ({ jobId, ...rest }));
  t.same(await held(), []);
  await Promise.all([1, 2].map(() => engines.engine.calls.submit(submission(endpointId))));
  const [first] = await engines.engine.attempts.claim(endpointId, [
    { endpointId, workerId: 'worker00000001', machineId },
  ]);
  const { jobId, attempt } = first!;
  const one = { endpointId, jobId, attempt, workerId: 'worker00000001', machineId };
  t.same(await held(), [one]);
  t.match(await running.ofMachine(machineId), [{ ...one, ageMs: Number }]);
  const [second] = await engines.engine.attempts.claim(endpointId, [
    { endpointId, workerId: 'worker00000002', machineId },
  ]);
  await sql`UPDATE job SET started_at = started_at - interval '1 hour' WHERE endpoint_id = ${endpointId}
      AND id = ${second!.jobId}`;
  const other = { ...one, jobId: second!.jobId, workerId: 'worker00000002' };
  const gone = { ...one, attempt: 7 };
  t.same((await running.current([other, one, gone])).toSorted(byWorker), [one, other]);
  t.same(await running.current([]), []);
  await engines.engine.attempts.recordOutcome({ ...outcome(first!), machineId });
  t.same(await running.current([one, other]), [other]);
  // The periodic resync comes without a trigger.
  await waitFor('it to be found', async () => (await held()).some((found) => found.jobId === other.jobId));
  t.same(await held(), [other]);
});

function byWorker(a: { workerId: string }, b: { workerId: string }): number {
  return a.workerId < b.workerId ? -1 : 1;
}

// test: postgres
/**
 * Early runs: a short /runsync has a worker before it has a row. Which jobs may, and that nothing is answered before
 * the row is there.
 */
import type { ClaimedJob } from '@slipway/core/jobs/slots';
import type { Submission } from '@slipway/core/jobs/submit/submission';
import { systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import type { Engines } from '../../helpers/system/job-engine.ts';
import { LIVE_MACHINES, never, outcome, slotsOn, startEngines, submission } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

// None is late, unless this machine stalls for half a minute.
const engines = await startEngines(t, { replicas: 2, lateMs: 30_000 });
const { engine, sql, slots, replicas } = engines;
const { calls, attempts } = engine;

/** Larger than an input that is sent with its assignment. */
const LARGE_INPUT = Buffer.from(JSON.stringify({ a: 'x'.repeat(256 * 1024) }));

/** Inserts of submissions at a time, and submissions that may wait for one (core/jobs/submit/submit-job.ts). */
const INSERTS_AT_ONCE = 2;
const WAITING_MAX = 20_000;

/** Makes an endpoint that is known to be short here, and whose queue is known to be empty. */
async function shortEndpoint(
  fields: Record<string, unknown> = {},
  executionMs = 1,
  { engine: { attempts }, endpoint, slots, times }: Pick<Engines, 'engine' | 'endpoint' | 'slots' | 'times'> = engines,
): Promise<string> {
  const endpointId = await endpoint(fields);
  for (let n = 0; n < 64; n += 1) times.record(endpointId, executionMs);
  await attempts.claim(endpointId, slotsOn(endpointId, 1));
  slots.add(endpointId, 1);
  return endpointId;
}

/** Submits a job and returns its answer and its assignment, as soon as its worker has it. */
async function assigned(endpointId: string, more: Partial<Submission> = {}) {
  const given = slots.assigned.length;
  const requestId = systemRandom.uuid();
  const sent = submission(endpointId, { kind: 'SYNC', isFirstSend: true, requestId, ...more });
  const answer = calls.submitAndWait(sent, never);
  await waitFor('the assignment', () => slots.assigned.length > given);
  return { sent, answer, job: slots.assigned.at(-1)! };
}

async function stateOf({ endpointId, jobId }: ClaimedJob): Promise<string | undefined> {
  const [row] = await sql<{ state: string }[]>`
    SELECT state FROM job WHERE endpoint_id = ${endpointId} AND id = ${jobId}`;
  return row?.state;
}

t.test('its row is written with its outcome, and then it is answered', async (t) => {
  const { job, answer } = await assigned(await shortEndpoint());
  t.equal(await stateOf(job), undefined, 'it has a worker and no row');
  t.match(job, { attempt: 1, input: Buffer.from('{"a":1}') });
  t.equal(await attempts.recordOutcome(outcome(job)), 'recorded');
  t.match(await answer, { id: job.jobId, state: 'COMPLETED', attempt: 1, output: Buffer.from('{"b":2}') });
  t.equal(await stateOf(job), 'COMPLETED');
  t.equal(await attempts.recordOutcome(outcome(job)), 'stale', 'its outcome changes nothing more');
  t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), {
    state: 'COMPLETED',
    output: Buffer.from('{"b":2}'),
  });
});

t.test('all others are stored first', async (t) => {
  const others: [string, string, Partial<Submission>][] = [
    ['sent again', await shortEndpoint(), { isFirstSend: false }],
    ['of a facade that does not say', await shortEndpoint(), { isFirstSend: undefined as unknown as boolean }],
    ['with a webhook', await shortEndpoint(), { webhook: 'http://127.0.0.1:9/' }],
    ['with S3 settings', await shortEndpoint(), { s3Config: Buffer.from([1]) }],
    ['with metadata', await shortEndpoint(), { metadata: { a: 'b' } }],
    ['with a large input', await shortEndpoint(), { input: LARGE_INPUT }],
    ['of an endpoint that stores every job first', await shortEndpoint({ durable_before_run: true }), {}],
    ['of an endpoint whose jobs take longer', await shortEndpoint({}, 60), {}],
  ];
  for (const [name, endpointId, more] of others) {
    const { job, answer } = await assigned(endpointId, more);
    t.equal(await stateOf(job), 'IN_PROGRESS', name);
    await attempts.recordOutcome(outcome(job));
    t.equal((await answer).state, 'COMPLETED', name);
  }
});

t.test('one with an Idempotency-Key is stored first', async (t) => {
  const endpointId = await shortEndpoint();
  const given = slots.assigned.length;
  const keyed = { kind: 'SYNC', isFirstSend: true, requestId: systemRandom.uuid(), idempotencyKey: 'key' } as const;
  const answer = calls.submitAndWait(submission(endpointId, keyed), never);
  const [job] = await waitFor('its row', async () => {
    const claimed = await attempts.claim(endpointId, slotsOn(endpointId, 1));
    return claimed.length > 0 && claimed;
  });
  t.equal(slots.assigned.length, given, 'no worker had it before');
  await attempts.recordOutcome(outcome(job!));
  t.equal((await answer).state, 'COMPLETED');
});

t.test('without an outcome its row is written all the same, soon', async (t) => {
  const late = await startEngines(t);
  const endpointId = await shortEndpoint({}, 1, late);
  const sent = submission(endpointId, { kind: 'SYNC', isFirstSend: true, requestId: systemRandom.uuid() });
  const answer = late.engine.calls.submitAndWait(sent, never);
  const job = await waitFor('the assignment', () => late.slots.assigned[0]);
  await waitFor('the row', async () => {
    const [row] = await late.sql<{ state: string }[]>`SELECT state FROM job WHERE id = ${job.jobId}`;
    return row?.state === 'IN_PROGRESS';
  });
  await late.engine.attempts.recordOutcome(outcome(job));
  t.match(await answer, { state: 'COMPLETED', output: Buffer.from('{"b":2}') });
});

t.test('an outcome other than COMPLETED waits for the row, and is retried as ever', async (t) => {
  const failed = await assigned(await shortEndpoint());
  t.equal(await attempts.recordOutcome(outcome(failed.job, { kind: 'FAILED', error: 'no' })), 'recorded');
  t.match(await failed.answer, { state: 'FAILED', error: 'no' });
  const lost = await assigned(await shortEndpoint());
  t.equal(await attempts.recordOutcome(outcome(lost.job, { kind: 'LOST', output: undefined })), 'recorded');
  t.equal(await stateOf(lost.job), 'IN_QUEUE');
  const [again] = await attempts.claim(lost.job.endpointId, slotsOn(lost.job.endpointId, 1));
  t.match(again, { jobId: lost.job.jobId, attempt: 2 });
  await attempts.recordOutcome(outcome(again!));
  t.match(await lost.answer, { state: 'COMPLETED', attempt: 2 });
});

t.test('sent again meanwhile: the same run answers both', async (t) => {
  const { sent, job, answer } = await assigned(await shortEndpoint());
  slots.add(job.endpointId, 1);
  const again = calls.submitAndWait({ ...sent, isFirstSend: false }, never);
  const given = slots.assigned.length;
  await attempts.recordOutcome(outcome(job));
  t.equal((await answer).id, (await again).id);
  t.equal(slots.assigned.length, given, 'no other worker got it');
});

t.test('stored by another replica first: its outcome changes nothing, and its caller gets that job', async (t) => {
  const { sent, job, answer } = await assigned(await shortEndpoint());
  const there = replicas[1]!;
  const other = there.engine.calls.submitAndWait({ ...sent, isFirstSend: false }, never);
  const [claimed] = await waitFor('its claim there', async () => {
    const elsewhere = slotsOn(job.endpointId, 1, 'worker00000002', LIVE_MACHINES[1]);
    const jobs = await there.engine.attempts.claim(job.endpointId, elsewhere);
    return jobs.length > 0 && jobs;
  });
  t.equal(await attempts.recordOutcome(outcome(job, { output: Buffer.from('{"early":1}') })), 'stale');
  await there.engine.attempts.recordOutcome(outcome(claimed!));
  for (const each of [answer, other])
    t.match(await each, { id: job.jobId, state: 'COMPLETED', output: Buffer.from('{"b":2}') }, 'one outcome for both');
});

t.test('the database rejects one: the others are stored', async (t) => {
  const [bad, good] = [await assigned(await shortEndpoint()), await assigned(await shortEndpoint())];
  await sql.unsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON job FOR EACH ROW WHEN (NEW.id = '${bad.job.jobId}') EXECUTE FUNCTION refuse()`);
  t.teardown(() => sql`DROP FUNCTION refuse CASCADE`);
  const recorded = [bad, good].map(({ job }) => attempts.recordOutcome(outcome(job)));
  await t.rejects(bad.answer, { message: 'not this one' });
  await t.rejects(recorded[0]!, { message: 'not this one' });
  t.equal(await attempts.recordOutcome(outcome(bad.job)), 'stale', 'nobody was promised anything');
  t.equal(await recorded[1], 'recorded');
  t.equal((await good.answer).state, 'COMPLETED');
});

t.test('its disk is full: the submission fails, and is not run again until its row is there', async (t) => {
  const { sent, job, answer } = await assigned(await shortEndpoint());
  await sql.unsafe(`
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'disk full' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON job FOR EACH ROW EXECUTE FUNCTION full_disk()`);
  const recorded = attempts.recordOutcome(outcome(job));
  await t.rejects(answer, { message: "the database's disk is full" });
  slots.add(job.endpointId, 1);
  const given = slots.assigned.length;
  await t.rejects(calls.submitAndWait({ ...sent, isFirstSend: false }, never), { message: /disk is full/ });
  await sql`DROP FUNCTION full_disk CASCADE`;
  t.equal(await recorded, 'recorded');
  t.match(await calls.submitAndWait({ ...sent, isFirstSend: false }, never), { id: job.jobId, state: 'COMPLETED' });
  t.equal(slots.assigned.length, given, 'no worker got it again');
});

t.test(
  'too many submissions wait: it is rejected, its worker stops, and its outcome does not wait for a row',
  async (t) => {
    const full = await startEngines(t, { lateMs: 30_000 });
    const { calls, attempts } = full.engine;
    const endpointId = await shortEndpoint({}, 1, full);
    const others = await full.endpoint({ workers_max: 100 });
    const stopped: string[] = [];
    full.events.on('stop', (stops) => stopped.push(...stops.map(({ jobId }) => jobId)));
    const answer = calls.submitAndWait(
      submission(endpointId, { kind: 'SYNC', isFirstSend: true, requestId: systemRandom.uuid() }),
      never,
    );
    const rejected = t.rejects(answer, { name: 'OverloadError' });
    const job = await waitFor('the assignment', () => full.slots.assigned[0]);
    const send = (): Promise<string> =>
      calls.submit(submission(others)).then(
        () => 'stored',
        (error: Error) => error.name,
      );
    const sent: Promise<string>[] = [];
    let recorded: Promise<string> | undefined;
    await full.sql.begin(async (locked) => {
      await locked`LOCK TABLE job IN EXCLUSIVE MODE`;
      for (let inserts = 1; inserts <= INSERTS_AT_ONCE; inserts += 1) {
        sent.push(send());
        await waitFor('an insert that waits for the lock', async () => {
          const [{ count }] = await full.sql<[{ count: bigint }]>`
          SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO job_input%'`;
          return Number(count) === inserts;
        });
      }
      sent.push(...Array.from({ length: WAITING_MAX + 1 }, send));
      t.equal(await Promise.race(sent), 'OverloadError', 'the queue is full');
      recorded = attempts.recordOutcome(outcome(job, { kind: 'FAILED', error: 'no' }));
      await rejected;
      t.same(stopped, [job.jobId]);
    });
    t.equal(await recorded, 'stale', 'it has no row');
    t.equal((await Promise.all(sent)).filter((end) => end === 'stored').length, INSERTS_AT_ONCE + WAITING_MAX);
    t.equal(full.live.size, 0);
  },
);

t.test('chunks wait for its row', async (t) => {
  const { job, answer } = await assigned(await shortEndpoint());
  const { endpointId, jobId, attempt, machineId } = job;
  const chunk = { endpointId, jobId, attempt, machineId, number: 1, output: Buffer.from('1'), metrics: undefined };
  t.same(await attempts.appendChunks([chunk]), []);
  t.equal(await stateOf(job), 'IN_PROGRESS');
  const [{ count }] = await sql<[{ count: bigint }]>`SELECT count(*) FROM job_chunk WHERE job_id = ${jobId}`;
  t.equal(Number(count), 1);
  await attempts.recordOutcome(outcome(job));
  t.equal((await answer).state, 'COMPLETED');
});

t.test('nothing is kept of jobs that have ended', async (t) => {
  t.same(
    replicas.map(({ live }) => live.size),
    [0, 0],
  );
});

// test: postgres
/** Outcomes: guarded by the attempt, counted, and what a lost attempt does. */

import { LiveJobs } from '@slipway/core/jobs/live-jobs';
import { RecordOutcomes } from '@slipway/core/jobs/record/record-outcomes';
import { EarlyRuns } from '@slipway/core/jobs/submit/early-runs';
import type { EndpointFactsCache } from '@slipway/core/jobs/submit/endpoint-facts';
import type { OutageTracker } from '@slipway/core/jobs/submit/outage-tracker';
import type { QueueCursors } from '@slipway/core/jobs/submit/queue-cursors';
import type { QueueGate } from '@slipway/core/jobs/submit/queue-gate';
import { TrafficMeter } from '@slipway/core/jobs/submit/traffic-meter';
import type { Stores } from '@slipway/core/store/storage';
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { never, outcome, runningJob, slotsOn, startEngines, submission } from '../../helpers/system/job-engine.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const engines = await startEngines(t);
const { engine, events, sql } = engines;
const { calls, attempts } = engine;

t.test('completed: output as it came, times, counter', async (t) => {
  const endpointId = await engines.endpoint();
  const job = await runningJob(engines, endpointId);
  t.equal(await attempts.recordOutcome(outcome(job, { output: Buffer.from('[ 1e400, "x" ]') })), 'recorded');
  const found = await calls.get(job, { omitOutput: false, ttlMs: 0 });
  t.match(found, {
    state: 'COMPLETED',
    attempt: 1,
    retries: 0,
    workerId: 'worker00000001',
    error: undefined,
    output: Buffer.from('[ 1e400, "x" ]'),
  });
  t.ok(found.delayMs! >= 0 && found.executionMs! >= 0 && found.submittedAtMs <= found.finishedAtMs!);
  t.equal((await calls.get(job, { omitOutput: true, ttlMs: 0 })).output, undefined);
  t.match((await calls.health(endpointId)).jobs, { completed: 1, failed: 0, inProgress: 0, inQueue: 0, retried: 0 });
  t.equal(await attempts.recordOutcome(outcome(job)), 'stale', 'a second outcome changes nothing');
});

t.test('times are whole, and never negative when the clock was set back', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const shown = () => calls.get(job, { omitOutput: true, ttlMs: 0 });
  await sql`UPDATE job SET submitted_at = '2026-01-01Z', started_at = '2026-01-01 00:00:00.0015Z'
    WHERE id = ${job.jobId}`;
  t.match(await shown(), { delayMs: 2, executionMs: undefined }, 'half a millisecond is rounded up');
  await sql`UPDATE job SET submitted_at = now() + interval '1 day', started_at = now() + interval '1 hour'
    WHERE id = ${job.jobId}`;
  await attempts.recordOutcome(outcome(job));
  t.match(await shown(), { delayMs: 0, executionMs: 0 });
});

t.test('completed without output', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  attempts.recordProgress(job, Buffer.from('"half"'));
  await waitFor('progress', async () => (await calls.get(job, { omitOutput: false, ttlMs: 0 })).output);
  await attempts.recordOutcome(outcome(job, { output: undefined }));
  t.match(
    await calls.get(job, { omitOutput: false, ttlMs: 0 }),
    { state: 'COMPLETED', output: undefined },
    'progress is not taken for output',
  );
});

t.test('a large output is read whole', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const output = Buffer.from(JSON.stringify('x'.repeat(500_000)));
  await attempts.recordOutcome(outcome(job, { output }));
  t.ok((await calls.get(job, { omitOutput: false, ttlMs: 0 })).output!.equals(output));
});

t.test('an output that is no JSON makes the job FAILED', async (t) => {
  const endpointId = await engines.endpoint();
  const texts = ['', '{', '[1]]', 'NaN', '\ufeff1', `["${'x'.repeat(300_000)}"`].map((text) => Buffer.from(text));
  for (const output of [...texts, Buffer.from([0x22, 0xff, 0x22])]) {
    const job = await runningJob(engines, endpointId);
    t.equal(await attempts.recordOutcome(outcome(job, { output })), 'recorded');
    const failed = { state: 'FAILED', error: /^the agent sent output that is not valid JSON/, output: undefined };
    t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), failed, output.toString('latin1', 0, 20));
  }
  const job = await runningJob(engines, endpointId);
  await attempts.recordOutcome(outcome(job, { kind: 'FAILED', error: 'of the handler', output: Buffer.from('{') }));
  t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), {
    state: 'FAILED',
    error: 'of the handler',
    output: undefined,
  });
});

t.test('failed: error and output are kept, no retry unless the endpoint wants it', async (t) => {
  const endpointId = await engines.endpoint();
  const job = await runningJob(engines, endpointId);
  await attempts.recordOutcome(
    outcome(job, { kind: 'FAILED', error: 'no \0 luck', output: Buffer.from('{"rest":1}') }),
  );
  t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), {
    state: 'FAILED',
    error: 'no � luck',
    output: Buffer.from('{"rest":1}'),
    retries: 0,
  });
  t.match((await calls.health(endpointId)).jobs, { completed: 0, failed: 1 });

  const willing = await engines.endpoint({ retry_handler_errors: true, retry_limit: 1 });
  const again = await runningJob(engines, willing);
  await attempts.recordOutcome(outcome(again, { kind: 'FAILED', error: 'first' }));
  t.match(await calls.get(again, { omitOutput: false, ttlMs: 0 }), {
    state: 'IN_QUEUE',
    retries: 1,
    error: undefined,
    output: undefined,
  });
  const [second] = await attempts.claim(willing, slotsOn(willing, 1));
  await attempts.recordOutcome(outcome(second!, { kind: 'FAILED', error: 'second', output: undefined }));
  t.match(await calls.get(again, { omitOutput: false, ttlMs: 0 }), { state: 'FAILED', retries: 1, error: 'second' });
});

t.test('a lost attempt goes back to the front, up to the limit, then FAILED with the true cause', async (t) => {
  const endpointId = await engines.endpoint({ retry_limit: 2 });
  const job = await runningJob(engines, endpointId);
  await attempts.appendChunks([{ ...job, number: 1, output: Buffer.from('1'), metrics: undefined }]);
  await calls.submit(submission(endpointId));
  let held = job;
  for (const attempt of [1, 2]) {
    t.equal(await attempts.recordOutcome(outcome(held, { kind: 'LOST', error: `cause ${attempt}` })), 'recorded');
    t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), {
      state: 'IN_QUEUE',
      retries: attempt,
      delayMs: undefined,
      error: undefined,
    });
    const [row] = await sql`SELECT count(*) AS n FROM job_chunk WHERE job_id = ${job.jobId}`;
    t.equal(row!['n'], 0, 'chunks of a lost attempt are discarded');
    const [next] = await attempts.claim(endpointId, [{ endpointId, workerId: 'w2', machineId: 'machine00002' }]);
    t.match(next, { jobId: job.jobId, attempt: attempt + 1 }, 'it is first, before the job that came later');
    held = next!;
  }
  t.equal(
    await attempts.recordOutcome(outcome({ ...held, attempt: 2 })),
    'stale',
    'the lost attempt cannot complete the job any more',
  );
  t.equal(
    await attempts.recordOutcome(outcome({ ...held, machineId: 'machine00001' })),
    'stale',
    'nor can another machine',
  );
  t.equal(
    await attempts.recordOutcome(outcome(held, { kind: 'LOST', error: 'the worker exited with code 137' })),
    'recorded',
  );
  t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), {
    state: 'FAILED',
    retries: 2,
    attempt: 3,
    error: 'the worker exited with code 137',
  });
  t.match((await calls.health(endpointId)).jobs, { failed: 1, retried: 2, inQueue: 1 });
});

t.test('a returned attempt goes back and is not counted, however often', async (t) => {
  const endpointId = await engines.endpoint({ retry_limit: 0 });
  const job = await runningJob(engines, endpointId);
  for (const attempt of [1, 2, 3, 4]) {
    t.equal(await attempts.recordOutcome(outcome({ ...job, attempt }, { kind: 'RETURNED' })), 'recorded');
    t.match(await calls.get(job, { omitOutput: true, ttlMs: 0 }), { state: 'IN_QUEUE', retries: 0 });
    t.match(await attempts.claim(endpointId, [{ endpointId, workerId: 'w', machineId: 'machine00001' }]), [
      { attempt: attempt + 1 },
    ]);
  }
  t.match((await calls.health(endpointId)).jobs, { retried: 0 });
});

t.test('an attempt that was stopped changes nothing when its job has moved, and is lost when it has not', async (t) => {
  const endpointId = await engines.endpoint({ retry_limit: 0 });
  const cancelled = await runningJob(engines, endpointId);
  await calls.cancel(cancelled);
  t.equal(await attempts.recordOutcome(outcome(cancelled, { kind: 'STOPPED' })), 'stale');
  t.equal((await calls.get(cancelled, { omitOutput: true, ttlMs: 0 })).state, 'CANCELLED');
  const running = await runningJob(engines, endpointId);
  t.equal(await attempts.recordOutcome(outcome(running, { kind: 'STOPPED' })), 'recorded');
  t.match(await calls.get(running, { omitOutput: true, ttlMs: 0 }), { state: 'FAILED', error: /stopped/ });
});

t.test('losing all attempts of a machine but those it holds', async (t) => {
  const endpointId = await engines.endpoint();
  const machineId = await engines.machine(60_000);
  const slot = (workerId: string) => ({ endpointId, workerId, machineId });
  for (let i = 0; i < 4; i += 1) await calls.submit(submission(endpointId));
  const jobs = await attempts.claim(endpointId, ['a', 'a', 'b', 'b'].map(slot));
  t.equal(await attempts.loseAttempts({ machineId, workerId: 'a' }, [], 'it died'), 2);
  t.equal(await attempts.loseAttempts({ machineId }, [jobs[2]!], 'came back without it'), 1);
  t.equal(await attempts.loseAttempts({ machineId: 'another' }, [], ''), 0);
  const states = await Promise.all(
    jobs.map(async (job) => (await calls.get(job, { omitOutput: true, ttlMs: 0 })).state),
  );
  t.same(states, ['IN_QUEUE', 'IN_QUEUE', 'IN_PROGRESS', 'IN_QUEUE']);
});

t.test('many outcomes of several endpoints in one batch, a stale one among them', async (t) => {
  const endpointIds = await Promise.all([1, 2, 3].map(() => engines.endpoint()));
  const jobs = await Promise.all(
    endpointIds.flatMap((id) => Array.from({ length: 20 }, () => calls.submit(submission(id)))),
  );
  const claimed = (await Promise.all(endpointIds.map((id) => attempts.claim(id, slotsOn(id, 20))))).flat();
  t.equal(claimed.length, jobs.length);
  const settled: string[] = [];
  events.on('settled', (keys) => {
    settled.push(...keys.map((key) => key.jobId));
  });
  const results = await Promise.all([
    ...claimed.map((job, i) => attempts.recordOutcome(outcome(job, { output: Buffer.from(String(i)) }))),
    attempts.recordOutcome(outcome({ ...claimed[0]!, attempt: 9 })),
  ]);
  t.same(results, [...claimed.map(() => 'recorded'), 'stale']);
  const outputs = await Promise.all(claimed.map(async (job) => Number((await calls.wait(job, 0, never)).output)));
  t.same(
    outputs,
    claimed.map((_, i) => i),
    'every job has its own output',
  );
  t.same(settled.toSorted(), claimed.map((job) => job.jobId).toSorted());
});

t.test('long failures to record outcomes are logged, and the outcomes are recorded in the end', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const clock = new ManualClock();
  const starting = Object.assign(new Error('the database system is starting up'), { code: '57P03' });
  let isDown = true;
  const outcomes: Pick<Stores['outcomes'], 'record'> = {
    record: (entries) => (isDown ? Promise.reject(starting) : engines.stores.outcomes.record(entries)),
  };
  const warnings: unknown[] = [];
  const unused = (): never => {
    throw new Error('not expected');
  };
  const recorder = new RecordOutcomes({
    stores: { outcomes } as unknown as Pick<Stores, 'outcomes' | 'submissions'>,
    early: new EarlyRuns({ live: new LiveJobs(), times: { areWithin: unused }, clock }),
    outage: { isTooLong: unused } as unknown as OutageTracker,
    clock,
    random: systemRandom,
    events,
    tasks: new TaskGroup('test'),
    checks: new SlicedWork({ name: 'test', bytesMax: 0, ownerBytesMax: 0, clock }),
    onFinal: () => undefined,
    onWebhooks: unused,
    facts: { get: () => ({ retryLimit: 0, retryHandlerErrors: false }) } as unknown as EndpointFactsCache,
    cursors: { queued: unused } as unknown as QueueCursors,
    gate: { changed: unused } as unknown as QueueGate,
    traffic: new TrafficMeter(),
    logger: Object.assign(createLogger('test', 'silent'), { warn: (fields: unknown) => warnings.push(fields) }),
  });
  const recorded = recorder.record(outcome(job));
  const pass = async (ms: number): Promise<void> => {
    for (let i = 0; i < 5; i += 1)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    clock.pass(ms);
  };
  for (let ms = 0; ms < 4_500; ms += 500) await pass(500);
  t.same(warnings, [], 'a restart of the database is no news');
  for (let ms = 0; ms < 4_500; ms += 500) await pass(500);
  t.match(
    warnings,
    [{ count: 1, attempts: [{ jobId: job.jobId, attempt: 1 }], err: { code: '57P03' } }],
    'once in a while',
  );
  isDown = false;
  await pass(1_000);
  t.equal(await recorded, 'recorded');
});

// test: postgres
/**
 * Waits for jobs: resolved by a commit here, by one on another replica, without any event, and ended by the server's
 * own clock.
 */
import { WaitStopper } from '@slipway/core/jobs/read/wait-stopper';
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
const { engine, sql, slots, replicas } = engines;
const { calls, attempts } = engine;
const [here, there] = replicas.map((replica) => replica.engine);

t.test('a final job is answered at once, a wait of 0 too', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  t.equal((await calls.wait(job, 0, never)).state, 'IN_PROGRESS');
  await attempts.recordOutcome(outcome(job));
  t.match(await calls.wait(job, 300_000, never), { state: 'COMPLETED', output: Buffer.from('{"b":2}') });
});

t.test('woken by the commit on this replica, with the output from memory', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const waits = [calls.wait(job, 30_000, never), calls.wait(job, 30_000, never)];
  await calls.get(job, { omitOutput: true, ttlMs: 0 });
  await attempts.recordOutcome(outcome(job));
  for (const job of await Promise.all(waits))
    t.match(job, { state: 'COMPLETED', output: Buffer.from('{"b":2}'), attempt: 1 });
});

t.test('woken by another replica', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const waiting = there!.calls.wait(job, 30_000, never);
  await there!.calls.get(job, { omitOutput: true, ttlMs: 0 });
  const startedAt = performance.now();
  await here!.attempts.recordOutcome(outcome(job));
  t.match(await waiting, { state: 'COMPLETED', output: Buffer.from('{"b":2}') });
  t.comment(`woken after ${Math.round(performance.now() - startedAt)} ms`);
});

t.test('found by the periodic check without any notice', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const waiting = calls.wait(job, 30_000, never);
  await sql`UPDATE job SET state = 'COMPLETED', finished_at = now(), execution_deadline_at = NULL
    WHERE id = ${job.jobId}`;
  t.equal((await waiting).state, 'COMPLETED');
  const gone = await runningJob(engines, job.endpointId);
  const refusal = refused(t, calls.wait(gone, 30_000, never), 'JOB_NOT_FOUND');
  await sql`DELETE FROM job WHERE id = ${gone.jobId}`;
  await refusal;
});

t.test('the wait ends by itself, and when it is abandoned', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  const startedAt = performance.now();
  t.equal((await calls.wait(job, 100, never)).state, 'IN_PROGRESS');
  t.ok(performance.now() - startedAt >= 95);
  const abandoned = new WaitStopper();
  const waiting = calls.wait(job, 300_000, abandoned);
  abandoned.stop();
  t.equal((await waiting).state, 'IN_PROGRESS');
});

t.test('submit and wait: the end, the state at the end of the wait, and refusals', async (t) => {
  const endpointId = await engines.endpoint();
  const sync = submission(endpointId, { kind: 'SYNC', waitMs: 60_000 });
  const finish = async (): Promise<void> => {
    const [job] = await waitFor('the job', async () => {
      const claimed = await attempts.claim(endpointId, slotsOn(endpointId, 1));
      return claimed.length > 0 && claimed;
    });
    await attempts.recordOutcome(outcome(job!));
  };
  const [job] = await Promise.all([calls.submitAndWait(sync, never), finish()]);
  t.match(job, { id: /^sync-/, state: 'COMPLETED', output: Buffer.from('{"b":2}') });
  const abandoned = new WaitStopper();
  const waiting = calls.submitAndWait(sync, abandoned);
  abandoned.stop();
  t.equal((await waiting).state, 'IN_QUEUE', 'the job is stored all the same');
  t.equal((await calls.submitAndWait({ ...sync, waitMs: 50 }, never)).state, 'IN_QUEUE');
  await refused(t, calls.submitAndWait({ ...sync, input: Buffer.from('[]') }, never), 'INVALID_INPUT');
  const requestId = (await calls.submit(sync)).id.slice('sync-'.length, -'-u1'.length);
  t.equal(
    (await calls.submitAndWait({ ...sync, requestId, waitMs: 50 }, never)).state,
    'IN_QUEUE',
    'a second submission waits for the first job',
  );
});

t.test('a fast worker on the insert-claim path is never missed', async (t) => {
  const endpointId = await engines.endpoint();
  await attempts.claim(endpointId, [{ endpointId, workerId: 'w', machineId: 'machine00001' }]);
  slots.onAssign = (job) => {
    if (job.endpointId === endpointId) void attempts.recordOutcome(outcome(job)).then(() => slots.add(endpointId, 1));
  };
  slots.add(endpointId, 5);
  const jobs = await Promise.all(
    Array.from({ length: 5 }, () => calls.submitAndWait(submission(endpointId, { kind: 'SYNC' }), never)),
  );
  t.same(
    jobs.map((job) => job.state),
    Array.from({ length: 5 }, () => 'COMPLETED'),
  );
});

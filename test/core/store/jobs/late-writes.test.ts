// test: postgres
/**
 * Progress and chunks whose commit comes while another statement waits for their job. That statement does not see them;
 * they must be as if they had come earlier: void where it makes them void, and gone where it deletes the job. And a
 * worker's end in the moment of a loss.
 */

import { ChunkStore } from '@slipway/core/store/jobs/chunk-store';
import type { Sql } from '@slipway/core/store/sql/database';
import t from 'tap';
import { never, outcome, runningJob, slotsOn, startEngines, submission } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const engines = await startEngines(t, { idle: true });
const { engine, sql } = engines;
const { calls, attempts } = engine;
type Claimed = Awaited<ReturnType<typeof runningJob>>;

const chunkOf = (job: Claimed, text: string) => ({ ...job, number: 1, output: Buffer.from(text), metrics: undefined });
const outputOf = async (job: Claimed) => (await calls.get(job, { omitOutput: false, ttlMs: 0 })).output?.toString();
const chunksOf = async (job: Claimed, cursor?: { attempt: number; number: number }): Promise<string[]> =>
  (await calls.readChunks(job, { cursor, waitMs: 0, limit: 0 }, never)).chunks.map(({ output }) => output.toString());

const locked = () =>
  waitFor(
    'the other statement to wait',
    async () =>
      (await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).length >
      0,
    10_000,
  );

/** Writes progress and a chunk, and commits only when `other` waits for the job. */
async function whileWriting<Result>(job: Claimed, other: () => Promise<Result>): Promise<Result> {
  let waiting: Promise<Result> | undefined;
  await sql.begin(async (transaction) => {
    const chunks = new ChunkStore({ hot: transaction as unknown as Sql });
    await chunks.showProgress([{ ...job, output: Buffer.from('"progress"') }]);
    await chunks.append([chunkOf(job, '"chunk"')]);
    waiting = other();
    waiting.catch(() => undefined);
    await locked();
  });
  return await waiting!;
}

t.test('a job without output shows no progress as its output', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  t.equal(await whileWriting(job, () => attempts.recordOutcome(outcome(job, { output: undefined }))), 'recorded');
  t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), {
    state: 'COMPLETED',
    output: undefined,
    error: undefined,
  });
  t.same(await chunksOf(job), ['"chunk"'], 'what it streamed stays');
});

t.test('a cancelled job shows no progress', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  t.match(await whileWriting(job, () => calls.cancel(job)), { state: 'CANCELLED' });
  t.equal(await outputOf(job), undefined);
  t.same(await chunksOf(job), ['"chunk"'], 'what it streamed stays');
});

t.test('output of a lost attempt is visible neither in the queue nor in the next attempt', async (t) => {
  const endpointId = await engines.endpoint();
  const job = await runningJob(engines, endpointId);
  await whileWriting(job, () => attempts.recordOutcome(outcome(job, { kind: 'LOST' })));
  t.equal(await outputOf(job), undefined);
  t.same(await chunksOf(job), []);
  const [next] = await attempts.claim(endpointId, slotsOn(endpointId, 1));
  t.match(next, { jobId: job.jobId, attempt: 2 });
  t.equal(await outputOf(job), undefined);
  t.same(await chunksOf(job), []);
  await attempts.appendChunks([chunkOf(next!, '"of the next"')]);
  t.same(await chunksOf(job, { attempt: 0, number: 0 }), ['"of the next"']);
  t.same(
    await chunksOf(job, { attempt: 1, number: 1 }),
    ['"of the next"'],
    'also for a reader who saw some of the lost one',
  );
  t.same(await chunksOf(job), ['"of the next"']);
  await attempts.recordOutcome(outcome(next!, { output: undefined }));
  t.equal(await outputOf(job), undefined);
  t.same(await chunksOf(job, { attempt: 0, number: 0 }), ['"of the next"']);
});

t.test('nothing remains of a deleted job', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  t.equal(await whileWriting(job, () => engine.deleteJobs(job.endpointId)), 1);
  for (const table of ['job_input', 'job_output', 'job_chunk', 'stream_cursor']) {
    t.same([...(await sql`SELECT job_id FROM ${sql(table)} WHERE endpoint_id = ${job.endpointId}`)], [], table);
  }
});

t.test(
  "a loss and the end of its worker at the same moment: the history has both, also without the worker's row",
  async (t) => {
    const { stores } = engines;
    for (const goes of ['old', 'with its machine'] as const) {
      const [endpointId, machineId] = [await engines.endpoint(), await engines.machine(60_000)];
      const workerId = machineId;
      await sql`INSERT INTO worker (id, endpoint_id, machine_id, version, state)
        VALUES (${workerId}, ${endpointId}, ${machineId}, 1, 'READY')`;
      const { id: jobId } = await calls.submit(submission(endpointId));
      const [job] = await attempts.claim(endpointId, slotsOn(endpointId, 1, workerId, machineId));
      let lost: Promise<unknown> | undefined;
      await sql.begin(async (transaction) => {
        await transaction`SELECT FROM job WHERE id = ${jobId} FOR UPDATE`;
        lost = attempts.recordOutcome(outcome(job!, { kind: 'LOST', error: 'it was ended' }));
        await locked();
        // The statement of the loss has begun and does not see this.
        await stores.workers.report({ machineId, sessionId: 'session' }, [
          {
            workerId,
            state: 'UNHEALTHY',
            capacity: 0,
            reason: 'out of memory',
            exitCode: 137,
            sdkVersion: '',
            address: '',
            health: '',
            singleUse: false,
          },
        ]);
      });
      t.equal(await lost, 'recorded');
      const history = () => stores.explains.lostAttempts({ endpointId, jobId });
      const told = [{ attempt: 1, workerId, cause: 'it was ended', exitCode: 137, reason: 'out of memory' }];
      t.match(await history(), told);
      if (goes === 'old') await sql`UPDATE worker SET ended_at = now() - interval '2 days' WHERE id = ${workerId}`;
      else await sql`UPDATE machine SET lease_expires_at = now() - interval '1 s' WHERE id = ${machineId}`;
      await (goes === 'old' ? stores.scales.pruneEnded([endpointId]) : stores.machines.forget(machineId, 'key'));
      t.equal((await sql`SELECT FROM worker WHERE id = ${workerId}`).length, 0);
      t.match(await history(), told, goes);
    }
  },
);

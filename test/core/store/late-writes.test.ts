/**
 * Progress and chunks whose commit comes while another statement waits for their job. That statement does not see them; they must be as
 * if they had come earlier: void where it makes them void, and gone where it deletes the job.
 */
import t from 'tap';
import { ChunkStore } from '../../../core/store/chunk-store.ts';
import type { Sql } from '../../../core/store/database.ts';
import { never, outcome, runningJob, slotsOn, startEngines } from '../../helpers/job-engine.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const engines = await startEngines(t, { idle: true });
const { engine, sql } = engines;
const { calls, attempts } = engine;
type Claimed = Awaited<ReturnType<typeof runningJob>>;

const chunkOf = (job: Claimed, text: string) => ({ ...job, number: 1, output: Buffer.from(text), metrics: undefined });
const outputOf = async (job: Claimed) => (await calls.get(job, { omitOutput: false, ttlMs: 0 })).output?.toString();
const chunksOf = async (job: Claimed, cursor?: { attempt: number; number: number }): Promise<string[]> => (
  (await calls.readChunks(job, { cursor, waitMs: 0, limit: 0 }, never)).chunks.map(({ output }) => output.toString()));

/** Writes progress and a chunk, and commits only when `other` waits for the job. */
async function whileWriting<Result>(job: Claimed, other: () => Promise<Result>): Promise<Result> {
  let waiting: Promise<Result> | undefined;
  await sql.begin(async (transaction) => {
    const chunks = new ChunkStore({ hot: transaction as unknown as Sql });
    await chunks.showProgress([{ ...job, output: Buffer.from('"progress"') }]);
    await chunks.append([chunkOf(job, '"chunk"')]);
    waiting = other();
    waiting.catch(() => undefined);
    await waitFor('the other statement to wait', async () => (
      await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).length > 0, 10_000);
  });
  return await waiting!;
}

t.test('a job without output shows no progress as its output', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  t.equal(await whileWriting(job, () => attempts.recordOutcome(outcome(job, { output: undefined }))), 'recorded');
  t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), { state: 'COMPLETED', output: undefined, error: undefined });
  t.same(await chunksOf(job), ['"chunk"'], 'what it streamed stays');
});

t.test('a cancelled job shows no progress', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  t.match(await whileWriting(job, () => calls.cancel(job)), { state: 'CANCELLED' });
  t.equal(await outputOf(job), undefined);
  t.same(await chunksOf(job), ['"chunk"'], 'what it streamed stays');
});

t.test('what a lost attempt wrote is seen neither in the queue nor in the next attempt', async (t) => {
  const endpointId = await engines.endpoint();
  const job = await runningJob(engines, endpointId);
  await whileWriting(job, () => attempts.recordOutcome(outcome(job, { kind: 'LOST' })));
  t.equal(await outputOf(job), undefined);
  t.same(await chunksOf(job), []);
  const [next] = await attempts.claim(endpointId, slotsOn(endpointId, 1));
  t.match(next, { jobId: job.jobId, attempt: 2 });
  t.equal(await outputOf(job), undefined);
  t.same(await chunksOf(job), []);
  await attempts.appendChunk(chunkOf(next!, '"of the next"'));
  t.same(await chunksOf(job, { attempt: 0, number: 0 }), ['"of the next"']);
  t.same(await chunksOf(job, { attempt: 1, number: 1 }), ['"of the next"'], 'also for a reader who saw some of the lost one');
  t.same(await chunksOf(job), ['"of the next"']);
  await attempts.recordOutcome(outcome(next!, { output: undefined }));
  t.equal(await outputOf(job), undefined);
  t.same(await chunksOf(job, { attempt: 0, number: 0 }), ['"of the next"']);
});

t.test('nothing of a deleted job stays', async (t) => {
  const job = await runningJob(engines, await engines.endpoint());
  t.equal(await whileWriting(job, () => engine.deleteJobs(job.endpointId)), 1);
  for (const table of ['job_input', 'job_output', 'job_chunk', 'stream_cursor']) {
    t.same([...await sql`SELECT job_id FROM ${sql(table)} WHERE endpoint_id = ${job.endpointId}`], [], table);
  }
});

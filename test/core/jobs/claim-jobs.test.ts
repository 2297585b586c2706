// test: postgres
/** Claims: order, priority, several replicas at one queue, and what cannot be claimed. */

import { outcomeRule } from '@slipway/core/domain/jobs/attempt-outcome';
import t from 'tap';
import { outcome, startEngines, submission } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const engines = await startEngines(t, { replicas: 2 });
const { engine, sql, replicas } = engines;
const { calls, attempts } = engine;
const slots = (endpointId: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ endpointId, workerId: `w${i}`, machineId: 'machine00001' }));

t.test('first in, first out; low priority after all normal jobs; one job for each slot', async (t) => {
  const endpointId = await engines.endpoint();
  const ids: string[] = [];
  for (const lowPriority of [true, false, false, true, false])
    ids.push((await calls.submit(submission(endpointId, { policy: { lowPriority } }))).id);
  const first = await attempts.claim(endpointId, slots(endpointId, 4));
  t.same(
    first.map((job) => job.jobId),
    [ids[1], ids[2], ids[4], ids[0]],
  );
  t.same(
    first.map((job) => job.workerId),
    ['w0', 'w1', 'w2', 'w3'],
  );
  t.same(
    (await attempts.claim(endpointId, slots(endpointId, 4))).map((job) => job.jobId),
    [ids[3]],
  );
  t.same(await attempts.claim(endpointId, slots(endpointId, 4)), []);
  t.same(await attempts.claim(endpointId, []), []);
});

t.test('more slots than one statement takes', async (t) => {
  const endpointId = await engines.endpoint({ workers_max: 10 });
  await Promise.all(Array.from({ length: 1_100 }, () => calls.submit(submission(endpointId))));
  const claimed = await attempts.claim(endpointId, slots(endpointId, 1_200));
  t.equal(new Set(claimed.map((job) => job.jobId)).size, 1_100);
});

t.test('two replicas empty one queue and no job runs twice', async (t) => {
  const endpointId = await engines.endpoint({ workers_max: 10 });
  const jobs = await Promise.all(
    Array.from({ length: 2_000 }, (_, i) => replicas[i % 2]!.engine.calls.submit(submission(endpointId))),
  );
  const taken = await Promise.all(
    replicas.map(async (replica) => {
      const mine: string[] = [];
      for (;;) {
        const claimed = await replica.engine.attempts.claim(endpointId, slots(endpointId, 37));
        mine.push(...claimed.map((job) => job.jobId));
        await Promise.all(claimed.map((job) => replica.engine.attempts.recordOutcome(outcome(job))));
        const { jobs: counts } = await replica.engine.calls.health(endpointId);
        if (claimed.length === 0 && counts.completed === jobs.length) return mine;
      }
    }),
  );
  t.same(taken.flat().toSorted(), jobs.map((job) => job.id).toSorted(), 'each exactly once');
  t.ok(
    taken.every((mine) => mine.length > 0),
    'both worked',
  );
});

t.test('an expired job is never claimed', async (t) => {
  const endpointId = await engines.endpoint();
  const { id } = await calls.submit(submission(endpointId));
  const { id: live } = await calls.submit(submission(endpointId));
  await sql`UPDATE job SET expires_at = now() WHERE id = ${id}`;
  t.same(
    (await attempts.claim(endpointId, slots(endpointId, 2))).map((job) => job.jobId),
    [live],
  );
});

t.test('a job that appeared behind the cursor without any notice is found', async (t) => {
  const endpointId = await engines.endpoint();
  for (let i = 0; i < 3; i += 1) await calls.submit(submission(endpointId));
  const [first] = await attempts.claim(endpointId, slots(endpointId, 5));
  t.same(await attempts.claim(endpointId, slots(endpointId, 1)), [], 'the queue is believed empty');
  // State left by a replica that died right after its commit: a queued row that was never announced.
  const rule = outcomeRule('RETURNED', { retryLimit: 0, retryHandlerErrors: false });
  await engines.stores.outcomes.record([{ ...first!, rule, output: undefined, error: undefined }]);
  const [found] = await waitFor('the job to be found', async () => {
    const claimed = await attempts.claim(endpointId, slots(endpointId, 1));
    return claimed.length > 0 && claimed;
  });
  t.match(found, { jobId: first!.jobId, attempt: 2 });
});

// test: postgres
/**
 * An endpoint's row is deleted before its jobs. A replica that dies in between leaves jobs without an endpoint: they do
 * no harm and are removed later.
 */

import type { Test } from 'tap';
import t from 'tap';
import type { Engines } from '../../helpers/system/job-engine.ts';
import { outcome, refused, runningJob, startEngines, submission } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/**
 * Endpoints whose row is deleted, with a running job each and what `queued` adds. No loop runs before the test starts
 * one.
 */
async function setUp(t: Test, endpoints = 1, queued = 0) {
  const engines = await startEngines(t, { idle: true });
  const { engine, sql } = engines;
  const running = [];
  for (let i = 0; i < endpoints; i += 1) {
    const endpointId = await engines.endpoint({ retry_limit: 0 });
    running.push(await runningJob(engines, endpointId, { webhook: 'http://127.0.0.1:9/' }));
    await Promise.all(Array.from({ length: queued }, () => engine.calls.submit(submission(endpointId))));
    await sql`DELETE FROM endpoint WHERE id = ${endpointId}`;
  }
  return { engines, running };
}

const rowsLeft = async ({ sql }: Engines): Promise<number> => {
  const [row] = await sql<{ n: number }[]>`SELECT (SELECT count(*) FROM job) + (SELECT count(*) FROM job_input) AS n`;
  return row!.n;
};

t.test('an outcome of a job without an endpoint is recorded and holds up no other', async (t) => {
  const {
    engines,
    running: [orphan],
  } = await setUp(t);
  const { engine, sql } = engines;
  const other = await runningJob(engines, await engines.endpoint());
  const results: string[] = [];
  for (const each of [outcome(orphan!, { kind: 'LOST', error: 'its worker ended' }), outcome(other)]) {
    engine.attempts.recordOutcome(each).then(
      (result) => results.push(result),
      () => undefined,
    );
  }
  await waitFor('both outcomes', () => results.length === 2, 10_000);
  t.same(results, ['recorded', 'recorded']);
  t.match((await engine.calls.health(other.endpointId)).jobs, { completed: 1 });
  t.same([...(await sql`SELECT id FROM webhook_delivery`)], [], 'nobody is called: what signs the call is gone');
});

t.test('a job without an endpoint that runs too long does not keep others from timing out', async (t) => {
  const {
    engines,
    running: [orphan],
  } = await setUp(t);
  const { stores, sql } = engines;
  const other = await runningJob(engines, await engines.endpoint());
  await sql`UPDATE job SET execution_deadline_at = now()`;
  const ended = await stores.deadlines.timeOut(10);
  t.same(ended.map(({ job }) => job.id).toSorted(), [orphan!.jobId, other.jobId].toSorted());
  t.match((await engines.engine.calls.health(other.endpointId)).jobs, { failed: 1 });
});

t.test('a core that starts finishes the deletion', async (t) => {
  const { engines, running } = await setUp(t, 12, 3);
  const { engine, events } = engines;
  const other = await runningJob(engines, await engines.endpoint());
  const { id: queued } = await engine.calls.submit(submission(other.endpointId));
  const stopped: string[] = [];
  events.on('stop', (stops) => {
    stopped.push(...stops.map(({ jobId, reason }) => `${jobId} ${reason}`));
  });
  // A replica owns its singleton tasks through the notifier's connection.
  for (const wanted of ['notifier', 'deletion finisher'])
    await engine.services.find(({ name }) => name === wanted)!.start();
  await waitFor('the jobs to go', async () => (await rowsLeft(engines)) === 4);
  t.same(stopped.toSorted(), running.map(({ jobId }) => `${jobId} the endpoint was deleted`).toSorted());
  await refused(t, engine.calls.get(running[0]!, { omitOutput: true, ttlMs: 0 }), 'JOB_NOT_FOUND');
  for (const jobId of [other.jobId, queued])
    t.ok(await engine.calls.get({ ...other, jobId }, { omitOutput: true, ttlMs: 0 }), 'others stay');
});

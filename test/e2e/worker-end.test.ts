// test: postgres, 10 s
/** Results of a worker that ends right after it sent them: real core, real agent, a worker scripted by hand. */

import type { Test } from 'tap';
import t from 'tap';
import { isAlive } from '../helpers/scratch.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { rawWorkers } from '../helpers/system/raw-worker.ts';
import { startRealAgent } from '../helpers/system/real-agent.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Longer than core waits for outcomes of an ended worker, in milliseconds. */
const OUTCOME_GRACE_OVER_MS = 3_000;

t.setTimeout(600_000);

/** Returns an endpoint with one worker, which holds `count` jobs. */
async function holding(t: Test, count: number) {
  const core = await startReplicas(t);
  const agent = await startRealAgent(t, core);
  const workers = await rawWorkers(t);
  const templateId = await core.createTemplate({ startCommand: jsHandler('raw-worker.js'), env: workers.env });
  const endpointId = await core.createEndpoint({ templateId, workersMax: 1 });
  const worker = await workers.next();
  await worker.ping();
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1) ids.push((await core.submit(endpointId, { number })).id);
  const taken: string[] = [];
  while (taken.length < count) {
    const { jobs } = await worker.take({ batch: count - taken.length, inProgress: taken.length > 0 });
    taken.push(...jobs.map((job) => job.id));
  }
  const rowOf = async () =>
    (await core.sql<{ state: string; reason: string }[]>`SELECT state, reason FROM worker WHERE id = ${worker.id}`)[0];
  const jobRows = () =>
    core.sql<{ id: string; state: string; attempt: number }[]>`SELECT id, state, attempt FROM job ORDER BY position`;
  return { core, agent, worker, ids, rowOf, jobRows };
}

t.test('large results in transit are not lost with their worker', async (t) => {
  const { core, worker, ids, rowOf, jobRows } = await holding(t, 5);
  const output = 'x'.repeat(300_000);
  await core.sql.begin(async (sql) => {
    // Core cannot write the first result, and the agent sends two at a time: the others wait on the agent's disk.
    await sql`SELECT FROM job WHERE id = ${ids[0]!} FOR UPDATE`;
    for (const id of ids)
      t.equal(await worker.done(id, { output, ...(id === ids.at(-1) ? { stopPod: true } : {}) }), 200);
    await waitFor('the worker to end', () => !isAlive(worker.pid));
    const endedAtMs = performance.now();
    await waitFor(
      'core to have had time to give up on it',
      () => performance.now() - endedAtMs > OUTCOME_GRACE_OVER_MS,
    );
    t.equal((await rowOf())!.state, 'DRAINING', 'it has not delivered all it owes');
    t.same(
      (await jobRows()).map((job) => job.state),
      ids.map(() => 'IN_PROGRESS'),
    );
  });
  await waitFor('all results', async () => (await jobRows()).every((job) => job.state === 'COMPLETED'));
  t.same(
    (await jobRows()).map((job) => job.attempt),
    ids.map(() => 1),
    'no attempt was lost',
  );
  await waitFor('the end of the worker', async () => (await rowOf())!.state === 'STOPPED');
});

t.test('a stopping agent reports ends of workers after the causes of their attempts', async (t) => {
  const { agent, rowOf, jobRows } = await holding(t, 1);
  await agent.stop();
  const row = await waitFor('the end of the worker', async () => {
    const row = await rowOf();
    return row!.state === 'STOPPED' && row;
  });
  t.equal(row.reason, 'The agent was stopped.', 'not the end of its lease');
  t.match(await jobRows(), [{ state: 'IN_QUEUE' }]);
});

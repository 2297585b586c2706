// test: postgres
/** The database itself rejects an impossible job, whatever the code does. */

import { JOB_STATES } from '@slipway/core/domain/jobs/job-state';
import type { Test } from 'tap';
import t from 'tap';
import { runningJob, startEngines, submission } from '../../../helpers/system/job-engine.ts';

const engines = await startEngines(t, { idle: true });
const { engine, sql } = engines;
const endpointId = await engines.endpoint();

async function refusal(t: Test, change: Promise<unknown>, constraint: string): Promise<void> {
  const error: unknown = await change.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  t.equal((error as { constraint_name?: string } | undefined)?.constraint_name, constraint, constraint);
}

t.test('a state that does not exist', async (t) => {
  const { id } = await engine.calls.submit(submission(endpointId));
  await refusal(t, sql`UPDATE job SET state = 'RUNNING' WHERE id = ${id}`, 'job_state_known');
});

t.test('final states have an end, others have none', async (t) => {
  const job = await runningJob({ engine }, await engines.endpoint());
  for (const state of JOB_STATES.filter((each) => each !== 'IN_QUEUE' && each !== 'IN_PROGRESS')) {
    await refusal(t, sql`UPDATE job SET state = ${state} WHERE id = ${job.jobId}`, 'job_finished_at_matches_state');
  }
  await refusal(t, sql`UPDATE job SET finished_at = now() WHERE id = ${job.jobId}`, 'job_finished_at_matches_state');
});

t.test('a running job has its holder, its start, its deadline and an attempt', async (t) => {
  const job = await runningJob({ engine }, await engines.endpoint());
  for (const column of ['machine_id', 'worker_id', 'started_at', 'execution_deadline_at']) {
    await refusal(t, sql`UPDATE job SET ${sql(column)} = NULL WHERE id = ${job.jobId}`, 'job_lease_matches_state');
  }
  await refusal(t, sql`UPDATE job SET attempt = 0 WHERE id = ${job.jobId}`, 'job_lease_matches_state');
});

t.test('a queued job has no holder', async (t) => {
  const { id } = await engine.calls.submit(submission(endpointId));
  await refusal(t, sql`UPDATE job SET machine_id = 'm' WHERE id = ${id}`, 'job_queue_has_no_lease');
  await refusal(t, sql`UPDATE job SET execution_deadline_at = now() WHERE id = ${id}`, 'job_queue_has_no_lease');
});

t.test('a webhook call is tried at most three times', async (t) => {
  await refusal(
    t,
    sql`INSERT INTO webhook_delivery (endpoint_id, job_id, url, body, tries) VALUES ('e', 'j', 'u', '', 4)`,
    'webhook_delivery_tries_bounded',
  );
});

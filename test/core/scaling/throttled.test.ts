// test: postgres
/** `throttled` of /health is the decision's own number: workers that were wanted and found no place, and none that nobody has decided on. */
import t from 'tap';
import { JobState } from '../../../proto/gen/slipway/v1/job.ts';
import { startReplicas } from '../../helpers/core-replicas.ts';
import { call } from '../../helpers/grpc-clients.ts';
import { waitFor } from '../../helpers/wait-for.ts';

t.setTimeout(120_000);

const core = await startReplicas(t);
/** Counts are shown again for a moment: those that have this many queued jobs are new enough. */
const healthWith = (endpointId: string, inQueue: number) => waitFor(`${inQueue} queued jobs`, async () => {
  const { jobs, workers } = await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
  return jobs!.inQueue === inQueue && workers!;
});

t.test('a job of low priority wants no worker, a normal one that no machine has room for does', async (t) => {
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  await core.submit(endpointId, {}, true);
  t.match(await healthWith(endpointId, 1), { throttled: 0, throttledReason: '' });
  await core.submit(endpointId);
  const decided = await waitFor('the decision', async () => (
    await core.sql`SELECT refusal FROM scale_decision WHERE endpoint_id = ${endpointId} AND throttled = 1`)[0]);
  t.match(decided, { refusal: /no machine/ });
  const told = await waitFor('it to be told', async () => {
    const { workers } = await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
    return workers!.throttled > 0 && workers!;
  });
  t.match(told, { throttled: 1, throttledReason: decided!.refusal });
});

t.test('a first job before its turn', async (t) => {
  await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  let id = '';
  await core.sql.begin(async (sql) => {
    // Whoever holds this row has the endpoint's turn.
    await sql`SELECT FROM endpoint WHERE id = ${endpointId} FOR NO KEY UPDATE`;
    ({ id } = await core.submit(endpointId));
    t.match(await healthWith(endpointId, 1), { throttled: 0, throttledReason: '' });
  });
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
  t.match(await healthWith(endpointId, 0), { throttled: 0 }, 'there was room for it');
});

// test: postgres
/** `throttled` of /health is the number of unplaced workers of the last decision. */

import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const core = await startReplicas(t);
/** Counts are cached for a moment. A count with this many queued jobs is recent enough. */
const healthWith = (endpointId: string, inQueue: number) =>
  waitFor(`${inQueue} queued jobs`, async () => {
    const { jobs, workers } = await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
    return jobs!.inQueue === inQueue && workers!;
  });

t.test('a low-priority job needs no worker; a normal job without capacity counts', async (t) => {
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  await core.submit(endpointId, {}, true);
  t.match(await healthWith(endpointId, 1), { throttled: 0, throttledReason: '' });
  await core.submit(endpointId);
  const decided = await waitFor(
    'the decision',
    async () =>
      (await core.sql`SELECT refusal FROM scale_decision WHERE endpoint_id = ${endpointId} AND throttled = 1`)[0],
  );
  t.match(decided, { refusal: /no machine/ });
  const told = await waitFor('it to be told', async () => {
    const { workers } = await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
    return workers!.throttled > 0 && workers!;
  });
  t.match(told, { throttled: 1, throttledReason: decided!.refusal });
});

t.test('a first job before its reconcile', async (t) => {
  await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  let id = '';
  await core.sql.begin(async (sql) => {
    // Holding this row keeps the endpoint from being reconciled.
    await sql`SELECT FROM endpoint WHERE id = ${endpointId} FOR NO KEY UPDATE`;
    ({ id } = await core.submit(endpointId));
    t.match(await healthWith(endpointId, 1), { throttled: 0, throttledReason: '' });
  });
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
  t.match(await healthWith(endpointId, 0), { throttled: 0 }, 'there was room for it');
});

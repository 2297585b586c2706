// test: postgres
/** /health counts the same workers as the decision, and shows its number of unplaced workers. */

import type { Decision } from '@slipway/core/domain/scaling/scale-decision';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('workers of every state at once', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ cpuSlots: 4, startWorkers: false, onAssignment: () => undefined });
  const endpointId = await core.createEndpoint({ workersMin: 4, workersMax: 6, computeType: 'CPU' });
  await waitFor('four workers', () => agent.desired.length === 4);
  const [idle, busy, crashed] = agent.desired.map(({ workerId }) => workerId);
  const report = (workerId: string, state: WorkerState, capacity = 0) =>
    agent.send({ workers: [{ workerId, endpointId, state, capacity, reason: '' }] });
  report(busy!, WorkerState.READY, 1);
  await core.submit(endpointId);
  await waitFor('it to be busy', () => agent.assignments.length === 1);
  report(idle!, WorkerState.READY, 1);
  report(crashed!, WorkerState.UNHEALTHY);
  await waitFor(
    'its crash to be known',
    async () =>
      (
        await core.sql`UPDATE worker SET retry_at = now() + interval '1 hour' WHERE id = ${crashed!}
          AND state = 'UNHEALTHY' RETURNING id`
      ).length === 1,
  );
  // A new decision, so that it is logged with its sample.
  await core.updateEndpoint(endpointId, { workersMin: 6 });
  const decision = await waitFor(
    'a decision',
    async () =>
      (
        await core.sql<Pick<Decision, 'numbers' | 'throttled'>[]>`
      SELECT numbers, throttled FROM scale_log WHERE endpoint_id = ${endpointId} AND throttled > 0 ORDER BY id DESC
        LIMIT 1`
      )[0],
  );
  const { workers } = await waitFor('the counts of now', async () => {
    const health = await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
    return health.workers!.throttled > 0 && health;
  });
  const { idle: free, running, initializing, unhealthy } = decision.numbers.workers;
  t.same(
    { free, running, initializing, unhealthy, throttled: decision.throttled },
    { free: 1, running: 1, initializing: 1, unhealthy: 1, throttled: 2 },
  );
  t.match(workers, { idle: free, running, initializing, unhealthy, throttled: decision.throttled });
});

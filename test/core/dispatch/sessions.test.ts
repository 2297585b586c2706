/** Sessions of agents: a job end to end, fencing, hello, leases. */
import t from 'tap';
import { JobState } from '../../../proto/gen/slipway/v1/job.ts';
import { startReplicas } from '../../helpers/core-replicas.ts';

t.test('a job goes to a worker and its output comes back', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId, { n: 1 });
  const job = await core.wait(endpointId, id);
  t.equal(job.state, JobState.COMPLETED);
  t.equal(job.output?.toString(), '{"ok":true}');
  t.equal(agent.assignments[0]?.input?.toString(), '{"n":1}');
  t.equal(job.workerId, agent.assignments[0]?.ref?.workerId);
});

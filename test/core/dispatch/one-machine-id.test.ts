// test: postgres
/**
 * Two agents with one machine id: the one that holds the lease keeps it, its successor gets in at once. And sessions
 * end with a reason.
 */

import { SessionEndReason } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const silent = { onAssignment: () => undefined, heartbeatMs: 100 };

t.test('a copy of the data folder takes nothing from the agent that runs, on any replica', async (t) => {
  const core = await startReplicas(t, 2);
  const endpointId = await core.createEndpoint({ retryLimit: 0 });
  const first = await core.joinAgent({ ...silent, instance: 'first', replaces: 'zeroth' });
  const { machineId } = first;
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId);
  const ref = await waitFor('the job to run', () => first.assignments[0]?.ref);
  for (const replica of core.replicas) {
    // Its folder was copied while the first one ran, and before.
    for (const replaces of ['first', 'zeroth', '']) {
      const refusal = await core
        .joinAgent({ ...silent, machineId, instance: 'copy', replaces }, replica)
        .catch((error: unknown) => error);
      t.match(refusal, {
        code: 9,
        details: new RegExp(
          `^Machine ${machineId} is held by the agent of "${machineId}", which runs since 2.*keys create NAME`,
        ),
      });
    }
  }
  first.finish(ref);
  t.match(await core.wait(endpointId, id), { state: JobState.COMPLETED, attempt: 1 }, 'its work went on');
});

t.test('an agent that starts again gets in at once, a stranger when the lease has ended', async (t) => {
  const core = await startReplicas(t);
  const first = await core.joinAgent({ ...silent, instance: 'first' });
  const { machineId } = first;
  first.drop();
  await waitFor(
    'the end of its session to be noticed',
    async () => (await core.sql`SELECT session_id FROM machine`)[0]!.session_id === null,
  );
  await t.rejects(core.joinAgent({ ...silent, machineId, instance: 'other' }), { code: 9 }, 'its lease still lasts');
  const second = await core.joinAgent({ ...silent, machineId, instance: 'second', replaces: 'first' });
  const again = await core.joinAgent({ ...silent, machineId, instance: 'second', replaces: 'first' });
  await second.ended;
  t.match(
    second.end,
    { reason: SessionEndReason.SUPERSEDED, text: /newer session/ },
    'the same agent again, as after a broken connection',
  );
  again.drop();
  // Ten seconds are long for a test: the lease ends now.
  await waitFor(
    'the end of its session to be noticed',
    async () => (await core.sql`SELECT session_id FROM machine`)[0]!.session_id === null,
  );
  await core.sql`UPDATE machine SET lease_expires_at = now() - interval '1 s'`;
  await core.joinAgent({ ...silent, machineId, instance: 'other' });
});

t.test('a successor gets in also when the end of the session was not noticed', async (t) => {
  const core = await startReplicas(t, 2);
  const { machineId } = await core.joinAgent({ ...silent, heartbeatMs: 0, instance: 'first' });
  await t.rejects(
    core.joinAgent({ ...silent, machineId, instance: 'second', replaces: 'first' }, core.replicas[1]),
    { code: 9 },
    'it was just heard',
  );
  await core.sql`UPDATE machine SET seen_at = now() - interval '5 s'`;
  await core.joinAgent({ ...silent, machineId, instance: 'second', replaces: 'first' }, core.replicas[1]);
});

t.test('core says that it shuts down', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ instance: 'first' });
  await core.replicas[0]!.stop();
  t.equal(await agent.ended, undefined, 'in order');
  t.match(agent.end, { reason: SessionEndReason.SHUTTING_DOWN, text: 'core is shutting down' });
});

// test: postgres, 10 s
/**
 * The database stops and restarts under a running core: sessions survive, health reports the fault, jobs continue,
 * nothing is lost.
 */
import { credentials, makeClientConstructor } from '@grpc/grpc-js';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { service as healthService } from 'grpc-health-check';
import t from 'tap';
import { QUICK, startPostgres } from '../../helpers/db/throwaway-postgres.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('a restart heals by itself', async (t) => {
  const database = await startPostgres(QUICK);
  // Teardowns run last to first: core stops before its database.
  t.teardown(() => database.remove());
  const core = await startReplicas(t, 1, {}, { url: database.url() });
  const agent = await core.joinAgent({ onAssignment: () => undefined });
  let ended = false;
  void agent.ended.then(() => {
    ended = true;
  });
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const workersBefore = agent.desired.map((worker) => worker.workerId);
  const running = await core.submit(endpointId);
  const queued = await core.submit(endpointId);
  const { ref } = await waitFor('it to run', () => agent.assignments[0]);

  const Health = makeClientConstructor(healthService as never, 'grpc.health.v1.Health');
  const health = new Health(core.replicas[0]!.address, credentials.createInsecure()) as unknown as {
    check(request: object, done: (error: Error | null, answer: { status: string }) => void): void;
    close(): void;
  };
  t.teardown(() => health.close());
  const serving = (): Promise<boolean> =>
    new Promise((resolve) => {
      health.check({ service: '' }, (error, answer) => resolve(!error && answer.status === 'SERVING'));
    });
  t.equal(await serving(), true);

  await database.child.stop();
  await waitFor('health to notice', async () => !(await serving()));
  // The end of an attempt that arrives meanwhile is kept until it can be written.
  agent.finish(ref!);
  t.match(await reasonOf(core.get(endpointId, running.id)), /^UNAVAILABLE/);
  await database.child.start();
  await waitFor('health to come back', serving);

  t.equal((await core.wait(endpointId, running.id)).state, JobState.COMPLETED, 'the outcome was written');
  await waitFor('its acknowledgement', () => agent.acked.length === 1);
  const next = await waitFor('the queued job', () => agent.assignments[1]);
  t.equal(next.ref!.jobId, queued.id);
  agent.finish(next.ref!);
  t.match(await core.wait(endpointId, queued.id), { state: JobState.COMPLETED, attempt: 1, retries: 0 });
  t.equal(ended, false, 'the session lived on');
  t.same(
    agent.desired.map((worker) => worker.workerId),
    workersBefore,
    'and so did its worker',
  );
});

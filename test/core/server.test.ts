// test: postgres
/** The gRPC edge: request ids, hidden faults, a graceful stop. */
import { status as Code, credentials, Metadata } from '@grpc/grpc-js';
import { AccessServiceClient, Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('request ids come back; a caller may bring one; a key may come bare', async (t) => {
  const core = await startReplicas(t);
  const client = new AccessServiceClient(core.replicas[0]!.address, credentials.createInsecure());
  t.teardown(() => client.close());
  const ask = (entries: Record<string, string>): Promise<{ id: unknown; code: number }> =>
    new Promise((resolve) => {
      const metadata = new Metadata();
      for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
      let id: unknown;
      let code = -1;
      client
        .checkAccess({ endpointId: '', write: false, api: Api.JOBS }, metadata, () => undefined)
        .on('metadata', (received) => {
          id = received.get('x-request-id')[0];
        })
        .on('status', (received) => {
          code = received.code;
          id ??= received.metadata.get('x-request-id')[0];
          resolve({ id, code });
        });
    });
  t.match(await ask({ authorization: core.key }), { id: /^[a-z0-9]{20}$/, code: Code.OK });
  t.match(await ask({ authorization: `bearer ${core.key}`, 'x-request-id': 'mine-1' }), {
    id: 'mine-1',
    code: Code.OK,
  });
  t.match(await ask({ 'x-request-id': 'mine-2' }), { id: 'mine-2', code: Code.UNAUTHENTICATED });
});

t.test('a stop ends sessions and waits normally, and running jobs continue with the next process', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ onAssignment: () => undefined });
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId);
  const { ref } = await waitFor('it to run', () => agent.assignments[0]);
  const waiting = core.wait(endpointId, id, 60_000);
  // The wait must have arrived before the stop begins.
  await core.get(endpointId, id);
  const stopped = core.replicas[0]!.stop();
  t.equal((await waiting).state, JobState.IN_PROGRESS, 'answered as things stand');
  t.equal(await agent.ended, undefined, 'ended in order');
  await stopped;
  const next = await core.startReplica();
  const workers = [{ workerId: ref!.workerId, endpointId, state: WorkerState.READY, capacity: 1 }];
  const again = await core.joinAgent({ machineId: agent.machineId, held: [ref!], workers }, next);
  again.finish(ref!);
  await waitFor('the end', async () => {
    const [row] = await core.sql`SELECT state, attempt FROM job WHERE id = ${id}`;
    return row!.state === 'COMPLETED' && row!.attempt === 1;
  });
  t.pass('the attempt survived');
  await t.rejects(
    call(core.clients.jobs, 'getJob', { endpointId, jobId: id, omitOutput: true, ttlMs: 0 }, core.key),
    /not reachable/,
  );
});

/** Checks that requests to workers are counted, both direct ones and those through a facade. */
import type { Test } from 'tap';
import { call } from '../grpc/grpc-clients.ts';
import { waitFor } from '../time/wait-for.ts';
import type { startDirectWay } from './direct-way.ts';
import { lbEndpoint } from './lb-endpoint.ts';

/** Sends requests by both ways, and checks what core says of them. */
export async function checkRequestCounts(
  t: Test,
  { system, send, shown, create, direct }: Awaited<ReturnType<typeof startDirectWay>>,
): Promise<void> {
  const few = await lbEndpoint(system, { workerConcurrency: 99, workersMin: 1 });
  await waitFor('its worker', async () => (await send(`/v2/${few}/x`)).status === 200);
  const counted = await create({ workersMin: 1 });
  const stats = (endpointId: string) =>
    call(system.clients.endpoints, 'getRequestStats', { endpointId, spanMs: 0 }, system.key);
  const body = Buffer.from('x'.repeat(1_000));
  for (const endpointId of [counted, few]) {
    const before = (await stats(endpointId)).total!.requests;
    const { worker } = await shown(`/v2/${endpointId}/x`, { method: 'POST', body });
    for (const status of [404, 503])
      t.equal((await send(`/v2/${endpointId}/say?status=${status}&type=text%2Fplain&bytes=eA%3D%3D`)).status, status);
    await waitFor('all of them', async () => (await stats(endpointId)).total!.requests >= before + 3);
    const { total, workers, failed, steps, ever } = await stats(endpointId);
    t.match(total, { clientErrors: 1, serverErrors: 1, broken: 0, abandoned: 0, bytesIn: 1_000 });
    t.ok(total!.succeeded >= 1 && total!.bytesOut > 2 && total!.duration!.count === total!.requests);
    t.equal(workers[0]!.workerId, worker);
    t.match(failed, [{ method: 'GET', path: '/say', hasQuery: true, status: 503, workerId: worker, cause: '' }]);
    t.equal(failed.length, 1);
    t.ok(steps.length >= 1);
    t.equal(ever!.requests, total!.requests);
  }
  t.equal(await direct(few), 0, 'those went through a facade');
}

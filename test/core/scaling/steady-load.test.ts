// test: postgres, 20 s
/** A steady load on a real core: its workers are started once, and none is replaced while it lasts. */

import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { ScaleDecision } from '@slipway/proto/gen/slipway/v1/explanation';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const SPAN_MS = 8_000;
const core = await startReplicas(t);

/** Keeps a number of jobs running for several times idleTimeout. Returns the actions of the scaler. */
async function steadily(jobs: number, fields: Partial<Endpoint>, location: string): Promise<ScaleDecision[]> {
  const agent = await core.joinAgent({ locations: [location], onAssignment: () => undefined });
  const endpointId = await core.createEndpoint({
    ...fields,
    locations: [location],
    workersMin: 0,
    workersMax: 8,
    idleTimeoutSeconds: 2,
  });
  await Promise.all(Array.from({ length: jobs }, () => core.submit(endpointId)));
  await waitFor('all to run', () => agent.assignments.length === jobs);
  const sinceMs = performance.now();
  for (let ended = 0; performance.now() - sinceMs < SPAN_MS; ended += 1) {
    agent.finish(agent.assignments[ended]!.ref!);
    await waitFor('it to be done', () => agent.acked.length > ended);
    await core.submit(endpointId);
    await waitFor('the next to run', () => agent.assignments.length === jobs + ended + 1);
  }
  return (await call(core.clients.endpoints, 'listDecisions', { endpointId, pageSize: 1_000, beforeId: 0 }, core.key))
    .decisions;
}

const kinds = (decisions: readonly ScaleDecision[]): string[] =>
  decisions.flatMap(({ actions }) => actions.map(({ kind }) => kind));

t.test('REQUEST_COUNT', async (t) => {
  t.same(kinds(await steadily(4, { scalerType: ScalerType.REQUEST_COUNT, scalerValue: 1 }, 'CZ')), [
    'ADD',
    'ADD',
    'ADD',
    'ADD',
  ]);
});

t.test('QUEUE_DELAY', async (t) => {
  t.same(kinds(await steadily(2, { scalerType: ScalerType.QUEUE_DELAY, scalerValue: 1 }, 'FR')), ['ADD', 'ADD']);
});

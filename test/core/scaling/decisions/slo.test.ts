// test: postgres
/**
 * The SLO scaler on a real core: it reads measurements, starts workers at once, gives its reason, scales to zero, and
 * replays.
 */

import type { Decision, DecisionSample } from '@slipway/core/domain/scaling/scale-decision';
import { decide } from '@slipway/core/domain/scaling/scale-decision';
import { EndpointType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const core = await startReplicas(t);
const agent = await core.joinAgent({ onAssignment: () => undefined });
type Row = Decision & { sample: DecisionSample; refusal_by_machine: string };

t.test('lifecycle of an endpoint', async (t) => {
  const endpointId = await core.createEndpoint({
    workersMin: 0,
    workersMax: 8,
    scalerType: ScalerType.SLO,
    scalerValue: 60,
    idleTimeoutSeconds: 1,
    gpuCount: 0,
    computeType: 'CPU',
  });
  // History of other days: jobs of 30 s, and a start of 40 s.
  await core.sql`
    INSERT INTO endpoint_traffic (endpoint_id, ended_at, span_ms, arrived, executed, execution_ms, executions, waits)
    VALUES (${endpointId}, now() - interval '2 hours', 10000, 4, 4, 120000, '{}', '{}')`;
  const [machine] = await core.sql`SELECT id FROM machine`;
  await core.sql`
    INSERT INTO worker (id, endpoint_id, machine_id, version, desired, state, created_at, ready_at, ended_at)
    VALUES ('before00000000', ${endpointId}, ${machine!.id as string}, 0, 'GONE', 'STOPPED',
      now() - interval '2 hours', now() - interval '2 hours' + interval '40 s', now())`;
  const jobs = await Promise.all(Array.from({ length: 8 }, () => core.submit(endpointId)));
  // 20 s of the minute are left when workers are ready: each begins 1.7 jobs until then, so eight jobs need five.
  await core.ready(endpointId, 5);
  await waitFor('as many attempts', () => agent.assignments.length >= 5);
  const log = () => core.sql<Row[]>`SELECT * FROM scale_log WHERE endpoint_id = ${endpointId} ORDER BY id`;
  const rows = await log();
  t.match(
    rows.at(-1)!.sample.demand.traffic,
    { executionMs: 30_000, startMs: 40_000, slots: 1 },
    'from what was measured',
  );
  t.ok(
    rows.every(({ target }) => target <= 5),
    'and no more than that',
  );
  const added = rows.find(({ actions }) => actions.length > 0);
  t.match(added, {
    reason: /a job waits and there is no worker \(\d wait, .* jobs a minute of 30 s, a start takes 40 s\)/,
  });
  for (const { id } of jobs) {
    await waitFor('it to be done', async () => {
      for (const { ref } of agent.assignments.splice(0)) agent.finish(ref!);
      return (await core.get(endpointId, id)).finishTime !== undefined;
    });
  }
  await waitFor(
    'zero',
    async () =>
      (await core.sql`SELECT FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL`).length === 0,
  );
  for (const row of await log()) {
    const { refusalByMachine, rollout: _, ...again } = decide(row.sample);
    t.match(row, { ...again, refusal_by_machine: refusalByMachine }, `${row.reason}: the same again`);
  }
  t.ok((await log()).length < 30, 'changing numbers alone are no news');
});

t.test('only for queue endpoints', async (t) => {
  await t.rejects(
    core.createEndpoint({ type: EndpointType.LB, scalerType: ScalerType.SLO }),
    /load-balancing endpoint has no queue/,
  );
});

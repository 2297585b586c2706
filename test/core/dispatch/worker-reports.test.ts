// test: postgres
/** Reports of workers: which session's count, and that none gets lost. */

import { WorkerReports } from '@slipway/core/dispatch/reports/worker-reports';
import type { WorkerFacts } from '@slipway/core/store/machines/worker-store';
import { WorkerStore } from '@slipway/core/store/machines/worker-store';
import { openDatabase } from '@slipway/core/store/sql/database';
import { Sealer } from '@slipway/kit/host/seal';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { LIVE_MACHINES, logger, startEngines } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('what an earlier session says late changes nothing', async (t) => {
  const core = await startReplicas(t);
  const { machineId } = await core.joinAgent();
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const database = openDatabase(core.url, { logger: createLogger('test', 'silent') });
  t.teardown(() => database.close());
  const store = new WorkerStore(database, new Sealer('0'.repeat(64)));
  const [machine] = await core.sql`SELECT session_id FROM machine WHERE id = ${machineId}`;
  const current = { machineId, sessionId: machine!.session_id as string };
  const earlier = { machineId, sessionId: 'an earlier one' };
  const state = async () =>
    (await core.sql`SELECT state FROM worker WHERE endpoint_id = ${endpointId}`)[0]!.state as string;
  const [row] = await core.sql`SELECT id FROM worker WHERE endpoint_id = ${endpointId}`;
  const facts = (observed: WorkerFacts['state']): WorkerFacts[] => [
    {
      workerId: row!.id as string,
      state: observed,
      capacity: 0,
      reason: '',
      exitCode: null,
      sdkVersion: '',
      address: '',
      health: '',
      singleUse: false,
    },
  ];
  t.same(await store.report(earlier, facts('INITIALIZING')), []);
  t.same(await store.report(earlier, facts('UNHEALTHY')), []);
  t.same(await store.endUnlisted(earlier, []), []);
  t.equal(await state(), 'READY');
  t.same(await store.report(current, facts('DRAINING')), [endpointId]);
  t.equal(await state(), 'DRAINING');
  await core.sql`UPDATE machine SET session_id = NULL WHERE id = ${machineId}`;
  await store.report(current, facts('STOPPED'));
  t.equal(await state(), 'STOPPED', 'the final report of a session that ended in order counts');
});

t.test('a worker locked by a reconcile delays no report of another machine', async (t) => {
  const core = await startReplicas(t);
  const agents = [await core.joinAgent({ cpuSlots: 1 }), await core.joinAgent({ cpuSlots: 1 })];
  const endpointId = await core.createEndpoint({ workersMin: 2 });
  await core.ready(endpointId, 2);
  const rows = await core.sql<
    { id: string; machine_id: string }[]
  >`SELECT id, machine_id FROM worker WHERE endpoint_id = ${endpointId}`;
  const [locked, other] = agents.map(({ machineId }) => rows.find((row) => row.machine_id === machineId)!.id);
  const state = async (id: string) => (await core.sql`SELECT state FROM worker WHERE id = ${id}`)[0]!.state as string;
  const turn = await core.sql.reserve();
  t.teardown(() => turn.release());
  await turn`BEGIN`;
  await turn`SELECT FROM worker WHERE id = ${locked!} FOR UPDATE`;
  for (const [n, workerId] of [locked!, other!].entries()) {
    agents[n]!.send({ workers: [{ workerId, endpointId, state: WorkerState.DRAINING, capacity: 0, reason: '' }] });
  }
  await waitFor("the other machine's report", async () => (await state(other!)) === 'DRAINING');
  t.equal(await state(locked!), 'READY');
  await turn`COMMIT`;
  await waitFor('its own', async () => (await state(locked!)) === 'DRAINING');
});

t.test('details of a failed write are written later', async (t) => {
  const core = await startEngines(t, { idle: true });
  const endpointId = await core.endpoint();
  const session = { machineId: LIVE_MACHINES[0], sessionId: 'session' };
  const [workerId, usedId] = ['worker00000001', 'worker00000002'];
  for (const id of [workerId, usedId]) {
    await core.sql`INSERT INTO worker (id, endpoint_id, machine_id, version, state, busy_at)
      VALUES (${id}, ${endpointId}, ${session.machineId}, 1, 'READY', now() - interval '1 h')`;
  }
  const quiet = (): void => undefined;
  const reports = new WorkerReports({
    workers: core.stores.workers,
    onChanged: quiet,
    onBackends: quiet,
    holds: () => false,
    clock: systemClock,
    random: systemRandom,
    logger,
  });
  await core.sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM nextval('refused'); RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$`);
  // Unlike rows, a sequence keeps the effect of a failed statement.
  await core.sql`CREATE SEQUENCE refused`;
  await core.sql`CREATE TRIGGER refuse BEFORE UPDATE ON worker EXECUTE FUNCTION refuse()`;
  await reports.start();
  t.teardown(() => reports.stop());
  reports.used(usedId);
  reports.detailChanged(session, {
    workerId,
    state: 'READY',
    capacity: 5,
    reason: '',
    exitCode: null,
    sdkVersion: '',
    address: '',
    health: '',
    singleUse: false,
  });
  const refusals = async (): Promise<number> =>
    (await core.sql<[{ n: number }]>`SELECT last_value AS n FROM refused`)[0].n;
  await waitFor('refusals of both', async () => (await refusals()) >= 4);
  await core.sql`DROP TRIGGER refuse ON worker`;
  await waitFor(
    'the detail',
    async () => (await core.sql`SELECT FROM worker WHERE id = ${workerId} AND capacity = 5`).length > 0,
  );
  await waitFor(
    'the sign of use',
    async () =>
      (await core.sql`SELECT FROM worker WHERE id = ${usedId} AND busy_at > now() - interval '1 min'`).length > 0,
  );
});

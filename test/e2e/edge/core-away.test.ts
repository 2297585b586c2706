// test: postgres, envoy, 30 s
/**
 * A restart of core does not cut a request that the real Envoy carries straight to a worker. Envoy reopens its stream
 * of load reports seconds later, and until then the request is not reported. In real time, because Envoy's own pauses
 * have no setting.
 */

import { delay, systemClock } from '@slipway/kit/time/clock';
import { LINK_TIMERS, LOAD_REOPEN_MS } from '@slipway/proto/wire/link-timers';
import postgres from 'postgres';
import t from 'tap';
import { startDirectWay } from '../../helpers/system/direct-way.ts';
import { skipWithoutEnvoy } from '../../helpers/system/edge.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('core restarts in the middle of a request', { skip: skipWithoutEnvoy() }, async (t) => {
  const { system, edge, create, send } = await startDirectWay(t, {}, { SLIPWAY_LB_PROCESSING_MS: '120000' });
  const sql = postgres(system.database.url, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end());
  const id = await create({ idleTimeoutSeconds: 1, workersMax: 2, scalerValue: 1 });
  const inFlight = async (): Promise<{ reporter: string; count: number }[]> => sql`
    SELECT reporter, count FROM endpoint_demand, unnest(in_flight) AS count WHERE endpoint_id = ${id}`;
  const answer = await send(`/v2/${id}/warm`);
  t.equal(answer.status, 200);
  const over = new AbortController();
  const headers = { authorization: `Bearer ${system.key}` };
  const asking = await fetch(`http://${edge.addresses['public']}/v2/${id}/endless`, { headers, signal: over.signal });
  const ended = asking.text().then(
    () => 'in order',
    () => 'cut',
  );
  const [before] = await waitFor('the report of it', async () => {
    const rows = await inFlight();
    return rows.length === 1 ? rows : undefined;
  });
  await system.cores[0]!.stop();
  await system.startCore(system.cores[0]!.address);
  await delay(systemClock, LOAD_REOPEN_MS + LINK_TIMERS.reportsSettleMs + 5_000);
  t.same([...(await inFlight())], [before], 'the same Envoy reports it, once');
  const workers = await sql<
    { desired: string; state: string }[]
  >`SELECT desired, state FROM worker WHERE endpoint_id = ${id}`;
  t.same(
    workers.map(({ desired, state }) => `${desired} ${state}`),
    ['RUN READY'],
    'one worker, and no other',
  );
  t.equal(await Promise.race([ended, delay(systemClock, 0).then(() => 'goes on')]), 'goes on', 'the request');
  over.abort();
  await ended;
  await waitFor('the report of its end', async () => (await inFlight()).length === 0);
});

// test: postgres, 10 s
/** Notices between replicas: every kind of event arrives once, elsewhere, and does not come back. */
import { randomUUID } from 'node:crypto';
import type { CoreEventMap, ReplicatedEventMap } from '@slipway/core/events/core-events';
import postgres from 'postgres';
import t from 'tap';
import { startEngines, submission } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const engines = await startEngines(t, { replicas: 2 });
const [here, there] = engines.replicas;

/** Collects the payloads of one event at a replica. */
function heard<Name extends keyof CoreEventMap>(
  replica: NonNullable<typeof here>,
  name: Name,
): CoreEventMap[Name][number][] {
  const items: CoreEventMap[Name][number][] = [];
  replica.events.on(name, (event) => {
    items.push(...(event as CoreEventMap[Name][number][]));
  });
  return items;
}

await t.test('every kind of event reaches the other replica', async (t) => {
  const sent: ReplicatedEventMap = {
    settled: [{ endpointId: 'e', jobId: 'j' }],
    chunks: [{ endpointId: 'e', jobId: 'k' }],
    queued: ['e', 'f'],
    stop: [{ endpointId: 'e', jobId: 'j', attempt: 2, machineId: 'm', reason: 'a "quoted" reason' }],
    desired: ['m1', 'm2'],
    rotation: ['e'],
    keys: ['key'],
    endpoints: ['e'],
    batches: ['b'],
  };
  for (const name of Object.keys(sent) as (keyof ReplicatedEventMap)[]) {
    const received = heard(there!, name);
    const echoed = heard(here!, name);
    here!.events.emit(name, sent[name] as never);
    await waitFor(name, () => received.length >= sent[name].length);
    t.same(received, sent[name], name);
    t.same(echoed, sent[name], `${name} does not come back`);
  }
});

await t.test('more than fits into one notice arrives whole', async (t) => {
  const received = heard(there!, 'settled');
  const keys = Array.from({ length: 2_000 }, () => ({ endpointId: 'endpoint000001', jobId: `${randomUUID()}-u1` }));
  here!.events.emit('settled', keys);
  await waitFor('all of them', () => received.length >= keys.length);
  t.same(new Set(received.map((key) => key.jobId)), new Set(keys.map((key) => key.jobId)));
});

await t.test('a job submitted here is claimed there at once', async (t) => {
  const endpointId = await engines.endpoint();
  const slot = { endpointId, workerId: 'w', machineId: 'machine00001' };
  t.same(await there!.engine.attempts.claim(endpointId, [slot]), [], 'the queue is empty and known to be');
  const queued = heard(there!, 'queued');
  const job = await here!.engine.calls.submit(submission(endpointId));
  await waitFor('the notice', () => queued.includes(endpointId));
  t.match(await there!.engine.attempts.claim(endpointId, [slot]), [{ jobId: job.id }]);
});

await t.test('the channel listens again after its connection broke, and survives what it cannot read', async (t) => {
  const sql = postgres(engines.url, { max: 1 });
  t.teardown(() => sql.end());
  await sql`SELECT pg_notify('slipway', 'not json')`;
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'slipway-core-notices'
    AND datname = current_database()`;
  const received = heard(there!, 'keys');
  await waitFor('a notice after the break', () => {
    here!.events.emit('keys', [randomUUID()]);
    return received.length > 0;
  });
});

// test: postgres
/** The cache of endpoint facts drops the endpoints that changed, and nothing else. */

import { EndpointFactsCache } from '@slipway/core/jobs/submit/endpoint-facts';
import t from 'tap';
import { refused, startEngines } from '../../helpers/system/job-engine.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const { stores, events, sql, endpoint } = await startEngines(t, { idle: true });

await t.test('a changed key invalidates no endpoint, a changed endpoint only itself', async (t) => {
  const facts = new EndpointFactsCache({ stores, events, clock: new ManualClock() });
  const [changed, other] = [await endpoint({ workers_max: 1 }), await endpoint({ workers_max: 1 })];
  await Promise.all([facts.get(changed), facts.get(other)]);
  await sql`UPDATE endpoint SET workers_max = 2`;

  events.emit('keys', ['a-revoked-key']);
  t.match(facts.get(changed), { workersMax: 1 }, 'at hand after a key was revoked');
  t.match(facts.get(other), { workersMax: 1 });

  events.emit('endpoints', [changed]);
  t.match(facts.get(other), { workersMax: 1 }, 'at hand after another endpoint changed');
  t.match(await facts.get(changed), { workersMax: 2 });
});

await t.test('a lookup begun before a change is not cached after it', async (t) => {
  const facts = new EndpointFactsCache({ stores, events, clock: new ManualClock() });
  const id = await endpoint({ workers_max: 1 });
  const early = facts.get(id);
  events.emit('endpoints', [id]);
  t.match(await early, { workersMax: 1 });
  await sql`UPDATE endpoint SET workers_max = 2`;
  t.match(await facts.get(id), { workersMax: 2 });
  await sql`DELETE FROM endpoint WHERE id = ${id}`;
  t.match(facts.get(id), { workersMax: 2 }, 'at hand until somebody says so');
  events.emit('endpoints', [id]);
  await refused(t, Promise.resolve(facts.get(id)), 'ENDPOINT_NOT_FOUND');
});

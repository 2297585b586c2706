// test: postgres
/** A template that very many endpoints use: more than a statement has parameters. */
import t from 'tap';
import { startEngines } from '../../../helpers/system/job-engine.ts';

const ENDPOINTS = 11_000;
const { stores, sql } = await startEngines(t, { idle: true });
const actor = { accountId: 'account', keyId: 'key' };

t.test('each change is recorded once, and old ones are removed', async (t) => {
  await sql`INSERT INTO endpoint (id, account_id, name, template_id)
    SELECT 'e' || lpad(n::text, 13, '0'), 'account', 'e', 'template' FROM generate_series(1, ${ENDPOINTS}::int) n`;
  const busy = 'e0000000000007';
  await sql`INSERT INTO endpoint_release (endpoint_id, version, is_new, key_id, action)
    SELECT ${busy}, n, true, 'key', 'UpdateEndpoint' FROM generate_series(1, 1000) n`;
  const updated = await stores.templates.update('template', actor, ['image_name', 'a "name"'], (current) => ({
    settings: { ...current, imageName: 'another' },
    replacesWorkers: true,
  }));
  if (!updated || updated === 'taken') throw new Error(`not updated: ${updated}`);
  t.equal(updated.endpointIds.length, ENDPOINTS);
  const [counts] = await sql`SELECT count(*)::int AS all, count(DISTINCT endpoint_id)::int AS endpoints,
      count(*) FILTER (WHERE version = 1)::int AS raised
    FROM endpoint_release WHERE action = 'UpdateTemplate'`;
  t.match(counts, { all: ENDPOINTS, endpoints: ENDPOINTS, raised: ENDPOINTS });
  const [latest] = await stores.releases.list(busy, 0, 1);
  t.match(latest, {
    version: 1,
    isNew: true,
    keyId: 'key',
    action: 'UpdateTemplate',
    fields: ['image_name', 'a "name"'],
  });
  const kept = await stores.releases.list(busy, 0, 2_000);
  t.equal(kept.length, 1_000);
  t.equal(kept.at(-1)!.version, 2, 'the oldest one went');
});

// test: postgres
/** Retention: every table has a row in the documents, and old audit events and usage are deleted. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DecisionReaper } from '@slipway/core/singleton-tasks/decision-reaper';
import { openStorage } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import postgres from 'postgres';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { logger } from '../../helpers/system/job-engine.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/operate/disk.md'), 'utf8');

t.test('every table has a row in "What fills a disk in a year"', async (t) => {
  const { url } = await createDatabase(t);
  const sql = postgres(url, { max: 1 });
  t.teardown(() => sql.end());
  const tables = await sql<{ name: string }[]>`
    SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    ORDER BY 1`;
  const rows = page.split('\n').flatMap((line) => (line.startsWith('| `') ? [line.split('|')[1]!] : []));
  const named = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!)).toSorted();
  t.same(
    named,
    tables.map(({ name }) => name),
  );
});

t.test('changes and metered time are deleted after their days', async (t) => {
  const { url } = await createDatabase(t);
  const sql = postgres(url, { max: 1 });
  const storage = openStorage(url, new Sealer('00'.repeat(32)), logger);
  t.teardown(async () => {
    await sql.end();
    await storage.close();
  });
  await sql`INSERT INTO account (id, name) VALUES ('a', 'a')`;
  for (const days of [11, 9])
    await sql`INSERT INTO audit_event (at, key_id, action, subject_id)
      VALUES (now() - ${days}::int * interval '1 day', 'k', 'x', ${`${days}`})`;
  // Began, ended; the third has not ended.
  for (const [began, ended] of [
    [30, 21],
    [30, 19],
    [30, null],
    [25, 22],
    [5, 4],
  ] as const)
    await sql`INSERT INTO usage_span (account_id, kind, subject_id, started_at, ended_at)
      VALUES ('a', 'WORKER', ${`${began}-${ended}`}, now() - ${began}::int * interval '1 day',
        now() - ${ended}::int * interval '1 day')`;
  const left = async (): Promise<string[]> =>
    (
      await sql<{ id: string }[]>`SELECT subject_id AS id FROM audit_event UNION ALL SELECT subject_id FROM usage_span
      ORDER BY 1`
    ).map(({ id }) => id);
  const { stores } = storage;
  const parts = { stores, clock: systemClock, random: systemRandom, logger };
  await sql`INSERT INTO audit_event (at, key_id, action, subject_id, refused)
    VALUES (now() - interval '31 days', '', 'x', 'refused', 'UNAUTHORIZED')`;
  await new DecisionReaper(parts).runOnce();
  await new DecisionReaper({ ...parts, config: { auditDays: 0, usageDays: 0 } }).runOnce();
  t.equal((await left()).length, 7, 'nothing without a number of days');
  await new DecisionReaper({ ...parts, config: { auditDays: 10, usageDays: 20 } }).runOnce();
  t.same(await left(), ['30-19', '30-null', '5-4', '9']);
});

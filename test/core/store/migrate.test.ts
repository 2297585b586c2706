/** Migrations: many at once, again, and a database that is newer than the code. */
import postgres from 'postgres';
import t from 'tap';
import { NewerDatabaseError, migrate } from '../../../core/store/migrate.ts';
import { createDatabase } from '../../helpers/database.ts';
import { logger } from '../../helpers/job-engine.ts';

t.test('replicas that start together migrate once', async (t) => {
  const { url } = await createDatabase(t);
  await Promise.all([1, 2, 3].map(() => migrate({ url }, logger)));
  await migrate({ url }, logger);
  const sql = postgres(url, { max: 1 });
  t.teardown(() => sql.end());
  const [row] = await sql`SELECT count(*)::int AS n FROM job`;
  t.equal(row!['n'], 0);
  const [options] = await sql<{ reloptions: string[] }[]>`SELECT reloptions FROM pg_class WHERE relname = 'job'`;
  t.ok(options!.reloptions.includes('autovacuum_vacuum_scale_factor=0.01'), 'the hot tables are vacuumed hard');
  await sql`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('of the future', 99999999999999)`;
  await t.rejects(migrate({ url }, logger), NewerDatabaseError);
});

// test: postgres
/** An older core on a database of a newer release: it starts where that is allowed, else it says why not. */

import { withRollback } from '@slipway/core/domain/reports/rollback';
import { CoreReleaseStore } from '@slipway/core/store/reports/core-release-store';
import type { Database } from '@slipway/core/store/sql/database';
import { journalOf } from '@slipway/core/store/sql/journal';
import { migrate } from '@slipway/core/store/sql/migrate';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { logger } from '../../../helpers/system/job-engine.ts';

const OLD = { version: '0.4.0', allowNewer: false };
const FUTURE = 99_999_999_999_999;
const [before, own] = journalOf().slice(-2);

/** Returns a database on which 0.4.0 has started, and which a newer release has then migrated. */
async function newerDatabase(t: Test) {
  const { url } = await createDatabase(t, { empty: true });
  await migrate({ url }, logger, OLD);
  const sql = postgres(url, { max: 1, types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } } });
  t.teardown(() => sql.end());
  await sql`ALTER TABLE installation ADD COLUMN of_the_future text`;
  await sql`DROP INDEX job_running_since_idx`;
  await sql`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('of the future', ${FUTURE})`;
  return {
    sql,
    start: (allowNewer: boolean) => migrate({ url }, logger, { ...OLD, allowNewer }),
    record: (needs: { when: number; tag: string }) => sql`
      INSERT INTO core_release (version, schema, schema_name, needs_schema, needs_schema_name, needs_reason)
      VALUES ('0.5.0', ${FUTURE}, '0099_future', ${needs.when}, ${needs.tag}, 'a column is gone')`,
    states: async () =>
      withRollback(await new CoreReleaseStore({ sql: sql as unknown as Database['sql'] }).list()).map(
        ({ version, rollback, reason }) => ({ version, rollback, reason }),
      ),
  };
}

t.test('one that allows this release: with the option, and it stays as it is', async (t) => {
  const { sql, start, record, states } = await newerDatabase(t);
  await record(before!);
  await t.rejects(start(false), {
    name: 'NewerDatabaseError',
    message:
      /newer version of Slipway \(0\.5\.0, schema 0099_future\)\. This one may run on it: start it with --allow-newer-database/,
  });
  await start(true);
  const indexes = await sql`SELECT to_regclass('job_running_since_idx') AS made`;
  t.same(indexes, [{ made: null }], 'an index that the newer release dropped is not built again');
  t.same(await states(), [
    { version: '0.5.0', rollback: 'RUNS', reason: '' },
    { version: '0.4.0', rollback: 'RUNS_IF_ALLOWED', reason: '' },
  ]);
});

t.test('one that does not: never, and the reason is given', async (t) => {
  const { start, record, states } = await newerDatabase(t);
  await record({ when: own!.when + 1, tag: '0098_later' });
  const message = /core must have schema 0098_later or a later one \(a column is gone\)\. Run that version, or restore/;
  for (const isAllowed of [true, false]) await t.rejects(start(isAllowed), { name: 'NewerDatabaseError', message });
  t.match(await states(), [{}, { version: '0.4.0', rollback: 'CANNOT_RUN', reason: /0098_later.*a column is gone/ }]);
});

t.test('one whose newer release was killed before it recorded itself', async (t) => {
  const { start } = await newerDatabase(t);
  await t.rejects(start(true), { message: /has no record that this one may run on it/ });
});

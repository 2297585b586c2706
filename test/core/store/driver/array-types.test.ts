// test: postgres
/** The driver knows the array types instead of querying the server for them on each new connection. */

import { connect } from '@slipway/core/store/sql/database';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';

t.test('arrays of all types that columns and statements have are read and written as arrays', async (t) => {
  const { url } = await createDatabase(t);
  const sql = connect(url, 'test', 2, createLogger('test', 'silent'));
  t.teardown(() => sql.end());
  const columns = await sql<{ type: string }[]>`
    SELECT DISTINCT format_type(a.atttypid, NULL) AS type FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
      JOIN pg_class c ON c.oid = a.attrelid
    WHERE t.typcategory = 'A' AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`;
  t.not(columns.length, 0, 'the schema has some');
  const others = [
    'text',
    'bigint',
    'integer',
    'smallint',
    'boolean',
    'double precision',
    'numeric',
    'uuid',
    'jsonb',
    'bytea',
    'name',
    'oid',
  ];
  for (const type of [...columns.map((column) => column.type), ...others.map((name) => `${name}[]`)]) {
    const [row] = await sql.unsafe<{ value: unknown }[]>(`SELECT '{}'::${type} AS value`);
    t.same(row?.value, [], type);
  }
  t.same(await sql`SELECT ${['a', 'b,"c"']}::text[] AS texts, ${[1, 2 ** 40]}::bigint[] AS numbers`, [
    { texts: ['a', 'b,"c"'], numbers: [1, 2 ** 40] },
  ]);
});

t.test('a new connection is not asked for types, and may begin with a transaction', async (t) => {
  const { url } = await createDatabase(t);
  const sql = connect(url, 'test', 1, createLogger('test', 'silent'));
  t.teardown(() => sql.end());
  const [row] = await sql.begin(
    (tx) => tx<{ scans: number }[]>`SELECT pg_stat_get_xact_numscans('pg_type'::regclass)::int AS scans`,
  );
  t.equal(row?.scans, 0);
  const reserved = await sql.reserve();
  t.same(await reserved`SELECT 1 AS one`, [{ one: 1 }]);
  reserved.release();
});

// test: postgres
/**
 * Transactions that begin among so many statements that a connection takes no more of them ahead
 * (deploy/patches/postgres/13-begin-on-a-full-pipeline.patch).
 */

import { connect } from '@slipway/core/store/sql/database';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';

const NAME = 'full-pipeline';
const CONNECTIONS = 2;
/** Statements that the driver sends ahead on a connection. */
const AHEAD = 100;

const sql = connect((await createDatabase(t)).url, NAME, CONNECTIONS, createLogger('test', 'silent'));
t.teardown(() => sql.end());

t.test('at any position a transaction has its own connection, without other statements', async (t) => {
  await Promise.all(Array.from({ length: CONNECTIONS }, () => sql`SELECT pg_sleep(0.02)`));
  const failures: unknown[] = [];
  for (let before = CONNECTIONS * AHEAD - 4; before <= CONNECTIONS * AHEAD + 4; before += 1) {
    const others = Array.from({ length: before }, () => sql`SELECT 1`.execute());
    await sql
      .begin((tx) => tx`CREATE TEMPORARY TABLE mine (n int) ON COMMIT DROP`)
      .catch((error: unknown) => failures.push([before, error]));
    await Promise.all(others);
    const left =
      await sql`SELECT FROM pg_stat_activity WHERE application_name = ${NAME} AND datname = current_database()
          AND state LIKE 'idle in%'`;
    if (left.length > 0) failures.push([before, 'somebody is left in a transaction']);
  }
  t.same(failures, []);
});

// test: postgres
/**
 * Which of several free connections a statement takes: the one that was used last, whose process of PostgreSQL has all
 * at hand (deploy/patches/postgres/10-last-used-connection.patch).
 */

import { connect } from '@slipway/core/store/sql/database';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';

const CONNECTIONS = 4;

const sql = connect((await createDatabase(t)).url, 'connection-choice', CONNECTIONS, createLogger('test', 'silent'));
t.teardown(() => sql.end());

/** Returns the backend that answers. */
async function backend(): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid, pg_sleep(0.02)`;
  return row!.pid;
}

t.test('one at a time stay on one connection, as many as there are use all', async (t) => {
  const together = new Set(await Promise.all(Array.from({ length: CONNECTIONS }, backend)));
  t.equal(together.size, CONNECTIONS);
  const alone = new Set<number>();
  for (let i = 0; i < 2 * CONNECTIONS; i += 1) alone.add(await backend());
  t.equal(alone.size, 1);
  t.equal(
    new Set(await Promise.all(Array.from({ length: CONNECTIONS }, backend))).size,
    CONNECTIONS,
    'the others are still there',
  );
});

t.test('a transaction takes one of its own, and gives it back', async (t) => {
  const before = await backend();
  await sql.begin(async (tx) => {
    const [row] = await tx<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
    t.equal(row!.pid, before);
    t.not(await backend(), before, 'what is not part of it goes by another');
  });
  t.equal(await backend(), before);
});

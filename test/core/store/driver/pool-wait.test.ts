// test: postgres
/** How long a statement waited in the pool for a connection (deploy/patches/postgres/12-onturn.patch). */

import { connect, onPoolWait } from '@slipway/core/store/sql/database';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';

const SLEEP_MS = 200;

const sql = connect((await createDatabase(t)).url, 'pool-wait', 1, createLogger('test', 'silent'));
t.teardown(() => sql.end());
const waits: number[] = [];
onPoolWait(sql, (waitedMs) => {
  waits.push(waitedMs);
});
const sleep = () => sql`SELECT pg_sleep(${SLEEP_MS / 1_000})`;

t.test('the first waits for its connection, each other for earlier ones', async (t) => {
  await Promise.all([sleep(), sleep(), sql`SELECT 1`]);
  t.equal(waits.length, 3, 'each is told of once');
  const [first, second, third] = waits.splice(0) as [number, number, number];
  t.ok(first > 0);
  t.ok(second - first >= SLEEP_MS * 0.9, `${second} ms after ${first} ms`);
  t.ok(third - second >= SLEEP_MS * 0.9, `${third} ms after ${second} ms`);
  await sql`SELECT 1`;
  const [alone] = waits.splice(0);
  t.ok(alone! < SLEEP_MS / 2, `nobody is before one that is alone: ${alone} ms`);
});

t.test('a transaction waits once, its statements have a connection', async (t) => {
  const before = sleep().execute();
  await sql.begin(async (tx) => {
    await tx`SELECT 1`;
    await tx`SELECT 2`;
  });
  await before;
  t.equal(waits.length, 2, 'the statement before it, and its begin');
  t.ok(waits.splice(0)[1]! >= SLEEP_MS * 0.9);
});

t.test('a failed wait is reported like any other, one aborted before its turn is not', async (t) => {
  await t.rejects(sql`SELECT 1 / 0`);
  t.equal(waits.splice(0).length, 1);
  const cut = Promise.allSettled([sql`SELECT pg_terminate_backend(pg_backend_pid())`, sql`SELECT 1`]);
  t.same(
    (await cut).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.equal(waits.splice(0).length, 1);
  await sql`SELECT 1`;
  t.equal(waits.length, 1, 'the next one by a new connection');
});

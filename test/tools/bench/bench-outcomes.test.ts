// test: postgres, python
/** The bench's check after each round fails when any of its conditions is broken. */

import type { Sql } from '@slipway/core/store/sql/database';
import { checkOutcomes, checkQueued, databaseNow } from '@slipway/tools/bench/parts/outcomes';
import { INPUT } from '@slipway/tools/bench/stack/bench';
import { fillTables } from '@slipway/tools/bench/stack/fill-tables';
import postgres from 'postgres';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';

const ENDPOINT = 'endpoint';
const database = await createDatabase(t);
const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
t.teardown(() => sql.end());
await fillTables(sql as unknown as Sql, ENDPOINT, { finished: 20, queued: 3, expired: 0 });
const db = { sql };
const right = { jobs: 23, completed: 20, output: { ok: true } };

/** Returns whether the check fails after a change, which is then reverted. */
async function found(change: string, check: () => Promise<void>): Promise<boolean> {
  await sql`BEGIN`;
  await sql.unsafe(change);
  const wrong = await check().then(
    () => false,
    () => true,
  );
  await sql`ROLLBACK`;
  return wrong;
}

t.test('outcomes', async (t) => {
  const check = (): Promise<void> => checkOutcomes(db, ENDPOINT, right);
  await check();
  await t.rejects(checkOutcomes(db, ENDPOINT, { ...right, jobs: 24 }), 'a job is missing');
  await t.rejects(checkOutcomes(db, ENDPOINT, { ...right, completed: 21 }), 'too few are completed');
  await t.rejects(checkOutcomes(db, ENDPOINT, { ...right, output: { ok: false } }), 'another output');
  const oneOf = `(SELECT id FROM job WHERE state = 'COMPLETED' LIMIT 1)`;
  t.ok(await found(`UPDATE job SET retries = 1 WHERE id = ${oneOf}`, check), 'one was retried');
  t.ok(await found(`UPDATE job SET state = 'FAILED' WHERE id = ${oneOf}`, check), 'one has failed');
  t.ok(await found(`DELETE FROM job_output WHERE job_id = ${oneOf}`, check), 'one has no output');
  t.ok(
    await found(`UPDATE job_output SET output = '{"ok":false}' WHERE job_id = ${oneOf}`, check),
    'one has another output',
  );
  await checkOutcomes(db, ENDPOINT, { jobs: 0, since: await databaseNow(db) });
});

t.test('queued jobs', async (t) => {
  await sql`DELETE FROM job WHERE state <> 'IN_QUEUE'`;
  const check = (): Promise<void> => checkQueued(db, ENDPOINT, { jobs: 3 });
  await check();
  await t.rejects(checkQueued(db, ENDPOINT, { jobs: 4 }), 'a job is missing');
  t.ok(await found('UPDATE job SET attempt = 1', check), 'they were tried');
  t.ok(await found(`UPDATE job_input SET input = convert_to('${INPUT}' || ' ', 'UTF8')`, check), 'another input');
});

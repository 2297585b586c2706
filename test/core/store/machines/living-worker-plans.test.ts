// test: alone, postgres
/**
 * Plans of statements about workers, made while the tables were new. Whatever they looked like then, one endpoint costs
 * what its own workers cost, and a report what its own machine's do, however large the fleet has become.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { openDatabase } from '@slipway/core/store/sql/database';
import { migrate } from '@slipway/core/store/sql/migrate';
import type { Stores } from '@slipway/core/store/storage';
import { makeStores } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { createDatabase, useOwnServer } from '../../../helpers/db/database.ts';

useOwnServer();

const ENDPOINTS = 1_000;
const LOOKED = 10;
/**
 * Most index entries and rows of workers read for each requested worker: its own or its machine's ten, through the few
 * indexes that lead to them.
 */
const ENTRIES_MAX = 20;
const session = { machineId: 'm0', sessionId: 's' };
const facts = {
  state: 'READY',
  capacity: 1,
  reason: '',
  exitCode: null,
  sdkVersion: '',
  address: '',
  health: '',
  singleUse: false,
} as const;

/** Runs the frequent queries of scaling and sessions. `measure` gets each query with the workers that it is about. */
async function useAll(
  { scales, workers }: Stores,
  measure: (name: string, count: number, work: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const ids = Array.from({ length: LOOKED }, (_, n) => `e${n}`);
  await measure('look', LOOKED, () => scales.sample(ids));
  await measure('turns', LOOKED, () => scales.reconcile(ids, async () => turn()));
  await measure('report', 1, () => workers.report(session, [{ ...facts, workerId: 'w0' }]));
}

t.test('a connection that was young when the tables were new', async (t) => {
  const { url } = await createDatabase(t);
  const logger = createLogger('test', 'silent');
  const admin = openDatabase(url, { logger });
  const young = openDatabase(url, { logger, hotConnectionsMax: 1, connectionsMax: 1 });
  t.teardown(() => Promise.all([admin.close(), young.close()]));
  await migrate(admin, logger);
  const { sql } = admin;
  await sql`ALTER TABLE worker SET (autovacuum_enabled = off)`;
  const used = makeStores(young, new Sealer('0'.repeat(64)));
  await sql`INSERT INTO account (id, name) VALUES ('account', 'account')`;
  await sql`INSERT INTO template (id, account_id, name) VALUES ('template', 'account', 'template')`;
  await sql`
    INSERT INTO endpoint (id, account_id, name, template_id, scaler_type, scaler_value)
    SELECT 'e' || n, 'account', 'e' || n, 'template', 'SLO', 60 FROM generate_series(0, ${ENDPOINTS - 1}::int) n`;
  // More than five times: then a plan for all values is kept where there is one as good as the others.
  for (let n = 0; n < 8; n += 1)
    await useAll(used, async (_name, _count, work) => {
      await work();
    });

  const key = await sql<
    { key: string }[]
  >`INSERT INTO machine (id, name) SELECT 'm' || n, 'm' || n FROM generate_series(0, 99) n RETURNING id AS key`;
  t.equal(key.length, 100);
  await sql`UPDATE machine SET session_id = 's' WHERE id = 'm0'`;
  await sql`
    INSERT INTO worker (id, endpoint_id, machine_id, version) SELECT 'w' || n, 'e' || n, 'm' || n % 100, 0
      FROM generate_series(0, ${ENDPOINTS - 1}::int) n`;
  const read = async (): Promise<number> => {
    for (const pool of [young.hot, young.sql]) await pool`SELECT pg_stat_force_next_flush()`;
    await sql`SELECT pg_stat_clear_snapshot()`;
    const [row] = await sql<{ entries: number }[]>`
      SELECT ((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'worker')
        + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'worker'))::bigint AS entries`;
    return row!.entries;
  };
  await useAll(used, async (name, count, work) => {
    const before = await read();
    await work();
    const each = ((await read()) - before) / count;
    t.ok(each <= ENTRIES_MAX, `${name} reads ${each} entries for each`);
    t.ok(each > 0, 'and some at all');
  });
});

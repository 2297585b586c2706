// test: postgres, 10 s
/**
 * Migrations: many at once, again, from an earlier release with its data, and a database that is newer than the code.
 */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { migrate } from '@slipway/core/store/sql/migrate';
import { NewerDatabaseError } from '@slipway/core/store/sql/newer-database';
import { drizzle, migrate as runMigrations } from '@slipway/drizzle/orm';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { scratch } from '../../../helpers/scratch.ts';
import { logger } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.test('replicas that start together migrate once', async (t) => {
  const { url } = await createDatabase(t, { empty: true });
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

t.test("an operator's time limit for statements does not apply to migrations", async (t) => {
  const { url } = await createDatabase(t, { empty: true });
  const sql = postgres(url, { max: 1 });
  t.teardown(() => sql.end());
  await sql.unsafe(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET statement_timeout = 1`);
  await migrate({ url }, logger);
  t.ok(await sql`SELECT FROM job`);
});

/** Returns a database as an early release left it: with only the first `migrations` migrations. */
async function databaseOf(t: Test, migrations: number): Promise<{ url: string; sql: postgres.Sql }> {
  const { url } = await createDatabase(t, { empty: true });
  const { folder, path } = await scratch(t);
  await cp('drizzle/migrations', folder, { recursive: true });
  const journal = JSON.parse(await readFile(path('meta/_journal.json'), 'utf8')) as { entries: object[] };
  await writeFile(
    path('meta/_journal.json'),
    JSON.stringify({ ...journal, entries: journal.entries.slice(0, migrations) }),
  );
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end());
  await runMigrations(drizzle(sql), { migrationsFolder: folder });
  return { url, sql };
}

t.test('an upgrade beside a backup does not block the tables it waits for', async (t) => {
  const { url, sql } = await databaseOf(t, 21);
  // It would wait for the backup itself before it takes any lock.
  await sql`CREATE INDEX job_machine_since_idx ON job (machine_id, started_at) WHERE state = 'IN_PROGRESS'`;
  const backup = postgres(url, { max: 1 });
  t.teardown(() => backup.end());
  let read = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    read = resolve;
  });
  const began = Promise.withResolvers<void>();
  const reading = backup.begin(async (tx) => {
    await tx`SELECT count(*) FROM job_input`;
    began.resolve();
    await done;
  });
  await began.promise;
  const upgrade = migrate({ url }, logger);
  await waitFor(
    'the upgrade to wait for the table',
    async () => (await sql`SELECT FROM pg_locks WHERE NOT granted AND relation = 'job_input'::regclass`).length > 0,
  );
  await sql`SET statement_timeout = '20s'`;
  t.same(await sql`SELECT input FROM job_input`, [], 'whoever comes behind it');
  read();
  await Promise.all([reading, upgrade]);
  t.equal(
    (await sql`SELECT FROM information_schema.columns WHERE table_name = 'job_input' AND column_name = 'traceparent'`)
      .length,
    1,
  );
});

t.test(
  '0017: the index of finished jobs is built beside a release that serves, also where a start before was interrupted',
  async (t) => {
    const { url, sql } = await databaseOf(t, 17);
    await sql`CREATE INDEX job_finished_idx ON job (endpoint_id)`;
    await sql`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'job_finished_idx'::regclass`;
    // Three at once: the build must not wait for the migrations that wait for their turn.
    await Promise.all([1, 2, 3].map(() => migrate({ url }, logger)));
    const [index] = await sql`SELECT indisvalid, pg_get_indexdef(indexrelid) AS definition FROM pg_index
        WHERE indexrelid = 'job_finished_idx'::regclass`;
    t.match(index, {
      indisvalid: true,
      definition: /\(endpoint_id, state, "?position"?\) WHERE \(finished_at IS NOT NULL\)/,
    });
  },
);

t.test(
  "0029: the index of a machine's attempts takes the place of another, built beside a release that serves",
  async (t) => {
    const { url, sql } = await databaseOf(t, 29);
    await migrate({ url }, logger);
    const indexes = await sql<{ name: string; definition: string }[]>`
    SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
    WHERE indisvalid AND indexrelid::regclass::text LIKE 'job_machine%'`;
    t.equal(indexes.length, 1);
    t.match(indexes, [{ name: 'job_machine_since_idx', definition: /\(machine_id, started_at\) WHERE/ }]);
  },
);

t.test('0002: templates that endpoints use become serverless, and nothing else changes', async (t) => {
  const { url, sql } = await databaseOf(t, 2);
  await sql`INSERT INTO account (id, name) VALUES ('a', 'a')`;
  await sql`INSERT INTO template (id, account_id, name, image_name, serverless) VALUES
    ('used', 'a', 'used', 'i', false), ('free', 'a', 'free', 'i', false), ('right', 'a', 'right', 'i', true)`;
  await sql`INSERT INTO endpoint (id, account_id, name, template_id, gpu_count) VALUES ('e', 'a', 'e', 'used', 0)`;
  await migrate({ url }, logger);
  t.same(await sql`SELECT id, serverless FROM template ORDER BY id`, [
    { id: 'free', serverless: false },
    { id: 'right', serverless: true },
    { id: 'used', serverless: true },
  ]);
  t.match(
    await sql`SELECT gpu_count, instance_ids FROM endpoint`,
    [{ gpu_count: 0, instance_ids: [] }],
    'it goes on without a GPU',
  );
});

t.test(
  "0006: keys of machines that an account made become the installation's and go on working, and no other key changes",
  async (t) => {
    const { url, sql } = await databaseOf(t, 6);
    await sql`INSERT INTO account (id, name) VALUES ('a', 'a')`;
    await sql`INSERT INTO api_key (id, account_id, name, secret_hash, scope, endpoint_ids, revoked_at) VALUES
    ('gone', 'a', 'gone', '\\x01', 'AGENT', '{}', now()), ('rack', 'a', 'rack', '\\x02', 'AGENT', '{e}', NULL),
    ('read', 'a', 'read', '\\x03', 'READ_ONLY', '{e}', NULL), ('shelf', 'a', 'shelf', '\\x04', 'AGENT', '{}', NULL)`;
    await migrate({ url }, logger);
    t.same(
      await sql`SELECT id, account_id, machine_id, endpoint_ids, encode(secret_hash, 'hex') AS hash,
        revoked_at IS NULL AS works FROM api_key ORDER BY id`,
      [
        { id: 'gone', account_id: null, machine_id: null, endpoint_ids: [], hash: '01', works: false },
        { id: 'rack', account_id: null, machine_id: null, endpoint_ids: [], hash: '02', works: true },
        { id: 'read', account_id: 'a', machine_id: null, endpoint_ids: ['e'], hash: '03', works: true },
        { id: 'shelf', account_id: null, machine_id: null, endpoint_ids: [], hash: '04', works: true },
      ],
      'each goes to the first machine that uses it',
    );
    await t.rejects(
      sql`UPDATE api_key SET account_id = 'a' WHERE id = 'rack'`,
      { code: '23514' },
      "nor can one become an account's again",
    );
    await sql`DELETE FROM account WHERE id = 'a'`;
    t.same(
      await sql`SELECT id FROM api_key WHERE revoked_at IS NULL ORDER BY id`,
      [{ id: 'rack' }, { id: 'shelf' }],
      'machines outlive the account',
    );
  },
);

t.test("0007: endpoints with another account's template are given what it is now, and no others", async (t) => {
  const { url, sql } = await databaseOf(t, 7);
  await sql`INSERT INTO account (id, name) VALUES ('author', 'author'), ('user', 'user')`;
  await sql`INSERT INTO template (id, account_id, name, image_name, start_command, env, ports, serverless, public)
    VALUES
    ('shared', 'author', 'shared', 'image', '{run,it}', '{"A": "1"}', '{80/http}', true, true),
    ('own', 'user', 'own', 'i', '{}', '{}', '{}', true, false)`;
  await sql`INSERT INTO endpoint (id, account_id, name, template_id) VALUES
    ('foreign', 'user', 'foreign', 'shared'), ('authors', 'author', 'authors', 'shared'),
    ('mine', 'user', 'mine', 'own')`;
  await migrate({ url }, logger);
  t.same(await sql`SELECT endpoint_id, version, image_name, start_command, env, ports FROM given_template`, [
    {
      endpoint_id: 'foreign',
      version: 1,
      image_name: 'image',
      start_command: ['run', 'it'],
      env: { A: '1' },
      ports: ['80/http'],
    },
  ]);
});

t.test('0009: existing machines run commands as before, and no images', async (t) => {
  const { url, sql } = await databaseOf(t, 9);
  await sql`INSERT INTO machine (id, name) VALUES ('laptop000000', 'laptop')`;
  await migrate({ url }, logger);
  t.same(await sql`SELECT runs_commands, engine, no_engine_reason FROM machine`, [
    { runs_commands: true, engine: null, no_engine_reason: '' },
  ]);
});

t.test('0013: holders of GPUs keep them, also where two were recorded for one', async (t) => {
  const { url, sql } = await databaseOf(t, 13);
  await sql`INSERT INTO account (id, name) VALUES ('a', 'a')`;
  await sql`INSERT INTO template (id, account_id, name, image_name, serverless) VALUES ('t', 'a', 't', 'i', true)`;
  await sql`INSERT INTO endpoint (id, account_id, name, template_id) VALUES ('e', 'a', 'e', 't')`;
  await sql`INSERT INTO machine (id, name) VALUES ('m', 'm')`;
  await sql`INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids, desired, ended_at) VALUES
    ('ended', 'e', 'm', 1, '{A,B}', 'GONE', now()), ('evicted', 'e', 'm', 1, '{A}', 'DRAIN', NULL),
    ('runs', 'e', 'm', 1, '{A,B}', 'RUN', NULL),
    ('drains', 'e', 'm', 1, '{C}', 'DRAIN', NULL), ('plain', 'e', 'm', 1, '{}', 'RUN', NULL)`;
  await sql`INSERT INTO pod (id, account_id, name, machine_id, gpu_uuids, desired) VALUES
    ('p', 'a', 'p', 'm', '{D}', 'RUNNING'), ('q', 'a', 'q', 'm', '{}', 'EXITED')`;
  await migrate({ url }, logger);
  t.same(await sql`SELECT gpu_uuid, coalesce(worker_id, pod_id) AS holder FROM gpu_hold ORDER BY gpu_uuid`, [
    { gpu_uuid: 'A', holder: 'runs' },
    { gpu_uuid: 'B', holder: 'runs' },
    { gpu_uuid: 'C', holder: 'drains' },
    { gpu_uuid: 'D', holder: 'p' },
  ]);
  await sql`UPDATE worker SET ended_at = now() WHERE id = 'evicted'`;
  t.equal((await sql`SELECT FROM gpu_hold`).length, 4, 'the end of one that had it no more takes it from nobody');
});

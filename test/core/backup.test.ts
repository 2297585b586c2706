// test: postgres, 10 s
/** Backups and what they refuse: other keys, other files, databases with tables, damage, newer releases. */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { backUp } from '@slipway/core/backup/back-up';
import { BackupReader } from '@slipway/core/backup/backup-format';
import { againLines } from '@slipway/core/backup/backup-report';
import { checkBackup, restore } from '@slipway/core/backup/restore';
import { migrate } from '@slipway/core/store/sql/migrate';
import { Sealer } from '@slipway/kit/host/seal';
import { ListJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../helpers/db/database.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { scratch } from '../helpers/scratch.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { logger } from '../helpers/system/job-engine.ts';

t.setTimeout(300_000);

const secretKey = randomBytes(32).toString('hex');
const sealer = new Sealer(secretKey);
const onProgress = (): void => undefined;

/** Returns all rows of all tables, as text. */
async function everything(url: string): Promise<Map<string, string[]>> {
  const sql = postgres(url, { max: 1 });
  const tables = await sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1`;
  const rows = new Map<string, string[]>();
  for (const { name } of tables) {
    const found = await sql<{ row: string }[]>`SELECT t::text AS row FROM ${sql(name)} t ORDER BY 1`;
    rows.set(
      name,
      found.map(({ row }) => row),
    );
  }
  const sequences = await sql<{ row: string }[]>`
    SELECT sequencename || ' ' || last_value AS row FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1`;
  rows.set(
    'sequences',
    sequences.map(({ row }) => row),
  );
  await sql.end();
  return rows;
}

const filled = await startReplicas(t, 1, { SLIPWAY_SECRET_KEY: secretKey });
const templateId = await filled.createTemplate({ env: { PASSWORD: 'sealed' } });
const endpointId = await filled.createEndpoint({ templateId, workersMin: 0 });
// Everything that a text format could stumble over.
const INPUTS = ['\\.', '\n\\.\n', '\t\\N\0'.replace('\0', ''), 'ü🚢', 'x'.repeat(300_000), ''];
for (const text of INPUTS) await filled.submit(endpointId, { text });
await call(filled.clients.access, 'createAccount', { name: 'a second one' }, filled.rootKey);
for (const replica of filled.replicas) await replica.stop();

const { path } = await scratch(t);
const file = path('slipway.backup');
const whenInterrupted = (): AbortSignal => new AbortController().signal;
const settings = { databaseUrl: filled.url, release: '0.0.1', logger, onProgress, whenInterrupted };
const facts = await backUp(file, settings);
const bytes = await readFile(file);

/** Restores bytes into a new database. Returns its URL. */
async function restored(t: Test, backup: Buffer): Promise<string> {
  const { url } = await createDatabase(t, { empty: true });
  await restore(Readable.from([backup]), url, { sealer, logger, onProgress });
  return url;
}

/** Returns the backup with its text changed. */
function changed(change: (text: string) => string): Buffer {
  return zstdCompressSync(Buffer.from(change(zstdDecompressSync(bytes).toString())));
}

t.test('a restored database has every row and every sequence', async (t) => {
  const url = await restored(t, bytes);
  const [before, after] = [await everything(filled.url), await everything(url)];
  t.same([...after.keys()], [...before.keys()]);
  for (const [table, rows] of before) t.same(after.get(table), rows, table);
  const sql = postgres(url, { max: 1 });
  t.teardown(() => sql.end());
  const inputs = await sql<
    { input: Buffer }[]
  >`SELECT i.input FROM job_input i JOIN job j ON j.id = i.job_id ORDER BY position`;
  t.same(
    inputs.map(({ input }) => (JSON.parse(input.toString()) as { text: string }).text),
    INPUTS,
  );
  await migrate({ url }, logger);
  const [off] = await sql`SELECT count(*)::int AS n FROM pg_trigger WHERE tgenabled = 'D'`;
  t.equal(off!['n'], 0, 'its triggers work');
});

t.test('core starts on it with its key, and its jobs are there', async (t) => {
  const url = await restored(t, bytes);
  const core = await startReplicas(t, 1, { SLIPWAY_SECRET_KEY: secretKey }, { url });
  const { jobs } = await call(core.clients.jobs, 'listJobs', ListJobsRequest.fromPartial({ endpointId }), filled.key);
  t.equal(jobs.length, INPUTS.length);
  const { templates } = await call(core.clients.templates, 'listTemplates', { includePublic: false }, filled.key);
  t.same(templates.find(({ id }) => id === templateId)?.env, { PASSWORD: 'sealed' });
});

t.test('a backup names the jobs that run again', async (t) => {
  t.match(facts, { openJobs: [{ endpointId, name: 'test', queued: INPUTS.length, running: 0 }], webhooks: 0 });
  t.match(againLines(facts).join('\n'), /6 queued and 0 running jobs run after a restore[^]*test \(\w+\): 6 queued/);
});

t.test('files are never overwritten, and only their owner reads them', async (t) => {
  t.equal((await stat(file)).mode & 0o777, 0o600);
  await t.rejects(backUp(file, settings), { name: 'FileExistsError' });
  t.same(await readFile(file), bytes);
  await t.rejects(backUp(path('none'), { ...settings, databaseUrl: 'postgres://127.0.0.1:9/none' }));
  t.same(await readdir(join(file, '..')), ['slipway.backup'], 'a backup that fails leaves nothing');
  const { url } = await createDatabase(t, { empty: true });
  await t.rejects(backUp(path('none'), { ...settings, databaseUrl: url }), { name: 'NothingToBackUpError' });
});

t.test('a check finds what is wrong', async (t) => {
  const check = (source: Readable, given = sealer) => checkBackup(source, { sealer: given, onProgress });
  const checkBytes = (backup: Buffer) => check(Readable.from([backup]));
  t.match(await check(createReadStream(file)), { release: '0.0.1', openJobs: [{ queued: INPUTS.length }] });
  await t.rejects(check(createReadStream(file), new Sealer('00'.repeat(32))), {
    name: 'RestoreError',
    message: /secret key/,
  });
  await t.rejects(check(createReadStream(path('nowhere'))), { code: 'ENOENT' });
  await t.rejects(checkBytes(bytes.subarray(0, bytes.length / 2)), { name: 'BackupFormatError' }, 'cut off');
  const bad = Buffer.from(bytes);
  bad[bytes.length >> 1]! ^= 1;
  await t.rejects(checkBytes(bad), { name: 'BackupFormatError' }, 'a flipped bit');
  await t.rejects(checkBytes(Buffer.from('PGDMP')), { name: 'BackupFormatError' }, 'another file');
  for (const [what, change, message] of [
    ['without its end', (text: string) => text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1), /cut off/],
    ['with other rows', (text: string) => text.replace(/"rows":\d+/, '"rows":1'), /should have 1/],
    ['with a damaged line', (text: string) => text.replace('{"name":', '{"name";'), /damaged/],
    ['of a later form', (text: string) => text.replace('"version":1', '"version":2'), /newer version/],
  ] as const)
    await t.rejects(checkBytes(changed(change)), { name: 'BackupFormatError', message }, what);
});

t.test('a rejected restore changes nothing', async (t) => {
  const { url } = await createDatabase(t, { empty: true });
  const into = (backup: Buffer) => restore(Readable.from([backup]), url, { sealer, logger, onProgress });
  const future = '"migrations":[{"hash":"x","when":99999999999999},';
  await t.rejects(into(changed((text) => text.replace('"migrations":[', future))), { message: /newer version/ });
  const broken = changed((text) => text.replace(`${endpointId}\t`, `${'x'.repeat(20)}\t\t`));
  await t.rejects(into(broken), 'rows that PostgreSQL does not take');
  const sql = postgres(url, { max: 1 });
  t.teardown(() => sql.end());
  const [row] = await sql`SELECT count(*)::int AS n FROM pg_class WHERE relnamespace = 'public'::regnamespace`;
  t.equal(row!['n'], 0, 'the database is empty');
  await sql`CREATE TABLE somebodys (id integer)`;
  await t.rejects(into(bytes), { name: 'RestoreError', message: /not empty/ });
});

t.test('pieces of any size hold the same backup', async (t) => {
  const plain = zstdDecompressSync(bytes)
    .toString()
    .replaceAll(/(78){1000,}/g, '78');
  const rowsOf = async (size: number): Promise<string[]> => {
    const pieces = Array.from({ length: Math.ceil(plain.length / size) }, (_, at) =>
      plain.slice(at * size, (at + 1) * size),
    );
    const reader = new BackupReader(Readable.from(pieces.map((piece) => Buffer.from(piece))));
    await reader.head();
    const found: string[] = [];
    await reader.tables(async ({ name }, rows) => {
      const parts: Buffer[] = [];
      for await (const part of rows) parts.push(part);
      found.push(`${name}\n${Buffer.concat(parts)}`);
    }, onProgress);
    return found;
  };
  const whole = await rowsOf(plain.length);
  for (const size of [1, 2, 3, 7]) t.same(await rowsOf(size), whole, `${size} characters`);
});

// test: alone, postgres, 25 s
/**
 * A database that rejects writes for a while: 503 with Retry-After, nothing acknowledged, and afterwards everything
 * continues.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import type { Test } from 'tap';
import t from 'tap';
import { useOwnServer } from '../../../helpers/db/database.ts';
import { jobRows } from '../../../helpers/db/job-rows.ts';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { startSystem } from '../../../helpers/system/system.ts';
import { seededRandom } from '../../../helpers/time/seeded-random.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const random = seededRandom();

t.setTimeout(600_000);

const lines: string[] = [];
const logger = pino(
  { level: 'warn' },
  new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(line.toString());
      done();
    },
  }),
);
// A full disk can end a server.
useOwnServer();
const disk = mkdtempSync(join(tmpdir(), 'slipway-full-'));
t.teardown(() => rmSync(disk, { recursive: true, force: true }));
const system = await startSystem(t, { logger, agents: 0, coreEnv: { SLIPWAY_DATABASE_DIR: disk } });
const { sql } = jobRows(t, system.database.url);
const endpointId = await system.createEndpoint({ command: jsHandler('echo.js'), fields: { workersMin: 0 } });
const submit = () =>
  system.request('POST', `/v2/${endpointId}/run`, { input: { text: random.bytes(300_000).toString('base64') } });
const logged = (text: string) => waitFor(`a log line with ${text}`, () => lines.some((line) => line.includes(text)));

const problems = async () =>
  (await call(system.clients.problems, 'listProblems', { limit: 100, endpointId: '' }, system.rootKey)).problems;
const problemKinds = async () => (await problems()).map(({ kind }) => kind);
/** Waits until the operator is shown this problem. */
const listed = (wanted: string, about: RegExp) =>
  waitFor(`${wanted} to be listed`, async () =>
    (await problems()).some(({ kind, text }) => kind === wanted && about.test(text)),
  );

/**
 * Submits until the database rejects a job. Before that every job is accepted, and no error is ever an internal one.
 */
async function refused(t: Test): Promise<void> {
  const answer = await waitFor('a refusal', async () => {
    const given = await submit();
    if (given.status !== 200) return given;
    return undefined;
  });
  t.match(answer, { status: 503, json: { code: 'unavailable' } });
  t.match(answer.headers.get('retry-after'), /^\d+$/);
}

/**
 * Fills a disk of 4 MB with the inputs of jobs. Only root may mount one; where that is not allowed, a trigger in
 * PostgreSQL raises the same error. Returns a function that frees space.
 */
async function fillDisk(t: Test): Promise<{ isReal: boolean; makeRoom: () => Promise<unknown> }> {
  const folder = disk;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    t.comment('no disk can be mounted here: a trigger raises 53100');
    await sql.unsafe(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`);
    await sql`CREATE TRIGGER full_disk BEFORE INSERT ON job_input EXECUTE FUNCTION full_disk()`;
    return { isReal: false, makeRoom: () => sql`DROP TRIGGER full_disk ON job_input` };
  }
  t.teardown(async () => {
    await sql`DROP TABLESPACE tiny`;
    execFileSync('umount', [folder]);
  });
  execFileSync('chown', ['postgres', folder]);
  chmodSync(folder, 0o700);
  await sql.unsafe(`CREATE TABLESPACE tiny LOCATION '${folder}'`);
  await sql`ALTER TABLE job_input SET TABLESPACE tiny`;
  return { isReal: true, makeRoom: () => sql`ALTER TABLE job_input SET TABLESPACE pg_default` };
}

t.test('a full disk', async (t) => {
  const { isReal, makeRoom } = await fillDisk(t);
  await refused(t);
  await logged('53100');
  if (isReal) await listed('DATABASE_DISK', /^The database's disk is nearly full: \d MB of 4 MB are free/);
  await makeRoom();
  await waitFor('the warning to end', async () => (await problemKinds()).every((kind) => kind !== 'DATABASE_DISK'));
  t.match(await submit(), { status: 200, json: { status: 'IN_QUEUE' } }, 'with room again it goes on');
  const [row] =
    await sql`SELECT (SELECT count(*) FROM job)::int AS jobs, (SELECT count(*) FROM job_input)::int AS inputs`;
  t.equal(row!['jobs'], row!['inputs'], 'no job without its input');
});

t.test('a core that starts on a full disk waits', async (t) => {
  await sql.unsafe(`CREATE FUNCTION refuse_first() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`);
  await sql`CREATE TRIGGER refuse_first BEFORE INSERT ON installation EXECUTE FUNCTION refuse_first()`;
  await sql`DELETE FROM installation`;
  const starting = system.startCore();
  await logged('the database is not there yet');
  await sql`DROP TRIGGER refuse_first ON installation`;
  t.ok((await starting).address);
});

t.test('a database that is read-only, as a standby is during a failover', async (t) => {
  const [{ name }] = await sql<[{ name: string }]>`SELECT current_database() AS name`;
  const reconnect = () => sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE
      'slipway-core%'`;
  await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await reconnect();
  await refused(t);
  await logged('25006');
  await listed('DATABASE_READ_ONLY', /^The database accepts no writes/);
  const made = await system.request('POST', '/v1/templates', { name: 'n', imageName: 'i' });
  t.match([made.status, made.headers.get('retry-after')], [503, /^\d+$/]);
  await sql.unsafe(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  await reconnect();
  await waitFor('a job to be accepted', async () => (await submit()).status === 200);
});

t.test('a time limit for statements that the operator has set', async (t) => {
  const [{ name }] = await sql<[{ name: string }]>`SELECT current_database() AS name`;
  const reconnect = () => sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE
      'slipway-core%'`;
  await sql.unsafe(`ALTER DATABASE ${name} SET statement_timeout = 200`);
  await reconnect();
  await sql.begin(async (holder) => {
    await holder`LOCK TABLE job_input IN EXCLUSIVE MODE`;
    await refused(t);
  });
  await waitFor('a job to be accepted', async () => (await submit()).status === 200);
  await sql.unsafe(`ALTER DATABASE ${name} RESET statement_timeout`);
  await reconnect();
});

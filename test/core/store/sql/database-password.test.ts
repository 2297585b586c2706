// test: postgres
/** The password of the database is changed while core runs, in either order of the two steps. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import postgres from 'postgres';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('a changed password', async (t) => {
  const { url } = await createDatabase(t);
  const admin = postgres(url, { max: 1, onnotice: () => undefined });
  const role = `rotating_${randomBytes(6).toString('hex')}`;
  const { pathname, host } = new URL(url);
  const database = pathname.slice(1);
  const file = join(t.testdir({}), 'database-url');
  const urlWith = (password: string): string => `postgres://${role}:${encodeURIComponent(password)}@${host}${pathname}`;
  const write = (password: string): void => writeFileSync(file, `${urlWith(password)}\n`);
  const alter = async (password: string): Promise<void> => {
    await admin.unsafe(`ALTER ROLE ${role} PASSWORD '${password}'`);
    // Otherwise core needs no new connection for a while.
    await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ${role}`;
  };
  await admin.unsafe(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'first: a/b'`);
  t.teardown(async () => {
    await admin.unsafe(`DROP ROLE ${role}`);
    await admin.end();
  });
  write('first: a/b');
  const env = { SLIPWAY_DATABASE_URL: '', SLIPWAY_DATABASE_URL_FILE: file };
  const core = await startReplicas(t, 1, env, { url });
  await core.joinAgent();
  const endpointId = await core.createEndpoint();
  const runJob = () =>
    waitFor('a job to be done', async () => {
      const { id } = await core.submit(endpointId);
      return (await core.wait(endpointId, id)).state === JobState.COMPLETED;
    });
  await runJob();

  write('second');
  await alter('second');
  await runJob();
  const late = postgres(urlWith('first: a/b'), { max: 1, onnotice: () => undefined });
  await t.rejects(late`SELECT 1`, { code: '28P01' }, 'the first password is over');
  await late.end();

  await alter('third');
  t.match(await reasonOf(core.submit(endpointId)), /^UNAVAILABLE/, 'no fault of the request');
  writeFileSync(file, '');
  write('third');
  await runJob();
  await waitFor('the connection that listens', async () => {
    const rows = await admin`SELECT FROM pg_stat_activity
      WHERE datname = ${database} AND application_name = 'slipway-core-notices' AND usename = ${role}`;
    return rows.length > 0;
  });
});

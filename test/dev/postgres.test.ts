// test: 10 s
/**
 * The embedded PostgreSQL: made once, back after kill -9 on the port that it got, taken over from a launcher that was
 * killed, and reachable for its own user.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '@slipway/dev/options';
import { checkDatabase } from '@slipway/dev/postgres/external-postgres';
import { createCluster, postgresProcess, postgresUrl, stopLeftover } from '@slipway/dev/postgres/postgres';
import type { PostgresLocation } from '@slipway/dev/postgres/postgres-program';
import { findPostgres } from '@slipway/dev/postgres/postgres-program';
import { ProcessLog } from '@slipway/dev/processes/process-log';
import { SupervisedProcess } from '@slipway/dev/processes/supervised-process';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { occupy, quietPort } from '../helpers/net/ports.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { isAlive } from '../helpers/scratch.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const PASSWORD = 'secret';
const asRoot = process.getuid!() === 0;

async function startServer(t: Test, place: PostgresLocation, log: ProcessLog, choosePort?: () => Promise<number>) {
  let restarts = 0;
  const server = new SupervisedProcess(postgresProcess(place, log, systemClock, choosePort), {
    clock: systemClock,
    random: systemRandom,
    onEnded: () => {},
    onRestarted: () => {
      restarts += 1;
    },
  });
  t.teardown(() => server.stop());
  const port = await server.start();
  const pid = (): number => Number(readFileSync(join(place.dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  return { server, port, pid, url: postgresUrl(port, PASSWORD), restarts: () => restarts };
}

t.test('a cluster and its server', async (t) => {
  const folder = await openFolder(t);
  const log = new ProcessLog(join(folder, 'postgres.log'));
  const place = await findPostgres(join(folder, 'postgres'));
  mkdirSync(join(folder, 'postgres.part'));
  writeFileSync(join(folder, 'postgres.part', 'half'), 'of an interrupted attempt');
  await createCluster(place, PASSWORD, log);
  await createCluster(place, 'another', log);
  t.notOk(existsSync(join(folder, 'postgres', 'half')));

  const taken = await occupy(t);
  const chosen: number[] = [];
  const first = await startServer(t, place, log, async () => {
    chosen.push(chosen.length === 0 ? taken : await quietPort());
    return chosen.at(-1)!;
  });
  t.ok(chosen.length > 1, 'a port that somebody else took is no reason to give up');
  t.equal(first.port, chosen.at(-1));
  const sql = postgres(first.url, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end({ timeout: 1 }));
  t.same(
    await sql`SELECT current_setting('min_wal_size') AS wal`,
    [{ wal: '1GB' }],
    'what the log needed once is not taken from it while it rests',
  );
  await sql`create table kept (n int)`;
  await sql`insert into kept values (7)`;
  process.kill(first.pid(), 'SIGKILL');
  await waitFor('the server to be back', () => first.restarts() === 1);
  t.same([...(await sql`select n from kept`)], [{ n: 7 }], 'what was committed outlives kill -9, on the same port');

  await t.test('a database that the user names', async (t) => {
    await checkDatabase(first.url);
    await t.rejects(checkDatabase(first.url.replace(PASSWORD, 'wrong')), {
      constructor: UsageError,
      message: /cannot be used: password/,
    });
    const nobody = postgresUrl(await quietPort(), PASSWORD);
    await t.rejects(checkDatabase(nobody), { constructor: UsageError, message: /ECONNREFUSED/ });
  });

  const pid = first.pid();
  t.equal(await stopLeftover(place.dataDir, systemClock), pid, 'a server of an earlier launcher is stopped');
  await waitFor('its parent to have noticed', () => !isAlive(pid));
  await first.server.stop();
  t.equal(await stopLeftover(place.dataDir, systemClock), undefined, 'and nothing is done when there is none');
});

t.test('a folder unreachable for its user', async (t) => {
  const folder = await openFolder(t);
  const closed = join(folder, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o700);
  const wanted = join(closed, 'postgres');
  const place = await findPostgres(wanted, join(folder, 'system'));
  if (!asRoot) {
    t.match(place, { dataDir: wanted, owner: undefined, note: undefined }, 'an ordinary user runs it as itself');
    return;
  }
  t.match(place.dataDir, /\/system\/[0-9a-f]{12}\/postgres$/);
  t.match(place.note, /cannot reach/);
  t.ok(lstatSync(wanted).isSymbolicLink(), 'the way to it is shown where one would look');
  t.same(await findPostgres(wanted, join(folder, 'system')), place, 'the next start finds it again');
  const log = new ProcessLog(join(folder, 'postgres.log'));
  await createCluster(place, PASSWORD, log);
  await checkDatabase((await startServer(t, place, log)).url);
});

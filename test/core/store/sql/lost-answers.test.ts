// test: postgres, 20 s
/**
 * One connection to the database is lost silently while all others work: it is cut within seconds, and the backend that
 * held its locks goes.
 */

import { PLACEMENT_LOCK } from '@slipway/core/store/scaling/standby-rows';
import { connect, openDatabase } from '@slipway/core/store/sql/database';
import { LostAnswers } from '@slipway/core/store/sql/lost-answers';
import { createLogger } from '@slipway/kit/log/logger';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { silentDropProxy } from '../../../helpers/net/silent-drop-proxy.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const logger = createLogger('test', 'silent');

/** Starts a database behind a proxy. `own` bypasses the proxy. */
async function start(t: Test) {
  const url = new URL((await createDatabase(t)).url);
  const proxy = await silentDropProxy(t, { host: url.hostname, port: Number(url.port) });
  const own = connect(url.href, 'test', 2, logger);
  t.teardown(() => own.end({ timeout: 1 }));
  return { proxy, own, url: url.href.replace(url.host, `127.0.0.1:${proxy.port}`) };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Returns the port of the connection that waits for the placement lock, once there is one. */
async function waiter({ own }: Started): Promise<number> {
  return waitFor(
    'somebody to wait for the lock',
    async () =>
      (
        await own<{ port: number }[]>`
    SELECT client_port AS port FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`
      )[0]?.port,
  );
}

t.test('running statements are awaited, answered ones are not', async (t) => {
  const started = await start(t);
  const { proxy, own, url } = started;
  const database = openDatabase(url, { logger, connectionsMax: 2 });
  t.teardown(() => database.close());
  const answers = new LostAnswers(() => database.connections());
  const check = async (): Promise<number[]> => [
    await answers.check(own),
    await answers.check(own),
    await answers.check(own),
  ];

  const long = own.begin(async (holder) => {
    await holder`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK})`;
    const waiting = database.sql`SELECT pg_advisory_lock(${PLACEMENT_LOCK})`.execute();
    const port = await waiter(started);
    t.same(await check(), [0, 0, 0], 'it waits for a lock');
    proxy.forget(port);
    t.same(await check(), [0, 0, 0], 'it still does, although nobody would hear of it');
    return { waiting };
  });
  const { waiting } = await long;
  const failed = t.rejects(waiting, { code: 'CONNECTION_CLOSED' });
  const cuts = await waitFor('it to be cut', async () => (await answers.check(own)) || undefined);
  t.equal(cuts, 1);
  await failed;
  t.same(await database.sql`SELECT 1 AS one`, [{ one: 1 }], 'the next statement has another connection');

  const [{ port }] = await database.sql<
    [{ port: number }]
  >`SELECT client_port AS port FROM pg_stat_activity WHERE pid = pg_backend_pid()`;
  proxy.forget(port);
  const unheard = t.rejects(database.sql`SELECT ${1}::int AS one`.execute(), { code: 'CONNECTION_CLOSED' });
  await waitFor('a statement that never arrived to be cut off', async () => (await answers.check(own)) > 0);
  await unheard;
  t.same(await check(), [0, 0, 0], 'connections on which nothing waits are left alone');
  await waitFor('both to be left', () => proxy.left === 2);
});

t.test('a reconcile lost under the placement lock: endpoints have workers again within half a minute', async (t) => {
  const started = await start(t);
  const { proxy, own, url } = started;
  const core = await startReplicas(t, 1, {}, { url });
  await core.joinAgent();
  const left = proxy.left;
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  const job = await own.begin(async (holder) => {
    await holder`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK})`;
    const submitted = await core.submit(endpointId);
    proxy.forget(await waiter(started));
    return submitted;
  });
  t.equal((await core.wait(endpointId, job.id, 40_000)).state, JobState.COMPLETED);
  t.equal(proxy.left - left, 1, 'no other connection was cut');
});

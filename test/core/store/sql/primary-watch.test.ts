// test: postgres, 20 s
/**
 * A primary that falls silent is left for the standby that was promoted, and used again only as a standby. A primary
 * that works on a long statement is not left. A host without an answer is asked less and less.
 */
import { openDatabase } from '@slipway/core/store/sql/database';
import { PrimaryWatch } from '@slipway/core/store/sql/primary-watch';
import type { Clock } from '@slipway/kit/time/clock';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { pino } from 'pino';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { primaryAndStandby } from '../../../helpers/db/primary-and-standby.ts';
import { repointedName } from '../../../helpers/net/repointed-name.ts';
import { logger as silent } from '../../../helpers/system/job-engine.ts';
import { descendants } from '../../../helpers/system/process-table.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** Longer than this test: neither this limit nor the system's ends a wait for the silent primary. */
const NEVER_MS = 3_600_000;
/** Longer than a silence that makes the watch ask, in seconds. */
const LONG_SECONDS = 5;
/** An address that refuses connections. */
const NOWHERE = '127.0.0.1:1';
/** Wait for the answer of a host, in milliseconds. */
const PROBE_MS_MAX = 1_000;
/** Passes that are looked at: the watch asks in each of the first 60, and in each tenth from then on. */
const PASSES = 200;
/** Divisor of the watch's times meanwhile. */
const FASTER = 50;

/** Starts a primary and a standby with its data. Both end with the test. */
async function startPair(t: Test) {
  const { primary, standby, standbyOf } = await primaryAndStandby(t);
  const signal = (name: NodeJS.Signals): void => {
    for (const { pid } of descendants(primary.pid))
      try {
        process.kill(pid, name);
      } catch {
        // It has ended since.
      }
  };
  t.teardown(async () => {
    await primary.kill();
    await standby.stop();
  });
  const [port, standbyPort] = [await primary.start(), await standby.start()];
  // Before the other teardown: processes that are stopped do not notice the end of their parent.
  t.teardown(() => signal('SIGKILL'));
  const promote = async (standbyAt = standbyPort): Promise<void> => {
    const sql = postgres(`postgres://slipway:secret@127.0.0.1:${standbyAt}/postgres`, { max: 1 });
    await sql`SELECT pg_promote()`;
    await sql.end();
  };
  /** Ends the promoted standby and promotes a copy of it. Returns the copy's port. */
  const replace = async (): Promise<number> => {
    await standby.stop();
    const successor = standbyOf('standby', 'successor');
    t.teardown(() => successor.stop());
    const successorPort = await successor.start();
    await promote(successorPort);
    return successorPort;
  };
  return {
    primary: `127.0.0.1:${port}`,
    port,
    standby: `127.0.0.1:${standbyPort}`,
    standbyPort,
    signal,
    promote,
    replace,
    stopStandby: () => standby.stop(),
  };
}

/** Opens the database, watched. */
async function openWatched(t: Test, hosts: string, logger = silent) {
  const url = `postgres://slipway:secret@${hosts}/postgres?target_session_attrs=primary`;
  const database = openDatabase(url, { logger, databaseAnswerMs: NEVER_MS });
  const watch = new PrimaryWatch({ ...database, clock: systemClock, random: systemRandom, logger });
  t.teardown(async () => {
    await watch.stop();
    database.cut();
    await database.close();
  });
  await watch.start();
  const portOf = async (): Promise<number> => {
    const [row] = await database.sql<{ port: number }[]>`SELECT current_setting('port')::int AS port`;
    return row!.port;
  };
  return { database, portOf };
}

t.test('several hosts', async (t) => {
  const pair = await startPair(t);
  const { database, portOf } = await openWatched(t, `${pair.primary},${pair.standby}`);
  const pidOf = async (): Promise<number> =>
    (await database.hot<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`)[0]!.pid;
  const pid = await pidOf();
  await database.hot`SELECT pg_sleep(${LONG_SECONDS})`;
  t.equal(await pidOf(), pid, 'a long statement keeps its connection');

  pair.signal('SIGSTOP');
  const hanging = pidOf().then(
    () => 'answered',
    () => 'cut',
  );
  await pair.promote();
  // This one waits for its connection.
  const waiting = portOf();
  t.equal(await hanging, 'cut');
  t.equal(await waiting, pair.standbyPort, 'a new connection goes to the new primary');
  t.equal(await portOf(), pair.standbyPort, 'as do later ones');
  pair.signal('SIGCONT');
  database.cut();
  t.equal(await waitFor('a connection', () => portOf()), pair.standbyPort, 'and stay there when the old one wakes up');
});

t.test('one name that is re-pointed', async (t) => {
  const pair = await startPair(t);
  const service = await repointedName(t, pair.primary);
  const { portOf } = await openWatched(t, service.address);
  await portOf();
  pair.signal('SIGSTOP');
  const hanging = portOf().then(
    () => 'answered',
    () => 'cut',
  );
  await pair.promote();
  service.point(pair.standby);
  t.equal(await hanging, 'cut');
  t.equal(await waitFor('a connection', () => portOf()), pair.standbyPort);
  pair.signal('SIGCONT');
});

t.test('a new primary that is replaced while the old one is still silent', async (t) => {
  const pair = await startPair(t);
  const third = await repointedName(t, NOWHERE);
  const { portOf } = await openWatched(t, `${pair.primary},${pair.standby},${third.address}`);
  await portOf();
  pair.signal('SIGSTOP');
  const hanging = portOf().catch(() => undefined);
  await pair.promote();
  await hanging;
  t.equal(await waitFor('the new primary', () => portOf()), pair.standbyPort);
  // It refuses connections from now on, so that none is silent.
  const port = await pair.replace();
  third.point(`127.0.0.1:${port}`);
  t.ok(await waitFor('the next one', async () => (await portOf()) === port));
  pair.signal('SIGCONT');
});

t.test(
  'the new primary is lost and the old one works again: core says what to do, and does not return by itself',
  async (t) => {
    const pair = await startPair(t);
    const hosts = `${pair.primary},${pair.standby}`;
    const lines: string[] = [];
    const { portOf } = await openWatched(t, hosts, pino({}, { write: (line: string) => void lines.push(line) }));
    await portOf();
    pair.signal('SIGSTOP');
    const hanging = portOf().catch(() => undefined);
    await pair.promote();
    await hanging;
    t.equal(await waitFor('the new primary', () => portOf()), pair.standbyPort);
    await pair.stopStandby();
    pair.signal('SIGCONT');
    const line = await waitFor('the line', () => lines.find((each) => each.includes('restart core')));
    t.match(JSON.parse(line), { level: 50, host: pair.primary, timeline: 1, silent: pair.standby, silentTimeline: 2 });
    await t.rejects(portOf());
    t.equal(await (await openWatched(t, hosts)).portOf(), pair.port, 'a core that starts uses it');
  },
);

t.test('hosts that never say their timeline', async (t) => {
  const calls = { passes: 0, probes: 0 };
  const clock: Clock = {
    ...systemClock,
    after: (ms, fn) => {
      calls[ms === PROBE_MS_MAX ? 'probes' : 'passes'] += 1;
      return systemClock.after(ms / FASTER, fn);
    },
  };
  // No URL can name the second host.
  const url = `postgres://slipway:secret@${NOWHERE},/postgres?target_session_attrs=primary`;
  const database = openDatabase(url, { logger: silent });
  const watch = new PrimaryWatch({ ...database, clock, random: systemRandom, logger: silent });
  t.teardown(() => watch.stop());
  await watch.start();
  await waitFor('its passes', () => calls.passes >= PASSES);
  t.ok(calls.probes > 0 && calls.probes <= PASSES / 2, String(calls.probes));
});

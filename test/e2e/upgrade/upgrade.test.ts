// test: postgres, envoy, 220 s
/**
 * An upgrade from the previous release under load, and the way back: each part is replaced by one of the other release
 * while jobs, streams and requests to a load-balancing worker come in through the edge, fifty jobs a second among them.
 * First forward in the documented order, where the first new core is killed while it migrates; then back, and forward
 * again, each in an order by chance. No acknowledged job is lost, none has two outcomes, no stream has a gap, and no
 * request fails except by a killed connection.
 */
import type { Test } from 'tap';
import t from 'tap';
import { skipWithoutEnvoy } from '../../helpers/system/edge.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { hasPreviousRelease, PREVIOUS_COMMIT, previousRelease } from '../../helpers/system/previous-release.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { checkOutcomes, startJobs } from '../../kill/jobs-in-flight.ts';
import { sendJobs } from './job-load.ts';
import type { Part, Release, ReplaceableSystem } from './replaceable-system.ts';
import { DOCUMENTED, startReplaceable } from './replaceable-system.ts';
import { sendRequests, startStream } from './traffic.ts';

t.setTimeout(600_000);

/** Jobs that are submitted while one part is replaced. */
const JOBS_A_STEP = 30;
const random = seededRandom();

/** Returns the parts in an order by chance. */
function shuffled(): Part[] {
  const left: Part[] = [...DOCUMENTED];
  return DOCUMENTED.map(() => left.splice(random.below(left.length), 1)[0]!);
}

/** Starts a new core, kills it in the middle of a migration, and starts it again. */
async function replaceKilled({ process: processOf, releases, sql }: ReplaceableSystem, name: Part): Promise<void> {
  const child = processOf(name);
  await child.stop();
  releases.set(name, 'this');
  const starting = await sql.begin(async (tx) => {
    // A migration has changed the schema when it wants to note itself here, and waits: it is killed uncommitted.
    await tx`LOCK TABLE drizzle.__drizzle_migrations IN SHARE MODE`;
    const started = child.start();
    await waitFor('it to migrate', async () => {
      // A transaction sees the processes as they were at its first look.
      await tx`SELECT pg_stat_clear_snapshot()`;
      const [row] = await tx<{ n: number }[]>`
        SELECT count(*)::int AS n FROM pg_stat_activity
        WHERE application_name = 'slipway-migrate' AND wait_event_type = 'Lock'`;
      return row!.n > 0;
    });
    process.kill(child.pid, 'SIGKILL');
    return { started };
  });
  await starting.started;
}

const FUTURE = 99_999_999_999_999;

/** Migrates the database as a release after this one would, which allows the previous one to run on it. */
async function migrateFurther({ sql }: ReplaceableSystem): Promise<void> {
  await sql`ALTER TABLE installation ADD COLUMN of_the_future text`;
  await sql`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('of the future', ${FUTURE})`;
  await sql`
    INSERT INTO core_release (version, schema, schema_name, needs_schema, needs_schema_name, needs_reason)
    SELECT '99.0.0', ${FUTURE}, '9999_future', needs_schema, needs_schema_name, needs_reason
    FROM core_release ORDER BY schema DESC LIMIT 1`;
}

/** Replaces a core, which refuses the newer database until it is allowed to run on it. */
async function replaceRefused(system: ReplaceableSystem, name: Part): Promise<void> {
  const child = system.process(name);
  const replaced = system.replace(name, 'previous', []);
  await waitFor('it to refuse the database', () => child.tail.includes('start it with --allow-newer-database'));
  system.env['SLIPWAY_ALLOW_NEWER_DATABASE'] = 'true';
  await replaced;
}

async function upgradeAndBack(t: Test): Promise<void> {
  const system = await startReplaceable(t, await previousRelease());
  const lbId = await lbEndpoint(system, { workersMin: 1 });
  const streamer = { command: system.handler('talker.js'), workersMax: 1, fields: { workersMin: 1 }, retryLimit: 5 };
  const streamId = await system.createEndpoint(streamer);
  await waitFor(
    'the server of the worker',
    async () => (await system.request('GET', `/v2/${lbId}/hello`)).status === 200,
  );
  const jobs = await startJobs(t, system, { workers: 2, retryLimit: 5, command: system.handler('in-flight.js') });
  const requests = sendRequests(system, lbId);
  const load = await sendJobs(system);
  const pass = async (release: Release, order: readonly Part[], firstCore: typeof replaceKilled): Promise<void> => {
    t.comment(`to ${release}: ${order.join(', ')}`);
    const first = order.find((name) => name.startsWith('core'))!;
    for (const name of order) {
      const killedBefore = requests.counts.killed;
      const stream = await startStream(t, system, streamId);
      const submitted = jobs.submit(JOBS_A_STEP);
      load.allowCuts(name.startsWith('facade') && release === 'this');
      if (name === first) await firstCore(system, name);
      else await system.replace(name, release, [streamId, jobs.endpointId, load.endpointId]);
      await submitted;
      const { ok } = requests.counts;
      await waitFor(`requests to be answered after ${name}`, () => requests.counts.ok > ok);
      await stream.finish(name);
      await system.workersReplaced();
      t.same([...requests.wrong, ...load.wrong], [], `no request failed: ${name}`);
      // Commands end with their agent, and one request at a time is under way.
      const killed = requests.counts.killed - killedBefore;
      t.ok(killed <= (name === 'agent-1' ? 1 : 0), `${killed} requests were killed with their worker: ${name}`);
    }
  };
  await pass('this', DOCUMENTED, replaceKilled);
  await migrateFurther(system);
  await pass('previous', shuffled(), replaceRefused);
  await pass('this', shuffled(), (_, name) => system.replace(name, 'this', []));
  await Promise.all([requests.stop(), load.stop()]);
  t.comment(`${requests.counts.ok} requests were answered, ${requests.counts.cut + requests.counts.killed} were cut`);
  await load.check(t);
  await checkOutcomes(t, jobs);
}

const isThere = await hasPreviousRelease();
t.comment(isThere ? `from ${PREVIOUS_COMMIT}` : `this clone has no ${PREVIOUS_COMMIT}`);

if (isThere) t.test('forward and back, part by part', { skip: skipWithoutEnvoy() }, upgradeAndBack);

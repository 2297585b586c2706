// test: postgres, 60 s
/**
 * An upgrade from the previous release under load: its processes are replaced one by one by those of this release, in
 * the documented order and in the opposite one. No acknowledged job is lost, none has two outcomes, and a request to a
 * load-balancing worker fails only while its facade is away. The first new core is killed while it migrates.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import t from 'tap';
import type { Child } from '../../helpers/child.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import type { Processes } from '../../helpers/system/processes.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { checkOutcomes, startJobs } from '../../kill/jobs-in-flight.ts';
import { hasPreviousRelease, PREVIOUS_COMMIT, previousRelease } from './previous-release.ts';

t.setTimeout(600_000);

/** Jobs that are submitted while one process is replaced. */
const JOBS_A_STEP = 30;
/** Pause of the client of the load-balancing worker between two requests, in milliseconds. */
const REQUEST_EVERY_MS = 20;

/** Names of the processes in the order in which they are replaced. */
const DOCUMENTED = ['core-1', 'core-2', 'facade', 'agent-1'];

/** A system of the previous release whose processes can be replaced by this one's. */
async function startPrevious(t: Test) {
  const previous = await previousRelease();
  const replaced = new Set<string>();
  const slipway = await startProcesses(t, {
    cores: 2,
    release: (name) => (replaced.has(name) ? undefined : previous),
  });
  const children = new Map<string, Child<unknown>>(
    [...slipway.cores, slipway.facade, ...slipway.agents].map((child) => [child.name, child]),
  );
  /** Stops a process as its supervisor does, and starts this release in its place. */
  const replace = async (name: string): Promise<void> => {
    const child = children.get(name)!;
    await child.stop();
    replaced.add(name);
    await child.start();
  };
  /** Does the same to a core, which is killed when it begins to migrate the database, and then started again. */
  const replaceKilled = async (name: string): Promise<void> => {
    const child = children.get(name)!;
    await child.stop();
    replaced.add(name);
    const starting = child.start();
    await waitFor('it to migrate', async () => {
      const [row] = await slipway.sql<{ n: number }[]>`
        SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'slipway-migrate'`;
      return row!.n > 0;
    });
    process.kill(child.pid, 'SIGKILL');
    await starting;
  };
  return { slipway, replace, replaceKilled };
}

/** Sends requests to a load-balancing endpoint one after the other until it is stopped. */
function sendRequests(slipway: Processes, endpointId: string) {
  let isStopped = false;
  const counts = { ok: 0, unreachable: 0 };
  const wrong: string[] = [];
  const loop = (async () => {
    while (!isStopped) {
      try {
        const answer = await slipway.request('GET', `/v2/${endpointId}/hello`);
        if (answer.status === 200) counts.ok += 1;
        else wrong.push(`${answer.status} ${answer.text.slice(0, 200)}`);
      } catch {
        // The facade is away: nobody accepts the connection, or it is cut.
        counts.unreachable += 1;
      }
      await delay(REQUEST_EVERY_MS);
    }
  })();
  return {
    counts,
    wrong,
    /** Resolves when the last request has ended. */
    stop: async (): Promise<void> => {
      isStopped = true;
      await loop;
    },
  };
}

/** Replaces the processes in this order while jobs and requests come in. */
async function upgrade(t: Test, order: readonly string[]): Promise<void> {
  const { slipway, replace, replaceKilled } = await startPrevious(t);
  const lbId = await lbEndpoint(slipway, { workersMin: 1 });
  await waitFor('the server of the worker', async () => {
    const answer = await slipway.request('GET', `/v2/${lbId}/hello`);
    return answer.status === 200;
  });
  const jobs = await startJobs(t, slipway, { workers: 2, retryLimit: 5 });
  const requests = sendRequests(slipway, lbId);
  for (const name of order) {
    const submitted = jobs.submit(JOBS_A_STEP);
    // The first new core migrates the database.
    await (name === order.find((each) => each.startsWith('core')) ? replaceKilled(name) : replace(name));
    await submitted;
    const before = requests.counts.ok;
    await waitFor(`requests to be answered after ${name}`, () => requests.counts.ok > before);
  }
  await requests.stop();
  t.same(requests.wrong, [], `${requests.counts.ok} requests were answered by the worker`);
  await checkOutcomes(t, jobs);
}

const isThere = await hasPreviousRelease();
t.comment(isThere ? `from ${PREVIOUS_COMMIT}` : `this clone has no ${PREVIOUS_COMMIT}`);

if (isThere) {
  t.test('in the documented order: core, facades, agents', (t) => upgrade(t, DOCUMENTED));
  t.test('in the opposite order: agents first, core last', (t) => upgrade(t, DOCUMENTED.toReversed()));
}

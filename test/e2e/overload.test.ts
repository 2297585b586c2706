// test: postgres, 20 s
/**
 * More jobs than workers can do: what is accepted finishes, everything else is refused with a reason and the time to
 * come back, queues and requests in flight stay bounded, and another account is served. The rates: `npm run bench --
 * --only overload`.
 */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { jobRows } from '../helpers/db/job-rows.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { range } from '../helpers/many.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { readMetrics, valueOf } from '../helpers/system/metrics.ts';
import type { Answer } from '../helpers/system/public-api.ts';
import { publicRequest } from '../helpers/system/public-api.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** Duration of a handler in milliseconds: the only worker completes fewer than 100 jobs a second. */
const JOB_MS = 10;
/** Jobs that may wait at an endpoint with one worker (docs/reference/api.md#queue-length). */
const QUEUE_MAX = 500;
/** Submissions by /run, five times what may wait, and the clients that make them as fast as they are answered. */
const RUNS = 5 * QUEUE_MAX;
const RUN_CLIENTS = 48;
/** Submissions by /runsync, by clients that wait for a second each. */
const SYNCS = 60;
const SYNC_CLIENTS = 12;
/** Responses to the other account during the flood. */
const BESIDE = 20;
const FINAL = ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'];

t.test('jobs above the capacity are refused, accepted ones finish', async (t) => {
  const metrics = { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' };
  const system = await startSystem(t, { coreEnv: metrics, facadeEnv: metrics });
  const id = await system.createEndpoint({ command: jsHandler('busy.js'), workersMax: 1 });
  const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
  const key = await system.newKey(KeyScope.ALL, accountId);
  const other = await system.createEndpoint({ command: jsHandler('busy.js'), workersMax: 1, key });
  const beside = endpointJobs({ request: publicRequest(system.url, key) }, other);
  const jobs = endpointJobs(system, id);
  const { sql } = jobRows(t, system.database.url);

  const answers: Answer[] = [];
  let longestQueue = 0;
  const offer = async (path: string): Promise<void> => {
    answers.push(await jobs.call('POST', path, { input: { ms: JOB_MS } }));
    if (answers.length % 50 > 0) return;
    const [row] = await sql<{ count: number }[]>`
      SELECT count(*)::int FROM job WHERE endpoint_id = ${id} AND state = 'IN_QUEUE'`;
    longestQueue = Math.max(longestQueue, row!.count);
  };
  const flood = Promise.all([
    ...range(RUN_CLIENTS).map((client) => repeat(share(RUNS, RUN_CLIENTS, client), () => offer('/run'))),
    ...range(SYNC_CLIENTS).map((client) =>
      repeat(share(SYNCS, SYNC_CLIENTS, client), () => offer('/runsync?wait=1000')),
    ),
  ]);
  const served: string[] = [];
  await repeat(BESIDE, async () => {
    served.push((await beside.runSync({ ms: 1 })).status);
  });
  await flood;

  const accepted = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status !== 200);
  t.comment(`${accepted.length} accepted, refused: ${JSON.stringify(countBy(refused.map(({ json }) => json.code)))}`);
  t.equal(answers.length, RUNS + SYNCS, 'every request has an answer');
  t.same(
    served,
    range(BESIDE).map(() => 'COMPLETED'),
    'another account is served',
  );
  t.ok(refused.length > RUNS / 5 && accepted.length > QUEUE_MAX / 2, 'the load was too much, and some was taken');
  const wrong = refused.filter(
    ({ status, headers, json }) =>
      !(status === 429 || status === 503) ||
      !['queue_full', 'rate_limited', 'unavailable'].includes(json.code) ||
      !/^[1-9]\d*$/.test(headers.get('retry-after') ?? ''),
  );
  t.same(
    wrong.map(({ status, text }) => `${status} ${text}`),
    [],
    'each refusal has its reason and Retry-After',
  );
  // Submissions that are under way when the queue is counted come on top, twice when two counts meet.
  t.ok(longestQueue <= QUEUE_MAX + 2 * (RUN_CLIENTS + SYNC_CLIENTS), `${longestQueue} jobs waited`);

  const ids = accepted.map(({ json }) => json.id);
  t.equal(new Set(ids).size, ids.length, 'each has a job of its own');
  await waitFor('all jobs to end', async () => {
    const open = await sql`SELECT FROM job WHERE endpoint_id = ${id} AND state <> ALL (${FINAL}) LIMIT 1`;
    return open.length === 0;
  });
  const rows = await sql<{ id: string; state: string; attempt: number }[]>`
    SELECT id, state, attempt FROM job WHERE endpoint_id = ${id}`;
  t.same(rows.map((row) => row.id).toSorted(), ids.toSorted(), 'accepted jobs are all that there is');
  t.same(countBy(rows.map(({ state, attempt }) => `${state} ${attempt}`)), { 'COMPLETED 1': ids.length });
  t.match((await jobs.look(ids.at(-1)!)).output, { took: JOB_MS });

  await waitFor(
    'a job to be taken again',
    async () => (await jobs.call('POST', '/run', { input: { ms: 1 } })).status === 200,
  );
  await waitFor('nothing to wait anywhere', async () => {
    const [core, facade] = [await readMetrics(system.metrics.core), await readMetrics(system.metrics.facade)];
    const left =
      valueOf(core, 'slipway_core_batcher_waiting') + valueOf(facade, 'slipway_facade_http_requests_in_flight');
    return left === 0;
  });
});

/** Returns how many of all are of this client. */
function share(all: number, clients: number, client: number): number {
  return Math.floor((all * (client + 1)) / clients) - Math.floor((all * client) / clients);
}

async function repeat(times: number, what: () => Promise<void>): Promise<void> {
  for (let done = 0; done < times; done += 1) await what();
}

function countBy(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, of]) => [name, of.length]));
}

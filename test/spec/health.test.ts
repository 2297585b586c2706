// test: postgres, 10 s
/** The health record of docs/reference/api.md#health: every counter moves when it must. */
import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import t from 'tap';
import { commandLine } from '../cli/command-line.ts';
import { jobRows } from '../helpers/db/job-rows.ts';
import { scratch } from '../helpers/scratch.ts';
import type { EndpointJobs, HealthRecord } from '../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const system = await startSystem(t);
const files = await scratch(t);
const rows = jobRows(t, system.database.url);
const command = jsHandler('all.js');
const NO_JOBS = { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 };
const NO_WORKERS = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };

const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });

/** Worker counts of the management surfaces. */
interface Told {
  throttledReason?: string | null;
  endedWorkers?: { count: number }[];
}

async function inRest({ id }: EndpointJobs): Promise<Told> {
  return (await system.request('GET', `/v1/endpoints/${id}?includeWorkers=true`)).json as Told;
}

async function inGraphql({ id }: EndpointJobs): Promise<Told> {
  const query =
    `{ endpoint(id: "${id}") { throttledReason endedWorkers { count exitCode reason lastLine lastEndedAt ` +
    'lastWorkerId } } }';
  const { json } = await system.request('POST', '/graphql', { query });
  return (json as unknown as { data: { endpoint: Told } }).data.endpoint;
}

async function toldEverywhere(t: Test, jobs: EndpointJobs, throttledReason: string): Promise<void> {
  t.match(await inRest(jobs), { throttledReason }, 'REST says why');
  t.match(await inGraphql(jobs), { throttledReason }, 'so does GraphQL');
  for (const words of [['endpoints', 'get'], ['workers']]) {
    t.ok((await cli.run(...words, jobs.id)).stdout.includes(throttledReason), `slipway ${words.join(' ')}`);
  }
}

/** Counts are shown for a moment before they are made again, so that a test has to wait for its own. */
async function counts(t: Test, jobs: EndpointJobs, wanted: Partial<HealthRecord>, text: string): Promise<void> {
  let seen: HealthRecord | undefined;
  await waitFor(text, async () => {
    seen = await jobs.health();
    return Object.entries(wanted).every(([name, numbers]) =>
      isDeepStrictEqual(seen![name as keyof HealthRecord], numbers),
    );
  }).catch(() => undefined);
  t.match(seen, wanted, text);
}

t.test('a new endpoint without workers counts nothing', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 } }));
  // Until its machine has joined, an endpoint has a reason why it has no workers.
  const health = await waitFor('no reason to be given', async () => {
    const seen = await jobs.health();
    return !('cannotRunReason' in seen.workers) && seen;
  });
  t.same(health, { jobs: NO_JOBS, workers: NO_WORKERS });
});

t.test('an idle worker is idle and ready', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 2 }, workersMax: 2 }));
  await counts(t, jobs, { workers: { ...NO_WORKERS, idle: 2, ready: 2 } }, 'two idle workers');
});

t.test('jobs.inQueue, jobs.inProgress, jobs.completed, jobs.failed, workers.running', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  const held = await jobs.run({ mode: 'until', file: files.path('go') });
  await jobs.reached(held, 'IN_PROGRESS');
  const failing = await jobs.run({ mode: 'throw', message: 'x' });
  const cancelled = await jobs.run({});
  await counts(
    t,
    jobs,
    { jobs: { ...NO_JOBS, inProgress: 1, inQueue: 2 }, workers: { ...NO_WORKERS, running: 1 } },
    'a worker with a job is not idle',
  );
  await jobs.call('POST', `/cancel/${cancelled}`);
  await counts(t, jobs, { jobs: { ...NO_JOBS, inProgress: 1, inQueue: 1 } }, 'a cancelled job is in no count');
  files.open('go');
  await jobs.reached(failing, 'FAILED');
  await counts(
    t,
    jobs,
    { jobs: { ...NO_JOBS, completed: 1, failed: 1 }, workers: { ...NO_WORKERS, idle: 1, ready: 1 } },
    'both ends are counted',
  );
  t.match(await jobs.reached(held, 'COMPLETED'), { output: { done: true } });
});

t.test('jobs.retried counts attempts that were lost and put back; the record says so too', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1, retryLimit: 1 }));
  const id = await jobs.run({ mode: 'exit', code: 9, once: files.path('ended') });
  const record = await jobs.reached(id, 'COMPLETED', 20_000);
  t.match(record, { output: { survived: true }, retries: 1 });
  const wanted = { jobs: { ...NO_JOBS, retried: 1, completed: 1 }, workers: { ...NO_WORKERS, idle: 1, ready: 1 } };
  await counts(t, jobs, wanted, 'one lost attempt, one completed job, and the crashed worker was replaced');
});

t.test('jobs.failed counts a job whose attempts were lost too often; its error names the cause', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1, retryLimit: 1 }));
  const record = await jobs.reached(await jobs.run({ mode: 'exit', code: 9 }), 'FAILED', 20_000);
  t.match(record, { retries: 1, error: /9/ });
  await counts(t, jobs, { jobs: { ...NO_JOBS, retried: 1, failed: 1 } }, 'one attempt put back, one failed job');
  const how = 'The worker ended with exit code 9.';
  const ended = { count: 2, exitCode: 9, reason: how, lastLine: how, lastEndedAt: /^2/, lastWorkerId: /^\w{14}$/ };
  await waitFor('both workers to be replaced', async () => (await inRest(jobs)).endedWorkers?.[0]?.count === 2);
  t.match((await inRest(jobs)).endedWorkers, [ended], 'REST says why its workers ended');
  t.match((await inGraphql(jobs)).endedWorkers, [ended], 'so does GraphQL');
  t.match(
    (await cli.run('workers', jobs.id)).stdout,
    /Ended:\n.*: 2 × The worker ended with exit code 9\. \(last \w{14}, /,
  );
});

t.test('workers.unhealthy counts workers that crash, jobs stay queued', async (t) => {
  const broken = [process.execPath, '-e', 'console.error("the weights are missing"); process.exit(7)'];
  const jobs = endpointJobs(system, await system.createEndpoint({ command: broken, workersMax: 1, ready: 0 }));
  const id = await jobs.run({});
  await counts(t, jobs, { workers: { ...NO_WORKERS, unhealthy: 1 } }, 'an unhealthy worker');
  t.match((await jobs.status(id)).json, { status: 'IN_QUEUE' });
  const [row] = await rows.sql`SELECT count(*)::int AS n FROM worker WHERE endpoint_id = ${jobs.id}`;
  const more = () =>
    rows.sql`SELECT FROM worker WHERE endpoint_id = ${jobs.id} AND state = 'UNHEALTHY' OFFSET ${row!.n as number}`;
  await waitFor('its replacement to crash too', async () => (await more()).length > 0);
  await counts(
    t,
    jobs,
    { workers: { ...NO_WORKERS, unhealthy: 1 } },
    'still one: those that were replaced count no more',
  );
});

t.test('workers.initializing counts workers that have not asked for work yet', async (t) => {
  const slow = [process.execPath, '-e', 'require("node:net").createServer().listen(0, "127.0.0.1")'];
  const jobs = endpointJobs(system, await system.createEndpoint({ command: slow, workersMax: 1, ready: 0 }));
  await counts(t, jobs, { workers: { ...NO_WORKERS, initializing: 1 } }, 'an initializing worker');
});

t.test('workers.throttled counts workers without capacity on any machine', async (t) => {
  const fields = { workersMin: 1, gpuIds: ['AMPERE_80'] };
  const jobs = endpointJobs(system, await system.createEndpoint({ command, fields, workersMax: 1, ready: 0 }));
  const throttledReason = 'no machine has a free GPU of AMPERE_80: 1 machine has no GPU';
  const cannotRunReason =
    'no machine can run it, as it needs a machine that allows commands and a GPU of AMPERE_80: 1 machine has no GPU';
  await counts(
    t,
    jobs,
    { workers: { ...NO_WORKERS, throttled: 1, throttledReason, cannotRunReason } },
    'a throttled worker',
  );
  await toldEverywhere(t, jobs, throttledReason);
});

t.test('jobs that wait while workersMax is 0 are reported, though no worker is throttled', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));
  t.notOk('throttledReason' in (await inRest(jobs)), 'nothing waits yet');
  await jobs.run({});
  const throttledReason = 'jobs wait, but workersMax is 0: raise it to let workers start';
  await counts(t, jobs, { workers: { ...NO_WORKERS, throttledReason } }, 'no worker is wanted');
  await toldEverywhere(t, jobs, throttledReason);
  t.equal((await system.request('PATCH', `/v1/endpoints/${jobs.id}`, { workersMax: 1 })).status, 200);
  await counts(t, jobs, { jobs: { ...NO_JOBS, completed: 1 } }, 'they run when it is raised');
  t.notOk('throttledReason' in (await inRest(jobs)));
});

t.test('unknown endpoint | 404', async (t) => {
  const answer = await system.request('GET', '/v2/aaaaaaaaaaaaaa/health');
  t.equal(answer.status, 404);
  t.match(answer.json, { code: 'endpoint_not_found' });
});

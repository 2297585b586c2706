// test: postgres, 20 s
/**
 * kill -9 of cores while one request cancels, retries or purges many jobs, and while retention deletes: a client that
 * sends a request again until it is answered has each job handled once, and all others are left alone.
 */
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';
import type { EndpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import type { PublicJson } from '../helpers/system/public-api.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Twice as many are allowed in the queue of an endpoint without workers. */
const JOBS = 24;
/** Jobs of one request. */
const PAGE = 12;

t.setTimeout(600_000);

const slipway = await startProcesses(t, { cores: 2, env: { SLIPWAY_RATE_LIMITS: 'false' } });
const { cores, sql } = slipway;
const files = await scratch(t);
const command = jsHandler('all.js');
const parked = async (): Promise<EndpointJobs> =>
  endpointJobs(slipway, await slipway.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));
const submit = (jobs: EndpointJobs, count: number, input: object = {}): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => jobs.run(input)));

/** Table whose rows are locked. Deletions skip locked jobs, and wait for inputs. */
type Locked = 'job' | 'job_input';

/**
 * Kills all cores while a statement waits for rows of the endpoint, and starts them. PostgreSQL may still carry the
 * statement out: what lost its answer then is the core, and with it the client.
 */
async function killInStatement({ id }: EndpointJobs, table: Locked, begin: () => void): Promise<void> {
  await sql.begin(async (locking) => {
    await locking`SELECT FROM ${locking(table)} WHERE endpoint_id = ${id} FOR UPDATE`;
    begin();
    await waitFor(
      `a statement to wait for ${table}`,
      async () => (await locking`SELECT FROM pg_locks WHERE NOT granted`).length > 0,
    );
    for (const core of cores) await core.kill();
  });
  await Promise.all(cores.map((core) => core.start()));
}

/** Sends a request until it is answered. The cores are killed in its first try. */
async function askUnderKill(jobs: EndpointJobs, path: string, table: Locked = 'job'): Promise<PublicJson> {
  let answer!: Promise<PublicJson>;
  await killInStatement(jobs, table, () => {
    answer = waitFor(`an answer to ${path}`, async () => {
      const { status, text, json } = await jobs.call('POST', path);
      if (status !== 200) throw new Error(`${status} ${text}`);
      return json;
    });
  });
  return answer;
}

/**
 * Sends all requests of an operation. The first defines the jobs, and is answered; each further one is sent under a
 * kill. `between` runs after the first.
 */
async function allPages(jobs: EndpointJobs, path: string, between?: () => Promise<unknown>): Promise<void> {
  let { json: answer } = await jobs.call('POST', `${path}?limit=1`);
  await between?.();
  while (answer['hasMore'] === true)
    answer = await askUnderKill(jobs, `${path}?limit=${PAGE}&cursor=${String(answer['nextCursor'])}`);
}

const statesOf = async ({ id }: EndpointJobs): Promise<Record<string, number>> => {
  const rows = await sql<{ state: string; jobs: number }[]>`
    SELECT state, count(*)::int AS jobs FROM job WHERE endpoint_id = ${id} GROUP BY state`;
  return Object.fromEntries(rows.map(({ state, jobs }) => [state, jobs]));
};

t.test('cancel: each job is cancelled, and a later one is left', async (t) => {
  const jobs = await parked();
  await submit(jobs, JOBS);
  let later = '';
  await allPages(jobs, '/jobs/cancel', async () => {
    later = await jobs.run({});
  });
  t.same(await statesOf(jobs), { CANCELLED: JOBS, IN_QUEUE: 1 });
  t.match(await jobs.look(later), { status: 'IN_QUEUE' });
  await jobs.counted({ inQueue: 1, inProgress: 0 });
});

t.test('retry: each failed job runs once more', async (t) => {
  const jobs = endpointJobs(slipway, await slipway.createEndpoint({ command, workersMax: 1 }));
  const input = { mode: 'throw', message: 'as asked', note: files.path('runs') };
  const ids = await submit(jobs, JOBS, input);
  for (const id of ids) t.match(await jobs.settled(id), { status: 'FAILED' });
  await allPages(jobs, '/jobs/retry');
  await waitFor('all to have failed again', async () => {
    const states = await statesOf(jobs);
    if (states['FAILED'] !== JOBS) throw new Error(JSON.stringify(states));
    return true;
  });
  t.equal(files.lines('runs').length, 2 * JOBS, 'none was retried twice');
  await jobs.counted({ failed: 2 * JOBS, inQueue: 0, inProgress: 0 });
});

t.test('purge: the queue is empty, and jobs that have ended stay', async (t) => {
  const jobs = await parked();
  const [ended] = await submit(jobs, 1);
  await jobs.cancel(ended!);
  await submit(jobs, JOBS);
  await askUnderKill(jobs, '/purge-queue', 'job_input');
  t.same(await statesOf(jobs), { CANCELLED: 1 });
  await jobs.counted({ inQueue: 0, inProgress: 0 });
});

t.test('retention: each job whose time is over is deleted with all its rows, and no other', async (t) => {
  const jobs = await parked();
  const ids = await submit(jobs, 2 * JOBS, { pad: 'x'.repeat(10_000) });
  const due = ids.filter((_, place) => place % 2 === 0);
  await sql`UPDATE job SET ttl_deadline_at = now() + interval '2 s', expires_at = now() + interval '2 s'
    WHERE endpoint_id = ${jobs.id} AND id = ANY(${due})`;
  await killInStatement(jobs, 'job_input', () => undefined);
  await waitFor('the due jobs to be deleted', async () => (await statesOf(jobs))['IN_QUEUE'] === JOBS);
  const left = await sql<{ id: string }[]>`SELECT id FROM job WHERE endpoint_id = ${jobs.id}`;
  const kept = ids.filter((_, place) => place % 2 === 1).toSorted();
  t.same(left.map(({ id }) => id).toSorted(), kept);
  const inputs = await sql<{ job_id: string }[]>`SELECT job_id FROM job_input WHERE endpoint_id = ${jobs.id}`;
  t.same(inputs.map(({ job_id }) => job_id).toSorted(), kept, 'inputs too');
  for (const id of due) t.equal((await jobs.status(id)).status, 404);
  await jobs.counted({ inQueue: JOBS, inProgress: 0 });
});

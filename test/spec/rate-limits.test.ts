/** Every row of the rate table in spec.md 8: requests per 10 s, requests at a time, Retry-After, and the dynamic limit. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { endpointJobs } from '../helpers/endpoint-jobs.ts';
import type { EndpointJobs } from '../helpers/endpoint-jobs.ts';
import { jsHandler } from '../helpers/handlers.ts';
import { jobRows } from '../helpers/job-rows.ts';
import { scratch } from '../helpers/scratch.ts';
import { startSystem } from '../helpers/system.ts';
import type { Answer } from '../helpers/system.ts';
import { waitFor } from '../helpers/wait-for.ts';

const UNKNOWN_JOB = '00000000-0000-4000-8000-000000000000-u1';
const CLIENTS = 40;
/** What one running worker adds, requests and concurrency. Chosen so that it matters for the dynamic limit only. */
const PER_WORKER = { rate: 30, concurrency: 3 };

const system = await startSystem(t, {
  facadeEnv: { SLIPWAY_REQUESTS_PER_WORKER: String(PER_WORKER.rate), SLIPWAY_CONCURRENCY_PER_WORKER: String(PER_WORKER.concurrency) },
});
const files = await scratch(t);
const rows = jobRows(t, system.database.url);
const command = jsHandler('all.js');

/** An endpoint without workers and without requests yet: a new count for every row. */
async function freshEndpoint(): Promise<EndpointJobs> {
  return endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));
}

type Send = (jobs: EndpointJobs) => Promise<Answer>;

/** Sends `count` requests, CLIENTS at a time, and returns their answers in the order of their completion. */
async function flood(jobs: EndpointJobs, send: Send, count: number, clients = CLIENTS): Promise<Answer[]> {
  const answers: Answer[] = [];
  let left = count;
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      answers.push(await send(jobs));
    }
  };
  await Promise.all(Array.from({ length: Math.min(clients, count) }, client));
  return answers;
}

/** The `base` requests of a window pass, the next is refused. */
async function checkRate(t: Test, send: Send, base: number, clients?: number): Promise<void> {
  const jobs = await freshEndpoint();
  const before = performance.now();
  const answers = await flood(jobs, send, base, clients);
  t.equal(answers.filter(({ status }) => status === 429).length, 0, `${base} requests pass`);
  const next = await send(jobs);
  const tookMs = performance.now() - before;
  t.ok(tookMs < 10_000, `all within one window, in ${Math.round(tookMs)} ms`);
  t.equal(next.status, 429, 'one more does not');
  t.match(next.json, { code: 'rate_limited', error: String });
  const retryAfter = Number(next.headers.get('retry-after'));
  t.ok(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 10, `Retry-After: ${retryAfter}`);
}

/** `base` requests at a time pass, one more is refused at once. */
async function checkConcurrency(t: Test, hold: (jobs: EndpointJobs) => void, base: number, send: Send): Promise<void> {
  const jobs = await freshEndpoint();
  await jobs.health();
  for (let i = 0; i < base; i += 1) hold(jobs);
  const refused = await waitFor('a request over the limit to be refused', async () => {
    const answer = await send(jobs);
    return answer.status === 429 ? answer : undefined;
  });
  t.match(refused.json, { code: 'rate_limited', error: new RegExp(`More than ${base} .* at a time`) });
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
}

const sockets = new Set<Socket>();
t.teardown(() => { for (const socket of sockets) socket.destroy(); });

/** Opens a request whose answer is not awaited: a body that never ends, or a call that waits. */
function open(method: string, path: string): void {
  const { hostname, port } = new URL(system.url);
  const socket = connect(Number(port), hostname);
  sockets.add(socket);
  socket.on('error', () => undefined);
  const body = method === 'POST' ? 'content-length: 100\r\n\r\n{' : '\r\n';
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${system.key}\r\n${body}`);
}

/** Ends all open requests and waits until the server has noticed. */
function closeAll(): void {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
}

const run: Send = (jobs) => jobs.call('POST', '/run', { input: [] });
const runsync: Send = (jobs) => jobs.call('POST', '/runsync', { input: [] });
const status: Send = (jobs) => jobs.call('GET', `/status/${UNKNOWN_JOB}`);
const statusSync: Send = (jobs) => jobs.call('GET', `/status-sync/${UNKNOWN_JOB}`);
const stream: Send = (jobs) => jobs.call('GET', `/stream/${UNKNOWN_JOB}`);
const cancel: Send = (jobs) => jobs.call('POST', `/cancel/${UNKNOWN_JOB}`);
const retry: Send = (jobs) => jobs.call('POST', `/retry/${UNKNOWN_JOB}`);
const purge: Send = (jobs) => jobs.call('POST', '/purge-queue');
const openai: Send = (jobs) => jobs.call('POST', '/openai/v1/chat/completions', '[]');
const requests: Send = (jobs) => jobs.call('GET', '/requests');

t.test('/runsync | POST | 2000 requests per 10 s', (t) => checkRate(t, runsync, 2000));
t.test('/run | POST | 1000 requests per 10 s', (t) => checkRate(t, run, 1000));
t.test('/status | GET | 2000 requests per 10 s', (t) => checkRate(t, status, 2000));
t.test('/stream | GET | 2000 requests per 10 s', (t) => checkRate(t, stream, 2000));
t.test('/cancel | POST | 100 requests per 10 s', (t) => checkRate(t, cancel, 100, 10));
t.test('/purge-queue | POST | 2 requests per 10 s', (t) => checkRate(t, purge, 2, 1));
t.test('/openai/* | POST | 2000 requests per 10 s', (t) => checkRate(t, openai, 2000));
t.test('/requests | GET | 10 requests per 10 s', (t) => checkRate(t, requests, 10, 1));
t.test('/retry as /cancel: 100 requests per 10 s', (t) => checkRate(t, retry, 100, 10));

t.test('/status-sync counts as /status', async (t) => {
  const jobs = await freshEndpoint();
  await flood(jobs, status, 1_000);
  await flood(jobs, statusSync, 1_000);
  t.equal((await status(jobs)).status, 429);
});

t.test('limits are per endpoint and per operation', async (t) => {
  const [full, other] = [await freshEndpoint(), await freshEndpoint()];
  await flood(full, purge, 2, 1);
  t.equal((await purge(full)).status, 429);
  t.equal((await purge(other)).status, 200, 'another endpoint');
  t.equal((await cancel(full)).status, 404, 'another operation');
});

t.test('limits are per user: keys of one account share them', async (t) => {
  const jobs = await freshEndpoint();
  await flood(jobs, purge, 2, 1);
  const second = await system.newKey();
  const answer = await jobs.call('POST', '/purge-queue', undefined, { authorization: `Bearer ${second}` });
  t.equal(answer.status, 429);
});

t.test('/runsync | concurrency 400', async (t) => {
  await checkConcurrency(t, (jobs) => open('POST', `${jobs.base}/runsync`), 400, runsync);
  closeAll();
});

t.test('/run | concurrency 200', async (t) => {
  await checkConcurrency(t, (jobs) => open('POST', `${jobs.base}/run`), 200, run);
  closeAll();
});

t.test('/status | concurrency 400', async (t) => {
  const jobs = await freshEndpoint();
  const id = await jobs.run({});
  for (let i = 0; i < 400; i += 1) open('GET', `${jobs.base}/status-sync/${id}?wait=300000`);
  const refused = await waitFor('one more to be refused', async () => {
    const answer = await jobs.status(id);
    return answer.status === 429 ? answer : undefined;
  });
  t.match(refused.json, { code: 'rate_limited' });
  closeAll();
  await waitFor('the places to be free again', async () => (await jobs.status(id)).status === 200);
});

t.test('/stream | concurrency 400', async (t) => {
  const jobs = await freshEndpoint();
  const id = await jobs.run({});
  for (let i = 0; i < 400; i += 1) open('GET', `${jobs.base}/stream/${id}?wait=300000`);
  await waitFor('one more to be refused', async () => (await jobs.call('GET', `/stream/${id}?wait=0`)).status === 429);
  closeAll();
  t.ok(await waitFor('the places to be free again', async () => (await jobs.call('GET', `/stream/${id}?wait=0`)).status === 200));
});

t.test('/cancel | concurrency 20', async (t) => {
  await checkConcurrency(t, (jobs) => open('POST', `${jobs.base}/cancel/${UNKNOWN_JOB}`), 20, cancel);
  closeAll();
});

t.test('/openai/* | concurrency 400', async (t) => {
  await checkConcurrency(t, (jobs) => open('POST', `${jobs.base}/openai/v1/chat/completions`), 400, openai);
  closeAll();
});

t.test('/requests | concurrency 2', async (t) => {
  const jobs = await freshEndpoint();
  await requests(jobs);
  const answers: Answer[] = [];
  let all: Promise<unknown> = Promise.resolve();
  await rows.sql.begin(async (sql) => {
    // Nobody can read jobs while this holds, so that the two stay in flight.
    await sql`LOCK TABLE job IN ACCESS EXCLUSIVE MODE`;
    all = Promise.all([1, 2, 3].map(async () => answers.push(await requests(jobs))));
    await waitFor('the third to be answered', () => answers.length > 0);
  });
  await all;
  t.same(answers.map(({ status }) => status), [429, 200, 200]);
});

t.test('dynamic limit: the higher of the base and number_of_running_workers x requests_per_worker', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  const id = await jobs.run({ mode: 'until', file: files.path('go'), note: files.path('note') });
  await files.noted('note');
  // A key that no verdict is cached for yet, so that the count of running workers is of now.
  const authorization = `Bearer ${await system.newKey()}`;
  const idle = await freshEndpoint();
  for (const [which, limit] of [[idle, 2], [jobs, PER_WORKER.rate]] as const) {
    const answers = await flood(which, (jobs) => jobs.call('POST', '/purge-queue', undefined, { authorization }), PER_WORKER.rate + 5, 1);
    t.equal(answers.filter(({ status }) => status === 200).length, limit);
  }
  const answers = await flood(jobs, (jobs) => jobs.call('POST', `/cancel/${UNKNOWN_JOB}`, undefined, { authorization }), 101, 10);
  t.equal(answers.filter(({ status }) => status === 429).length, 1, 'where the base is higher it stays');
  files.open('go');
  await jobs.reached(id, 'COMPLETED');
});

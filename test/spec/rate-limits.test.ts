/** Every row of the rate table in docs/api.md#rate-limits, and management: requests per 10 s, requests at a time, Retry-After, and the dynamic limit. */
import type { Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { MANAGEMENT_CALLS_MAX } from '../../core/domain/call-limits.ts';
import { KeyScope } from '../../proto/gen/slipway/v1/access_service.ts';
import { commandLine } from '../facades/cli/command-line.ts';
import { endpointJobs } from '../helpers/endpoint-jobs.ts';
import type { EndpointJobs } from '../helpers/endpoint-jobs.ts';
import { call } from '../helpers/grpc-clients.ts';
import { jsHandler } from '../helpers/handlers.ts';
import { jobRows } from '../helpers/job-rows.ts';
import { publicRequest } from '../helpers/public-api.ts';
import { flood, open as openSocket, requestText } from '../helpers/raw-http.ts';
import { reasonOf } from '../helpers/reason-of.ts';
import { scratch } from '../helpers/scratch.ts';
import { startSystem } from '../helpers/system.ts';
import type { Answer } from '../helpers/system.ts';
import { waitFor } from '../helpers/wait-for.ts';

/** No id at all: refused by the facade itself, so that a whole window's requests fit well into the window. */
const NO_JOB = 'none.';
/** What one running worker adds, requests and concurrency. Chosen so that it matters for the dynamic limit only. */
const PER_WORKER = { rate: 30, concurrency: 3 };
const WINDOW_MS = 10_000;
const TURNS_MAX = 5;

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

/** An operation as it is flooded: method, path below the endpoint, body. */
type Operation = readonly [method: string, path: string, body?: string];

/** What is refused quickly; requests that are refused for what they ask count like all others. */
const OPERATIONS = {
  runsync: ['POST', '/runsync', '{"input":[]}'],
  run: ['POST', '/run', '{"input":[]}'],
  status: ['GET', `/status/${NO_JOB}`],
  statusSync: ['GET', `/status-sync/${NO_JOB}`],
  stream: ['GET', `/stream/${NO_JOB}`],
  cancel: ['POST', `/cancel/${NO_JOB}`],
  retry: ['POST', `/retry/${NO_JOB}`],
  purge: ['POST', '/purge-queue'],
  openai: ['POST', '/openai/v1/chat/completions', '[]'],
  requests: ['GET', '/requests'],
} as const satisfies Record<string, Operation>;

function send(jobs: EndpointJobs, [method, path, body]: Operation, key = system.key): Promise<Answer> {
  return jobs.call(method, path, body, { authorization: `Bearer ${key}` });
}

/** Sends an operation `count` times at once; how many were refused by a limit and how many were not. */
async function sendMany(jobs: EndpointJobs, [method, path, body = '']: Operation, count: number, key = system.key): Promise<[passed: number, refused: number]> {
  const headers = { authorization: `Bearer ${key}`, connection: 'keep-alive' };
  // Few connections, so that no limit of concurrency is reached.
  const connections = count > 100 ? 8 : 1;
  const statuses = await flood(system.url, requestText(method, jobs.base + path, headers, Buffer.from(body)), count, connections);
  const refused = statuses.get(429) ?? 0;
  return [[...statuses.values()].reduce((sum, number) => sum + number, 0) - refused, refused];
}

/** What was asked of a fresh endpoint within one window: on a machine that is too busy for a whole window's requests the next endpoint has its turn. */
async function inOneWindow<Seen>(t: Test, ask: (jobs: EndpointJobs) => Promise<Seen>): Promise<Seen> {
  for (let turns = 1; ; turns += 1) {
    const jobs = await freshEndpoint();
    const before = performance.now();
    const seen = await ask(jobs);
    const tookMs = Math.round(performance.now() - before);
    if (tookMs < WINDOW_MS || turns === TURNS_MAX) {
      t.ok(tookMs < WINDOW_MS, `all within one window, in ${tookMs} ms`);
      return seen;
    }
    t.comment(`${tookMs} ms is longer than a window`);
  }
}

/** The `base` requests of a window pass, the next is refused. */
async function checkRate(t: Test, operation: Operation, base: number): Promise<void> {
  const { first, next } = await inOneWindow(t, async (jobs) => ({ first: await sendMany(jobs, operation, base), next: await send(jobs, operation) }));
  t.same(first, [base, 0], `${base} requests pass`);
  t.equal(next.status, 429, 'one more does not');
  t.match(next.text, /"code":"rate_limited"/);
  const retryAfter = Number(next.headers.get('retry-after'));
  t.ok(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 10, `Retry-After: ${retryAfter}`);
}

/** Requests whose answer is not awaited, and what was answered nevertheless. */
const sockets = new Set<Socket>();
const answered: string[] = [];
t.teardown(() => { for (const socket of sockets) socket.destroy(); });

/** Opens a request that stays open: a body that never ends, or a call that waits. */
function open(method: string, path: string, key = system.key): void {
  const socket = openSocket(system.url);
  sockets.add(socket);
  socket.on('data', (bytes) => answered.push(bytes.toString()));
  const body = method === 'POST' ? 'content-length: 100\r\n\r\n{' : '\r\n';
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n${body}`);
}

/** Of `base` + 1 requests at a time one is refused at once; when the others go, their places are free again. */
async function checkConcurrency(t: Test, base: number, held: [jobs: EndpointJobs, method: string, path: string], other: Operation): Promise<void> {
  const [jobs, method, path] = held;
  answered.length = 0;
  for (let i = 0; i <= base; i += 1) open(method, jobs.base + path);
  await waitFor('one request to be refused', () => answered.length > 0);
  t.match(answered[0], new RegExp(`^HTTP/1.1 429 [^]*retry-after: 1[^]*More than ${base} requests to [^]* at a time[^]*rate_limited`));
  const another = await send(jobs, other);
  t.equal(another.status, 429, 'so is another');
  t.equal(answered.length, 1, `${base} are not`);
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await waitFor('the places to be free again', async () => (await send(jobs, other)).status !== 429);
}

t.test('/runsync | POST | 2000 requests per 10 s', (t) => checkRate(t, OPERATIONS.runsync, 2000));
t.test('/run | POST | 1000 requests per 10 s', (t) => checkRate(t, OPERATIONS.run, 1000));
t.test('/status | GET | 2000 requests per 10 s', (t) => checkRate(t, OPERATIONS.status, 2000));
t.test('/stream | GET | 2000 requests per 10 s', (t) => checkRate(t, OPERATIONS.stream, 2000));
t.test('/cancel | POST | 100 requests per 10 s', (t) => checkRate(t, OPERATIONS.cancel, 100));
t.test('/purge-queue | POST | 2 requests per 10 s', (t) => checkRate(t, OPERATIONS.purge, 2));
t.test('/openai/* | POST | 2000 requests per 10 s', (t) => checkRate(t, OPERATIONS.openai, 2000));
t.test('/requests | GET | 10 requests per 10 s', (t) => checkRate(t, OPERATIONS.requests, 10));
t.test('/retry as /cancel: 100 requests per 10 s', (t) => checkRate(t, OPERATIONS.retry, 100));

t.test('/status-sync counts as /status', async (t) => {
  const next = await inOneWindow(t, async (jobs) => {
    await sendMany(jobs, OPERATIONS.status, 1_000);
    await sendMany(jobs, OPERATIONS.statusSync, 1_000);
    return send(jobs, OPERATIONS.status);
  });
  t.equal(next.status, 429);
});

t.test('limits are per endpoint and per operation', async (t) => {
  const [full, other] = [await freshEndpoint(), await freshEndpoint()];
  t.same(await sendMany(full, OPERATIONS.purge, 3), [2, 1]);
  t.equal((await send(other, OPERATIONS.purge)).status, 200, 'another endpoint');
  t.equal((await send(full, OPERATIONS.cancel)).status, 404, 'another operation');
});

t.test('/explain tells which limit refused requests, and no other endpoint\'s', async (t) => {
  const [full, other] = [await freshEndpoint(), await freshEndpoint()];
  t.same(await sendMany(full, OPERATIONS.purge, 5), [2, 3]);
  type Limits = { limits: { limit: string; cut: number; text: string }[] };
  const asked = async (jobs: EndpointJobs) => ((await send(jobs, ['GET', '/explain'])).json as unknown as Limits).limits;
  const text = 'more than 2 requests to purge-queue in 10 s: 3 were refused (429) within the last minute';
  const change = 'send fewer requests, or let more workers run: each raises the rate';
  // The facade tells core once a second.
  const { explanation } = await waitFor('core to know', async () => {
    const answer = await call(system.clients.endpoints, 'explain', { endpointId: full.id }, system.key);
    return answer.explanation!.limits.length > 0 && answer;
  });
  t.same(explanation!.limits, [{ limit: 'REQUEST_RATE', cut: 0, text, change }]);
  t.same(await asked(full), [{ limit: 'REQUEST_RATE', cut: 0, text, change }], 'over HTTP');
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
  t.ok((await cli.run('why', full.id)).stdout.includes(`\n  rate limit: ${text}; to change that: ${change}\n`), 'on the command line');
  t.same(await asked(other), []);
});

t.test('limits are per user: keys of one account share them', async (t) => {
  const jobs = await freshEndpoint();
  await sendMany(jobs, OPERATIONS.purge, 2);
  t.equal((await send(jobs, OPERATIONS.purge, await system.newKey())).status, 429);
});

t.test('/runsync | concurrency 400', async (t) => checkConcurrency(t, 400, [await freshEndpoint(), 'POST', '/runsync'], OPERATIONS.runsync));
t.test('/run | concurrency 200', async (t) => checkConcurrency(t, 200, [await freshEndpoint(), 'POST', '/run'], OPERATIONS.run));

t.test('/status | concurrency 400', async (t) => {
  const jobs = await freshEndpoint();
  await checkConcurrency(t, 400, [jobs, 'GET', `/status-sync/${await jobs.run({})}?wait=300000`], OPERATIONS.status);
});

t.test('/stream | concurrency 400', async (t) => {
  const jobs = await freshEndpoint();
  await checkConcurrency(t, 400, [jobs, 'GET', `/stream/${await jobs.run({})}?wait=300000`], OPERATIONS.stream);
});

t.test('/cancel | concurrency 20', async (t) => {
  await checkConcurrency(t, 20, [await freshEndpoint(), 'POST', `/cancel/${NO_JOB}`], OPERATIONS.cancel);
});

t.test('/openai/* | concurrency 400', async (t) => {
  await checkConcurrency(t, 400, [await freshEndpoint(), 'POST', '/openai/v1/chat/completions'], OPERATIONS.openai);
});

t.test('/requests | concurrency 2', async (t) => {
  const jobs = await freshEndpoint();
  await send(jobs, OPERATIONS.requests);
  const answers: Answer[] = [];
  let all: Promise<unknown> = Promise.resolve();
  await rows.sql.begin(async (sql) => {
    // Nobody can read jobs while this holds, so that the two stay in flight.
    await sql`LOCK TABLE job IN ACCESS EXCLUSIVE MODE`;
    all = Promise.all([1, 2, 3].map(async () => answers.push(await send(jobs, OPERATIONS.requests))));
    await waitFor('the third to be answered', () => answers.length > 0);
  });
  await all;
  t.same(answers.map(({ status }) => status), [429, 200, 200]);
});

t.test('dynamic limit: the higher of the base and number_of_running_workers x requests_per_worker', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  const id = await jobs.run({ mode: 'until', file: files.path('go'), note: files.path('note') });
  await files.noted('note');
  // A key that no grant is cached for yet, so that the count of running workers is of now.
  const key = await system.newKey();
  t.same(await sendMany(await freshEndpoint(), OPERATIONS.purge, PER_WORKER.rate + 5, key), [2, PER_WORKER.rate + 3], 'no worker: the base');
  t.same(await sendMany(jobs, OPERATIONS.purge, PER_WORKER.rate + 5, key), [PER_WORKER.rate, 5], 'one worker: what it adds');
  t.same(await sendMany(jobs, OPERATIONS.cancel, 101, key), [100, 1], 'where the base is higher it stays');
  files.open('go');
  await jobs.reached(id, 'COMPLETED');
});

/** A key of an account that has asked for nothing yet. */
async function freshAccount(name: string): Promise<string> {
  const { accountId } = await call(system.clients.access, 'createAccount', { name }, system.rootKey);
  return (await call(system.clients.keys, 'createKey', {
    name, scope: KeyScope.ALL, endpointIds: [], accountId, permissions: undefined,
  }, system.rootKey)).secret;
}

t.test('management | 1000 requests per 10 s of an account', async (t) => {
  const [busy, calm] = [await freshAccount('busy by rate'), await freshAccount('calm by rate')];
  // Refused by the facade itself, as no id looks like that.
  const text = requestText('GET', `/v1/templates/${NO_JOB}`, { authorization: `Bearer ${busy}`, connection: 'keep-alive' }, Buffer.alloc(0));
  t.same(await flood(system.url, text, 1_000), new Map([[404, 1_000]]), '1000 requests pass');
  for (const [method, path, body] of [['GET', '/v1/templates'], ['POST', '/graphql', { query: '{ myself { id } }' }]] as const) {
    const next = await publicRequest(system.url, busy)(method, path, body);
    t.equal(next.status, 429, `${path}: one more does not`);
    t.match(next.text, /More than 1000 requests under \/v1 and to \/graphql in 10 s; try again in \d+ s\./);
    const retryAfter = Number(next.headers.get('retry-after'));
    t.ok(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 10, `Retry-After: ${retryAfter}`);
  }
  t.equal((await publicRequest(system.url, calm)('GET', '/v1/templates')).status, 200, 'another account is not affected');
});

t.test('management | calls of core itself count together with those of facades', async (t) => {
  const [busy, calm] = [await freshAccount('busy directly'), await freshAccount('calm directly')];
  // Refused before anything is read.
  const ask = async (key: string): Promise<string> =>
    (await reasonOf(call(system.clients.templates, 'createTemplate', { template: undefined }, key))).split(':')[0]!;
  const seen = new Map<string, number>();
  let listed: Answer | undefined;
  // On a machine that is too busy for a whole window's calls the next window has its turn.
  for (let sent = 0; listed?.status !== 429 && sent < 10 * MANAGEMENT_CALLS_MAX; sent += 500) {
    for (const reason of await Promise.all(Array.from({ length: 500 }, () => ask(busy)))) seen.set(reason, (seen.get(reason) ?? 0) + 1);
    listed = await publicRequest(system.url, busy)('GET', '/v1/templates');
  }
  t.equal(listed?.status, 429, 'a facade is refused as well');
  t.match(listed?.text, /More than 5000 such calls of an account in 10 s; try again in \d+ s\./);
  t.same([...seen.keys()].sort(), ['INVALID_REQUEST', 'RATE_LIMITED']);
  t.ok(seen.get('INVALID_REQUEST')! > MANAGEMENT_CALLS_MAX - 100, 'all that is within the rate passes');
  t.equal(await ask(calm), 'INVALID_REQUEST', 'another account is not affected');
});

t.test('management | concurrency 100 of an account', async (t) => {
  const [busy, calm] = [await freshAccount('busy at once'), await freshAccount('calm at once')];
  answered.length = 0;
  for (let i = 0; i <= 100; i += 1) open('POST', '/v1/templates', busy);
  await waitFor('one request to be refused', () => answered.length > 0);
  t.match(answered[0], /^HTTP\/1.1 429 [^]*retry-after: 1[^]*More than 100 requests under \/v1 and to \/graphql at a time/);
  const list = async (key: string): Promise<number> => (await publicRequest(system.url, key)('GET', '/v1/templates')).status;
  t.equal(await list(busy), 429, 'so is another');
  t.equal(await list(calm), 200, 'another account is not affected');
  t.equal(answered.length, 1, '100 are not');
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await waitFor('the places to be free again', async () => await list(busy) === 200);
});

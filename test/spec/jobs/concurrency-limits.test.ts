// test: postgres, 10 s
/**
 * Requests at a time of every row of the rate table in docs/reference/api.md#rate-limits, and of management. See
 * rate-limits.test.ts.
 */
import type { Socket } from 'node:net';
import type { Test } from 'tap';
import t from 'tap';
import type { Operation } from '../../helpers/calls/limited-calls.ts';
import { limitedCalls, NO_JOB, OPERATIONS } from '../../helpers/calls/limited-calls.ts';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { open as openSocket } from '../../helpers/net/raw-http.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import type { Answer } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const system = await startSystem(t);
const rows = jobRows(t, system.database.url);
const { freshEndpoint, send, freshAccount } = limitedCalls(system);

/** Requests whose answer is not awaited, and what was answered nevertheless. */
const sockets = new Set<Socket>();
const answered: string[] = [];
t.teardown(() => {
  for (const socket of sockets) socket.destroy();
});

/** Opens a request that stays open: a body that never ends, or a call that waits. */
function open(method: string, path: string, key = system.key): void {
  const socket = openSocket(system.url);
  sockets.add(socket);
  socket.on('data', (bytes) => answered.push(bytes.toString()));
  const body = method === 'POST' ? 'content-length: 100\r\n\r\n{' : '\r\n';
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n${body}`);
}

/** Of `base` + 1 concurrent requests one is rejected at once; when the others end, their permits are free again. */
async function checkConcurrency(
  t: Test,
  base: number,
  held: [jobs: EndpointJobs, method: string, path: string],
  other: Operation,
): Promise<void> {
  const [jobs, method, path] = held;
  answered.length = 0;
  for (let i = 0; i <= base; i += 1) open(method, jobs.base + path);
  await waitFor('one request to be refused', () => answered.length > 0);
  t.match(
    answered[0],
    new RegExp(`^HTTP/1.1 429 [^]*retry-after: 1[^]*More than ${base} requests to [^]* at a time[^]*rate_limited`),
  );
  const another = await send(jobs, other);
  t.equal(another.status, 429, 'so is another');
  t.equal(answered.length, 1, `${base} are not`);
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await waitFor('the places to be free again', async () => (await send(jobs, other)).status !== 429);
}

// Behind the edge a row of few requests shows the same as one of many.
if (system.url.startsWith('http:')) {
  t.test('/runsync | concurrency 400', async (t) =>
    checkConcurrency(t, 400, [await freshEndpoint(), 'POST', '/runsync'], OPERATIONS.runsync),
  );
  t.test('/run | concurrency 200', async (t) =>
    checkConcurrency(t, 200, [await freshEndpoint(), 'POST', '/run'], OPERATIONS.run),
  );

  t.test('/status | concurrency 400', async (t) => {
    const jobs = await freshEndpoint();
    await checkConcurrency(t, 400, [jobs, 'GET', `/status-sync/${await jobs.run({})}?wait=300000`], OPERATIONS.status);
  });

  t.test('/stream | concurrency 400', async (t) => {
    const jobs = await freshEndpoint();
    await checkConcurrency(t, 400, [jobs, 'GET', `/stream/${await jobs.run({})}?wait=300000`], OPERATIONS.stream);
  });

  t.test('/openai/* | concurrency 400', async (t) => {
    await checkConcurrency(t, 400, [await freshEndpoint(), 'POST', '/openai/v1/chat/completions'], OPERATIONS.openai);
  });
}

t.test('/cancel | concurrency 20', async (t) => {
  await checkConcurrency(t, 20, [await freshEndpoint(), 'POST', `/cancel/${NO_JOB}`], OPERATIONS.cancel);
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
  t.same(
    answers.map(({ status }) => status),
    [429, 200, 200],
  );
});

t.test('management | concurrency 100 of an account', async (t) => {
  const [busy, calm] = [await freshAccount('busy at once'), await freshAccount('calm at once')];
  answered.length = 0;
  for (let i = 0; i <= 100; i += 1) open('POST', '/v1/templates', busy);
  await waitFor('one request to be refused', () => answered.length > 0);
  t.match(
    answered[0],
    /^HTTP\/1.1 429 [^]*retry-after: 1[^]*More than 100 requests to REST and to \/graphql at a time/,
  );
  const list = async (key: string): Promise<number> =>
    (await publicRequest(system.url, key)('GET', '/v1/templates')).status;
  t.equal(await list(busy), 429, 'so is another');
  t.equal(await list(calm), 200, 'another account is not affected');
  t.equal(answered.length, 1, '100 are not');
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await waitFor('the places to be free again', async () => (await list(busy)) === 200);
});

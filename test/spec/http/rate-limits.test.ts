// test: postgres, 10 s
/**
 * Rows of the rate table in docs/reference/api.md#rate-limits, one of each rate, and management: requests per 10 s,
 * Retry-After, the dynamic limit. All rates are in facades/plugins/rate-limit-rules.test.ts, and each operation meets
 * its own row in concurrency-limits.test.ts.
 */

import { MANAGEMENT_CALLS_MAX } from '@slipway/core/domain/accounts/call-limits';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { limitedCalls, NO_JOB, OPERATIONS, withinWindow } from '../../helpers/calls/limited-calls.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { flood, requestText } from '../../helpers/net/raw-http.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { scratch } from '../../helpers/scratch.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import type { Answer } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** Rate and concurrency that one running worker adds. Chosen so that only the dynamic limit depends on them. */
const PER_WORKER = { rate: 30, concurrency: 3 };

const system = await startSystem(t, {
  facadeEnv: {
    SLIPWAY_REQUESTS_PER_WORKER: String(PER_WORKER.rate),
    SLIPWAY_CONCURRENCY_PER_WORKER: String(PER_WORKER.concurrency),
  },
});
const files = await scratch(t);
const command = jsHandler('all.js');
const { freshEndpoint, send, sendMany, inOneWindow, checkRate, freshAccount } = limitedCalls(system);

t.test('/run | POST | 1000 requests per 10 s', (t) => checkRate(t, OPERATIONS.run, 1000));
t.test('/cancel | POST | 100 requests per 10 s', (t) => checkRate(t, OPERATIONS.cancel, 100));
t.test('/purge-queue | POST | 2 requests per 10 s', (t) => checkRate(t, OPERATIONS.purge, 2));
t.test('/requests | GET | 10 requests per 10 s', (t) => checkRate(t, OPERATIONS.requests, 10));
t.test('/retry as /cancel: 100 requests per 10 s', (t) => checkRate(t, OPERATIONS.retry, 100));

t.test('/status | GET | 2000 requests per 10 s, and /status-sync counts as /status', async (t) => {
  const { passed, next } = await inOneWindow(t, async (jobs) => ({
    passed: [await sendMany(jobs, OPERATIONS.status, 1_000), await sendMany(jobs, OPERATIONS.statusSync, 1_000)],
    next: await send(jobs, OPERATIONS.status),
  }));
  t.same(passed, [
    [1_000, 0],
    [1_000, 0],
  ]);
  t.equal(next.status, 429);
});

t.test('limits are per endpoint and per operation', async (t) => {
  const [full, other] = [await freshEndpoint(), await freshEndpoint()];
  t.same(await sendMany(full, OPERATIONS.purge, 3), [2, 1]);
  t.equal((await send(other, OPERATIONS.purge)).status, 200, 'another endpoint');
  t.equal((await send(full, OPERATIONS.cancel)).status, 404, 'another operation');
});

t.test('/explain names the limit that rejected requests, for its own endpoint only', async (t) => {
  const [full, other] = [await freshEndpoint(), await freshEndpoint()];
  t.same(await sendMany(full, OPERATIONS.purge, 5), [2, 3]);
  type Limits = { limits: { limit: string; cut: number; text: string }[] };
  const asked = async (jobs: EndpointJobs) =>
    ((await send(jobs, ['GET', '/explain'])).json as unknown as Limits).limits;
  const text = 'more than 2 requests to purge-queue in 10 s: 3 were refused (429) within the last minute';
  const change = 'send fewer requests, or let more workers run: each raises the rate';
  // The facade reports to core once a second.
  const { explanation } = await waitFor('core to know', async () => {
    const answer = await call(system.clients.endpoints, 'explain', { endpointId: full.id }, system.key);
    return answer.explanation!.limits.length > 0 && answer;
  });
  t.same(explanation!.limits, [{ limit: 'REQUEST_RATE', cut: 0, text, change }]);
  t.same(await asked(full), [{ limit: 'REQUEST_RATE', cut: 0, text, change }], 'over HTTP');
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
  t.ok(
    (await cli.run('why', full.id)).stdout.includes(`\n  rate limit: ${text}; to change that: ${change}\n`),
    'on the command line',
  );
  t.same(await asked(other), []);
});

t.test('limits are per user: keys of one account share them', async (t) => {
  const jobs = await freshEndpoint();
  await sendMany(jobs, OPERATIONS.purge, 2);
  t.equal((await send(jobs, OPERATIONS.purge, await system.newKey())).status, 429);
});

t.test('dynamic limit: the higher of the base and number_of_running_workers x requests_per_worker', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  const id = await jobs.run({ mode: 'until', file: files.path('go'), note: files.path('note') });
  await files.noted('note');
  // A key that no grant is cached for yet, so that the count of running workers is of now.
  const key = await system.newKey();
  t.same(
    await sendMany(await freshEndpoint(), OPERATIONS.purge, PER_WORKER.rate + 5, key),
    [2, PER_WORKER.rate + 3],
    'no worker: the base',
  );
  t.same(
    await sendMany(jobs, OPERATIONS.purge, PER_WORKER.rate + 5, key),
    [PER_WORKER.rate, 5],
    'one worker: what it adds',
  );
  t.same(await sendMany(jobs, OPERATIONS.cancel, 101, key), [100, 1], 'where the base is higher it stays');
  files.open('go');
  await jobs.reached(id, 'COMPLETED');
});

t.test('management | 1000 requests per 10 s of an account', async (t) => {
  const calm = await freshAccount('calm by rate');
  const { flooded, answers } = await withinWindow(t, async () => {
    const busy = await freshAccount('busy by rate');
    // Rejected by the facade itself, because no id has that form.
    const text = requestText(
      'GET',
      `/v1/templates/${NO_JOB}`,
      { authorization: `Bearer ${busy}`, connection: 'keep-alive' },
      Buffer.alloc(0),
    );
    const send = publicRequest(system.url, busy);
    return {
      flooded: await flood(system.url, text, 1_000),
      answers: {
        '/v1/templates': await send('GET', '/v1/templates'),
        '/graphql': await send('POST', '/graphql', { query: '{ myself { id } }' }),
      },
    };
  });
  t.same(flooded, new Map([[404, 1_000]]), '1000 requests pass');
  for (const [path, next] of Object.entries(answers)) {
    t.equal(next.status, 429, `${path}: one more does not`);
    t.match(next.text, /More than 1000 requests to REST and to \/graphql in 10 s; try again in \d+ s\./);
    const retryAfter = Number(next.headers.get('retry-after'));
    t.ok(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 10, `Retry-After: ${retryAfter}`);
  }
  t.equal(
    (await publicRequest(system.url, calm)('GET', '/v1/templates')).status,
    200,
    'another account is not affected',
  );
});

t.test('management | calls to core count together with calls through facades', async (t) => {
  const [busy, calm] = [await freshAccount('busy directly'), await freshAccount('calm directly')];
  // Rejected before anything is read.
  const ask = async (key: string): Promise<string> =>
    (await reasonOf(call(system.clients.templates, 'createTemplate', { template: undefined }, key))).split(':')[0]!;
  const seen = new Map<string, number>();
  let listed: Answer | undefined;
  // On a machine too busy for all calls within one window, the next window is tried.
  for (let sent = 0; listed?.status !== 429 && sent < 10 * MANAGEMENT_CALLS_MAX; sent += 500) {
    for (const reason of await Promise.all(Array.from({ length: 500 }, () => ask(busy))))
      seen.set(reason, (seen.get(reason) ?? 0) + 1);
    listed = await publicRequest(system.url, busy)('GET', '/v1/templates');
  }
  t.equal(listed?.status, 429, 'a facade is refused as well');
  t.match(listed?.text, /More than 5000 such calls of an account in 10 s; try again in \d+ s\./);
  t.same([...seen.keys()].sort(), ['INVALID_REQUEST', 'RATE_LIMITED']);
  t.ok(seen.get('INVALID_REQUEST')! > MANAGEMENT_CALLS_MAX - 100, 'all that is within the rate passes');
  t.equal(await ask(calm), 'INVALID_REQUEST', 'another account is not affected');
});

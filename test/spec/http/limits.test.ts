// test: postgres, 10 s
/**
 * Every row of the limits in docs/reference/api.md#limits, each at its bound and one beyond. A test is named after its
 * row. See rate-limits, concurrency-limits.
 */

import type { Test } from 'tap';
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { webhookReceiver } from '../../helpers/net/webhook-receiver.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { readMetrics, valueOf } from '../../helpers/system/metrics.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const MIB = 1024 * 1024;

const system = await startSystem(t, { facadeEnv: { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' } });
const rows = jobRows(t, system.database.url);
const hooks = await webhookReceiver(t);
const command = jsHandler('all.js');
const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 2 }, workersMax: 2 }));
/** Everything stays in the queue. */
const parked = endpointJobs(
  system,
  await system.createEndpoint({ command, fields: { workersMin: 0, executionTimeoutMs: 7_000 }, workersMax: 0 }),
);

/** Returns a submission of exactly `bytes` bytes whose handler returns the size of the text in it. */
function bodyOfSize(bytes: number): { body: string; textSize: number } {
  const [head, tail] = ['{"input":{"mode":"size","pad":"', '"}}'];
  const textSize = bytes - head.length - tail.length;
  return { body: `${head}${'x'.repeat(textSize)}${tail}`, textSize };
}

/** Submits with a policy and returns the stored row. */
async function storedWith(policy: Record<string, unknown>) {
  const row = await rows.job(await parked.run({}, { policy }));
  return row!;
}

async function refused(t: Test, policy: Record<string, unknown>): Promise<void> {
  const before = await rows.count();
  const answer = await parked.call('POST', '/run', { input: {}, policy });
  t.equal(answer.status, 400, JSON.stringify(policy));
  t.match(answer.json, { code: 'invalid_policy', error: String }, JSON.stringify(policy));
  // Fewer, when a job of an earlier test expires just now.
  t.ok((await rows.count()) <= before, 'nothing was stored');
}

t.test('/runsync payload | 20 MB max', async (t) => {
  const largest = bodyOfSize(20 * MIB);
  const taken = await jobs.call('POST', '/runsync', largest.body);
  t.equal(taken.status, 200);
  t.match(taken.json, { status: 'COMPLETED', output: { size: largest.textSize } }, 'the handler got all of it');
  const tooLarge = await jobs.call('POST', '/runsync', bodyOfSize(20 * MIB + 1).body);
  t.equal(tooLarge.status, 400);
  t.match(tooLarge.json, { code: 'payload_too_large', error: String });
});

t.test('/runsync payload | a large body around a small input is counted while its job waits', async (t) => {
  const counted = async (): Promise<number> =>
    valueOf(await readMetrics(system.metrics.facade), 'slipway_facade_memory_bytes', { budget: 'bodies' });
  const fields = { workersMin: 0 };
  const waits = endpointJobs(system, await system.createEndpoint({ command, fields, workersMax: 0 }));
  const answer = waits.call('POST', '/runsync?wait=300000', { input: {}, ballast: 'x'.repeat(MIB) });
  const row = await waitFor(
    'its job',
    async () => (await rows.sql<{ id: string }[]>`SELECT id FROM job WHERE endpoint_id = ${waits.id}`)[0],
  );
  t.ok((await counted()) > MIB, 'the facade holds the body');
  t.equal((await waits.call('POST', `/cancel/${row.id}`)).status, 200);
  t.match((await answer).json, { status: 'CANCELLED' });
  await waitFor('the end of the response', async () => (await counted()) === 0);
});

t.test('/run payload | 10 MB max', async (t) => {
  const largest = bodyOfSize(10 * MIB);
  const taken = await jobs.call('POST', '/run', largest.body);
  t.equal(taken.status, 200);
  t.match(await jobs.reached(taken.json.id, 'COMPLETED'), { output: { size: largest.textSize } });
  const before = await rows.count();
  const tooLarge = await jobs.call('POST', '/run', bodyOfSize(10 * MIB + 1).body);
  t.equal(tooLarge.status, 400);
  t.match(tooLarge.json, { code: 'payload_too_large', error: String });
  // Fewer, when a job of an earlier test expires just now.
  t.ok((await rows.count()) <= before, 'nothing was stored');
});

t.test('Streamed chunk | 1 MB max: a longer text is split between code points and nothing of it is lost', async (t) => {
  // 4 bytes each, so that no multiple of them and the quotes fills 1,000,000 exactly.
  const length = 600_000;
  const id = await jobs.run({ mode: 'repeat', text: '😀', length });
  await jobs.reached(id, 'COMPLETED');
  const answer = await jobs.call('GET', `/stream/${id}`);
  const chunks = answer.json as unknown as { output: string }[];
  t.equal(chunks.length, 3, '2.4 MB are three chunks');
  for (const { output } of chunks)
    t.ok(Buffer.byteLength(JSON.stringify(output)) <= 1_000_000, 'a chunk is at most 1 MB');
  t.equal(chunks.map(({ output }) => output).join(''), '😀'.repeat(length));
});

t.test('Streamed chunk | 1 MB max: a value of exactly 1 MB is one chunk, one byte more are two', async (t) => {
  const exact = await jobs.run({ mode: 'repeat', text: 'x', length: 1_000_000 - 2 });
  const more = await jobs.run({ mode: 'repeat', text: 'x', length: 1_000_000 - 1 });
  for (const [id, count] of [
    [exact, 1],
    [more, 2],
  ] as const) {
    await jobs.reached(id, 'COMPLETED');
    t.equal(((await jobs.call('GET', `/stream/${id}`)).json as unknown as unknown[]).length, count);
  }
});

t.test(
  'Streamed chunk | 1 MB max: an array is split between its elements; an object that is too large fails the job',
  async (t) => {
    const part = 'y'.repeat(400_000);
    const array = await jobs.run({ mode: 'stream', values: [[part, part, part]] });
    await jobs.reached(array, 'COMPLETED');
    const chunks = (await jobs.call('GET', `/stream/${array}`)).json as unknown as { output: string[] }[];
    t.equal(chunks.length, 2);
    t.same(
      chunks.flatMap(({ output }) => output),
      [part, part, part],
    );
    const object = await jobs.run({ mode: 'stream', values: [{ text: part + part + part }] });
    t.match(await jobs.reached(object, 'FAILED'), { error: /chunk|1,?000,?000|1 MB/i });
  },
);

t.test('output | 20 MB max: a larger one fails the job with a text that says so', async (t) => {
  const largest = await jobs.call('POST', '/runsync', { input: { mode: 'big', length: 20 * MIB - 2 } });
  t.equal(largest.json.status, 'COMPLETED');
  t.equal((largest.json.output as string).length, 20 * MIB - 2);
  const tooLarge = await jobs.call('POST', '/runsync', { input: { mode: 'big', length: 20 * MIB - 1 } });
  t.match(tooLarge.json, { status: 'FAILED', error: /20971521 bytes/ });
  t.equal((await jobs.call('GET', `/status/${largest.json.id}`)).text.length, largest.text.length, 'stored whole');
});

t.test('/runsync wait | 1000 to 300000 ms; default 90000 ms', async (t) => {
  for (const wait of ['999', '300001', '0', '-1000', '1000.5', 'soon', '']) {
    const answer = await jobs.call('POST', `/runsync?wait=${wait}`, { input: {} });
    t.equal(answer.status, 400, `wait=${wait}`);
    t.match(answer.json, { code: 'invalid_request' }, `wait=${wait}`);
  }
  const longest = await jobs.call('POST', '/runsync?wait=300000', { input: {} });
  t.match(longest.json, { status: 'COMPLETED' }, 'wait=300000 is taken');
  const before = performance.now();
  const shortest = await parked.call('POST', '/runsync?wait=1000', { input: {} });
  const tookMs = performance.now() - before;
  t.equal(shortest.status, 200);
  t.match(shortest.json, { id: /^sync-/, status: 'IN_QUEUE' }, 'wait=1000 is taken; the job goes on when it elapses');
  t.ok(tookMs > 950, 'not before its time');
  t.match((await parked.status(shortest.json.id)).json, { status: 'IN_QUEUE' });
});

t.test('Result retention after completion, /run | 30 minutes', async (t) => {
  const id = await jobs.run({});
  await jobs.reached(id, 'COMPLETED');
  const row = (await rows.job(id))!;
  t.ok(Math.abs(row.kept_ms! - 30 * MINUTE_MS) < 1_000, `kept ${row.kept_ms} ms`);
});

t.test('Result retention after completion, /runsync | 1 minute (up to 5 minutes with a longer wait)', async (t) => {
  for (const [query, minutes] of [
    ['?wait=1000', 1],
    ['?wait=60000', 1],
    ['', 1.5],
    ['?wait=200000', 200 / 60],
    ['?wait=300000', 5],
  ] as const) {
    const { json } = await jobs.call('POST', `/runsync${query}`, { input: {} });
    t.equal(json.status, 'COMPLETED');
    const row = (await rows.job(json.id))!;
    t.ok(
      Math.abs(row.kept_ms! - minutes * MINUTE_MS) < 1_000,
      `${query || 'the default wait'}: kept ${row.kept_ms} ms`,
    );
  }
});

t.test('Result retention ends no later than the ttl', async (t) => {
  const { json } = await jobs.call('POST', '/runsync', { input: {}, policy: { ttl: 10_000 } });
  const row = (await rows.job(json.id))!;
  t.ok(row.left_ms <= 10_000, `${row.left_ms} ms left`);
});

t.test('status ttl: sets the remaining life of the job', async (t) => {
  const queued = await parked.run({});
  t.equal((await parked.call('GET', `/status/${queued}?ttl=60000`)).status, 200);
  const left = (await rows.job(queued))!.left_ms;
  t.ok(left > 30_000 && left <= 60_000, `${left} ms left`);
  const finished = await jobs.run({});
  await jobs.reached(finished, 'COMPLETED');
  const answer = await jobs.call('GET', `/status/${finished}?ttl=1`);
  t.match(answer.json, { id: finished, status: 'COMPLETED' }, 'this call still shows it');
  await jobs.gone(finished);
});

t.test('policy.executionTimeout | default 600000 ms; 5 seconds to 7 days', async (t) => {
  t.equal(Number((await rows.job(await jobs.run({})))!.execution_timeout_ms), 600_000, 'default');
  t.equal(
    Number((await storedWith({})).execution_timeout_ms),
    7_000,
    'the setting of the endpoint is the default of its jobs',
  );
  t.equal(
    Number((await storedWith({ executionTimeout: 5_000 })).execution_timeout_ms),
    5_000,
    'overrides it for this job',
  );
  t.equal(Number((await storedWith({ executionTimeout: 7 * DAY_MS })).execution_timeout_ms), 7 * DAY_MS);
  for (const executionTimeout of [4_999, 7 * DAY_MS + 1, 0, -5_000]) await refused(t, { executionTimeout });
});

t.test('policy.ttl | default 86400000 ms; 10 seconds to 7 days', async (t) => {
  t.equal(Math.round((await storedWith({})).ttl_ms), DAY_MS, 'default');
  t.equal(Math.round((await storedWith({ ttl: 10_000 })).ttl_ms), 10_000);
  t.equal(Math.round((await storedWith({ ttl: 7 * DAY_MS })).ttl_ms), 7 * DAY_MS);
  for (const ttl of [9_999, 7 * DAY_MS + 1, 0, -10_000]) await refused(t, { ttl });
});

t.test('policy.lowPriority | default false; served after all normal jobs', async (t) => {
  t.equal((await storedWith({})).low_priority, false);
  t.equal((await storedWith({ lowPriority: true })).low_priority, true);
});

t.test('policy.lowPriority | the job does not trigger worker scaling', async (t) => {
  const asleep = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 1 }),
  );
  const low = await asleep.run({}, { policy: { lowPriority: true } });
  await waitFor(
    'the scaler to look at the endpoint',
    async () => (await jobs.call('POST', '/runsync', { input: {} })).status === 200,
  );
  t.match((await asleep.status(low)).json, { status: 'IN_QUEUE' });
  const normal = await asleep.run({});
  await asleep.reached(normal, 'COMPLETED');
  const [first, second] = [await asleep.reached(normal, 'COMPLETED'), await asleep.reached(low, 'COMPLETED')];
  t.ok(second.delayTime > first.delayTime, 'the later normal job woke a worker and was served first');
});

t.test('Webhook retries | 2 additional attempts, 10 s apart', async (t) => {
  const id = await jobs.run({}, { webhook: hooks.url('failing', 500) });
  for (let tries = 1; tries <= 3; tries += 1) {
    const call = await hooks.received('failing', tries);
    t.match(JSON.parse(call.body), { id, status: 'COMPLETED' }, `try ${tries}`);
    if (tries === 3) break;
    const wait = await waitFor(
      `try ${tries} to be recorded`,
      async () =>
        (
          await rows.sql<{ ms: number }[]>`
      SELECT extract(epoch FROM due_at - now())::float8 * 1000 AS ms FROM webhook_delivery WHERE job_id = ${id}
        AND tries = ${tries}
        AND last_error <> ''`
        )[0],
    );
    t.ok(wait.ms > 6_000 && wait.ms <= 10_500, `the next is due ${Math.round(wait.ms)} ms later`);
    await rows.sql`UPDATE webhook_delivery SET due_at = now() WHERE job_id = ${id}`;
  }
  await waitFor(
    'the delivery to be given up',
    async () => (await rows.sql`SELECT 1 FROM webhook_delivery WHERE job_id = ${id}`).length === 0,
  );
  t.equal(hooks.calls('failing').length, 3);
  t.match((await jobs.status(id)).json, { status: 'COMPLETED' }, 'the job does not mind');
});

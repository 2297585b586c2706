// test: postgres
/**
 * Every row of the error table in docs/reference/api.md#errors, and the shape of error bodies. A test is named after
 * its row.
 */

import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Test } from 'tap';
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { scratch } from '../../helpers/scratch.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import type { Answer } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';

const UNKNOWN_JOB = '00000000-0000-4000-8000-000000000000-u1';

const system = await startSystem(t);
const files = await scratch(t);
const rows = jobRows(t, system.database.url);
const command = jsHandler('all.js');
const jobs = endpointJobs(system, await system.createEndpoint({ command }));
const parked = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));

/**
 * Status, a text for people, a word for programs, and no `status` that the asyncio client would take for a job state.
 */
function checkError(t: Test, answer: Answer, status: number, code: string): void {
  t.equal(answer.status, status);
  t.match(answer.headers.get('content-type'), /^application\/json/);
  t.same(Object.keys(answer.json).sort(), ['code', 'error']);
  t.equal(answer.json.code, code);
  t.ok(answer.json.error.length > 5, answer.json.error);
}

t.test('400 | malformed request format or parameters', async (t) => {
  checkError(t, await jobs.call('POST', '/run', '{"input":'), 400, 'invalid_request');
  checkError(t, await jobs.call('POST', '/run', {}), 400, 'invalid_input');
  checkError(t, await jobs.call('POST', '/run', { input: {}, policy: { ttl: 1 } }), 400, 'invalid_policy');
  checkError(t, await jobs.call('POST', '/run', { input: {}, webhook: 'x' }), 400, 'invalid_webhook');
  checkError(t, await jobs.call('POST', '/runsync?wait=1', { input: {} }), 400, 'invalid_request');
});

t.test('401 | API key wrong or lacking permission', async (t) => {
  checkError(t, await jobs.call('GET', '/health', undefined, { authorization: 'Bearer wrong' }), 401, 'unauthorized');
});

t.test('404 | unknown endpoint id', async (t) => {
  checkError(t, await system.request('POST', '/v2/aaaaaaaaaaaaaa/run', { input: {} }), 404, 'endpoint_not_found');
});

t.test('404 | unknown job id', async (t) => {
  for (const [method, path] of [
    ['GET', 'status'],
    ['GET', 'status-sync'],
    ['GET', 'stream'],
    ['POST', 'cancel'],
    ['POST', 'retry'],
  ] as const) {
    checkError(t, await jobs.call(method, `/${path}/${UNKNOWN_JOB}`), 404, 'job_not_found');
  }
});

t.test('404 | a job whose ttl has expired, even if it was still running', async (t) => {
  const queued = await parked.run({});
  await rows.elapseTtl(queued);
  for (const [method, path] of [
    ['GET', 'status'],
    ['GET', 'status-sync'],
    ['GET', 'stream'],
    ['POST', 'cancel'],
    ['POST', 'retry'],
  ] as const) {
    checkError(t, await parked.call(method, `/${path}/${queued}`), 404, 'job_not_found');
  }
  const running = await jobs.run({ mode: 'until', file: files.path('never'), note: files.path('running') });
  await files.noted('running');
  await rows.elapseTtl(running);
  checkError(t, await jobs.status(running), 404, 'job_not_found');
});

t.test('404 | unknown route', async (t) => {
  for (const [method, path] of [
    ['GET', '/v2'],
    ['GET', `${jobs.base}`],
    ['POST', `${jobs.base}/launch`],
  ] as const) {
    const answer = await system.request(method, path);
    t.equal(answer.status, 404, `${method} ${path}`);
    t.match(answer.json, { code: 'not_found' }, `${method} ${path}`);
  }
});

t.test('429 | rate limit exceeded: with Retry-After', async (t) => {
  const limited = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }),
  );
  for (let i = 0; i < 2; i += 1) await limited.call('POST', '/purge-queue');
  const answer = await limited.call('POST', '/purge-queue');
  checkError(t, answer, 429, 'rate_limited');
  t.ok(Number(answer.headers.get('retry-after')) >= 1);
});

t.test('429 | queue too long: more than 50 jobs and more than 500 for each of workersMax', async (t) => {
  const full = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));
  for (let i = 0; i < 50; i += 1) await full.run({});
  let answer = await full.call('POST', '/run', { input: {} });
  // The bound is on what is queued already, and the count may be a moment old.
  for (let i = 0; i < 10 && answer.status === 200; i += 1) answer = await full.call('POST', '/run', { input: {} });
  checkError(t, answer, 429, 'queue_full');
  t.ok(Number(answer.headers.get('retry-after')) >= 1);
});

t.test('500 | worker may have crashed: on the OpenAI routes, where no job record can say so', async (t) => {
  const crashing = endpointJobs(system, await system.createEndpoint({ command: jsHandler('openai.js') }));
  const answer = await crashing.call('POST', '/openai/v1/chat/completions', {
    messages: [{ role: 'user', content: 'crash' }],
  });
  t.equal(answer.status, 500);
  t.match(answer.json, { error: { message: String, type: String } });
});

t.test('the other endpoint type | 400', async (t) => {
  const lb = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { type: EndpointType.LB, workersMin: 0 }, workersMax: 0 }),
  );
  checkError(t, await lb.call('POST', '/run', { input: {} }), 400, 'wrong_endpoint_type');
});

t.test('job-level failures are job records, not errors', async (t) => {
  const failed = await jobs.call('POST', '/runsync', { input: { mode: 'throw', message: 'no' } });
  t.equal(failed.status, 200);
  t.match(failed.json, { status: 'FAILED', error: /no/ });
});

t.test(
  'a job waiting in the queue stays there while no worker is available or the maximum worker count is reached',
  async (t) => {
    const id = await parked.run({});
    t.match((await parked.status(id)).json, { status: 'IN_QUEUE' });
    t.match((await parked.call('GET', `/status-sync/${id}?wait=1000`)).json, { status: 'IN_QUEUE' });
    t.equal((await parked.health()).workers.running, 0);
  },
);

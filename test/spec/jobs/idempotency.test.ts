// test: postgres, 10 s
/**
 * The Idempotency-Key header of /run and /runsync: the same key and body give the same job; another body is rejected.
 */
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const system = await startSystem(t);
const rows = jobRows(t, system.database.url);
const command = jsHandler('all.js');
const jobs = endpointJobs(system, await system.createEndpoint({ command }));
const parked = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));

const keyed = (key: string): Record<string, string> => ({ 'idempotency-key': key });

t.test('/run: the same key and body is the same job', async (t) => {
  const first = await parked.run({ n: 1 }, {}, keyed('a'));
  t.equal(await parked.run({ n: 1 }, {}, keyed('a')), first);
  t.not(await parked.run({ n: 1 }, {}, keyed('b')), first, 'another key, another job');
  t.not(await parked.run({ n: 1 }), first, 'no key, another job');
  t.equal(await rows.count(parked.id), 3);
});

t.test('/run: the same key with another body | 400 idempotency_key_reused', async (t) => {
  const first = await parked.run({ n: 1 }, {}, keyed('c'));
  for (const body of [
    { input: { n: 2 } },
    { input: { n: 1 }, policy: { lowPriority: true } },
    { input: { n: 1 }, webhook: 'http://example.com/' },
    { input: { n: 1 }, metadata: { order: '7' } },
  ]) {
    const answer = await parked.call('POST', '/run', body, keyed('c'));
    t.equal(answer.status, 400);
    t.match(answer.json, { code: 'idempotency_key_reused', error: String });
  }
  t.equal(await parked.run({ n: 1 }, {}, keyed('c')), first);
});

t.test('/run: a hundred at the same time make one job', async (t) => {
  const before = await rows.count(parked.id);
  const ids = await Promise.all(Array.from({ length: 100 }, () => parked.run({ n: 1 }, {}, keyed('rush'))));
  t.equal(new Set(ids).size, 1);
  t.equal(await rows.count(parked.id), before + 1);
});

t.test('/runsync: a repetition waits for the first job and gets its result', async (t) => {
  const body = { input: { mode: 'value', value: 'once' } };
  const [first, second] = await Promise.all([1, 2].map(() => jobs.call('POST', '/runsync', body, keyed('sync'))));
  t.match(first!.json, { status: 'COMPLETED', output: 'once' });
  t.same(second!.json, first!.json);
  t.same((await jobs.call('POST', '/runsync', body, keyed('sync'))).json, first!.json, 'also after it has finished');
});

t.test('a job that was finished, failed or cancelled is not run again', async (t) => {
  const failed = await jobs.run({ mode: 'throw', message: 'x' }, {}, keyed('failed'));
  await jobs.reached(failed, 'FAILED');
  t.equal(await jobs.run({ mode: 'throw', message: 'x' }, {}, keyed('failed')), failed);
  t.match((await jobs.status(failed)).json, { status: 'FAILED' });
});

t.test('a key belongs to its endpoint', async (t) => {
  const first = await parked.run({ n: 1 }, {}, keyed('shared'));
  t.not(await jobs.run({ n: 2 }, {}, keyed('shared')), first);
});

t.test('a key expires with its job', async (t) => {
  const first = await parked.run({ n: 1 }, {}, keyed('short'));
  await rows.elapseTtl(first);
  await rows.sql`UPDATE idempotency_key SET expires_at = now() WHERE job_id = ${first}`;
  await rows.removed(first);
  const second = await waitFor('the key to be free', () => parked.run({ n: 2 }, {}, keyed('short')));
  t.not(second, first);
});

t.test('keys of 1 to 255 characters | others 400', async (t) => {
  await parked.run({}, {}, keyed('k'.repeat(255)));
  for (const key of ['k'.repeat(256), '']) {
    const answer = await parked.call('POST', '/run', { input: {} }, keyed(key));
    t.equal(answer.status, 400, `${key.length} characters`);
    t.match(answer.json, { code: 'invalid_request' });
  }
});

t.test('keys are stored hashed', async (t) => {
  await parked.run({}, {}, keyed('a-telling-name'));
  const stored = await rows.sql<{ row: string }[]>`SELECT k::text AS row FROM idempotency_key k`;
  t.ok(stored.length > 0);
  for (const { row } of stored)
    t.notOk(row.includes('a-telling-name') || row.includes(Buffer.from('a-telling-name').toString('hex')));
});

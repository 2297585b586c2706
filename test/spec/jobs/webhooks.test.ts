// test: postgres, 30 s
/**
 * The completion webhook of docs/reference/api.md#webhooks: when, what, signed how, and whom it must never call. Tries
 * and pauses: limits.test.ts.
 */
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { webhookReceiver } from '../../helpers/net/webhook-receiver.ts';
import { scratch } from '../../helpers/scratch.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const system = await startSystem(t);
const files = await scratch(t);
const rows = jobRows(t, system.database.url);
const hooks = await webhookReceiver(t);
const command = jsHandler('all.js');
const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 2 }, workersMax: 2 }));
const parked = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));

/** Deliveries of a job that wait for their next try. */
async function pending(id: string): Promise<{ tries: number; last_error: string }[]> {
  return rows.sql`SELECT tries, last_error FROM webhook_delivery WHERE job_id = ${id}`;
}

t.test('the webhook gets a POST with the whole job record, its input, the webhook URL and its metadata', async (t) => {
  const webhook = hooks.url('completed');
  const metadata = { order: '1042', '"quoted"': 'é😀' };
  const id = await jobs.run({ mode: 'value', value: { text: 'é😀' } }, { webhook, metadata });
  const call = await hooks.received('completed');
  t.equal(call.method, 'POST');
  t.match(call.headers['content-type'], /^application\/json/);
  const record = await jobs.reached(id, 'COMPLETED');
  t.same(JSON.parse(call.body), { ...record, input: { mode: 'value', value: { text: 'é😀' } }, webhook, metadata });
  t.match(record, { id, status: 'COMPLETED', delayTime: Number, executionTime: Number });
  t.equal(call.headers['webhook-signature'], undefined, 'not signed without a secret');
});

t.test('every field equals that of /status, to the millisecond', async (t) => {
  type End = (name: string, id: string) => unknown;
  const ends: [status: string, end: End][] = [
    ['COMPLETED', (name) => files.open(name)],
    ['FAILED', (name) => files.open(name)],
    ['TIMED_OUT', (_name, id) => rows.elapseExecution(id)],
  ];
  // Exactly between two milliseconds there is more than one way to round: half of these meet each.
  for (const [place, waitedUs] of [500, 1_500, 2_500, 3_500, 4_500, 5_500].entries()) {
    const [status, end] = ends[place % ends.length]!;
    const name = `fraction-${waitedUs}`;
    const input = {
      mode: status === 'FAILED' ? 'fail-after' : 'until',
      file: files.path(name),
      note: files.path(`${name}-taken`),
    };
    const id = await jobs.run(input, { webhook: hooks.url(name) });
    await files.noted(`${name}-taken`);
    await rows.startedAfterUs(id, waitedUs);
    await end(name, id);
    const {
      input: _input,
      webhook: _webhook,
      ...told
    } = JSON.parse((await hooks.received(name)).body) as Record<string, unknown>;
    const { json } = await jobs.status(id);
    t.match(told, { id, status, workerId: String, delayTime: Number, executionTime: Number });
    t.same(told, json, `${status} after ${waitedUs} µs`);
  }
});

t.test('a large output is sent in full', async (t) => {
  await jobs.run({ mode: 'big', length: 3_000_000 }, { webhook: hooks.url('large') });
  const { output } = JSON.parse((await hooks.received('large')).body) as { output: string };
  t.equal(output.length, 3_000_000);
});

t.test('webhookV2 is used when webhook is absent', async (t) => {
  await jobs.run({}, { webhookV2: hooks.url('second') });
  t.match(JSON.parse((await hooks.received('second')).body), { status: 'COMPLETED', webhook: hooks.url('second') });
});

t.test('/runsync calls it too', async (t) => {
  const { json } = await jobs.call('POST', '/runsync', {
    input: { mode: 'value', value: 1 },
    webhook: hooks.url('sync'),
  });
  t.match(JSON.parse((await hooks.received('sync')).body), { id: json.id, status: 'COMPLETED', output: 1 });
});

t.test('the webhook is called for FAILED and TIMED_OUT, and not for CANCELLED, purged or expired jobs', async (t) => {
  await jobs.run({ mode: 'error', error: 'no colour' }, { webhook: hooks.url('failed') });
  t.match(JSON.parse((await hooks.received('failed')).body), {
    status: 'FAILED',
    error: 'no colour',
    workerId: String,
  });
  const late = await jobs.run(
    { mode: 'until', file: files.path('never'), note: files.path('late') },
    { webhook: hooks.url('late') },
  );
  await files.noted('late');
  await rows.elapseExecution(late);
  t.match(JSON.parse((await hooks.received('late')).body), { id: late, status: 'TIMED_OUT' });
  const cancelled = await parked.run({}, { webhook: hooks.url('cancelled') });
  await parked.call('POST', `/cancel/${cancelled}`);
  await parked.run({}, { webhook: hooks.url('purged') });
  await parked.call('POST', '/purge-queue');
  const expired = await parked.run({}, { webhook: hooks.url('expired') });
  await rows.elapseTtl(expired);
  await rows.removed(expired);
  t.same(await rows.sql`SELECT url FROM webhook_delivery WHERE endpoint_id = ${parked.id}`, [], 'no call is waiting');
  for (const name of ['cancelled', 'purged', 'expired']) t.equal(hooks.calls(name).length, 0, name);
});

t.test('one webhook per outcome: a retried job sends another', async (t) => {
  const input = { mode: 'fail-then', file: files.path('mended'), value: 2 };
  const id = await jobs.run(input, { webhook: hooks.url('twice') });
  t.match(JSON.parse((await hooks.received('twice', 1)).body), { id, status: 'FAILED' });
  files.open('mended');
  await jobs.call('POST', `/retry/${id}`);
  t.match(JSON.parse((await hooks.received('twice', 2)).body), { id, status: 'COMPLETED', output: 2 });
});

t.test('any 2xx is success, anything else is not; redirects are not followed', async (t) => {
  const good = await jobs.run({}, { webhook: hooks.url('created', 204) });
  await hooks.received('created');
  await waitFor('the delivery to be done', async () => (await pending(good)).length === 0);
  for (const status of [302, 404, 500]) {
    const id = await jobs.run({}, { webhook: hooks.url(`answer-${status}`, status) });
    await hooks.received(`answer-${status}`);
    const [delivery] = await waitFor('the failure to be recorded', async () => {
      const found = await pending(id);
      return found[0]?.last_error ? found : undefined;
    });
    t.match(delivery, { tries: 1, last_error: new RegExp(String(status)) });
  }
  t.equal(hooks.calls('redirected').length, 0);
});

t.test('a receiver that fails never keeps the job or other webhooks waiting', async (t) => {
  const unreachable = await jobs.run({}, { webhook: 'http://127.0.0.1:1/nobody' });
  await jobs.run({}, { webhook: hooks.url('meanwhile') });
  await hooks.received('meanwhile');
  t.match(await jobs.reached(unreachable, 'COMPLETED'), { status: 'COMPLETED' });
});

t.test("the request is signed with the endpoint's secret as Standard Webhooks", async (t) => {
  const webhookSecret = `whsec_${randomBytes(24).toString('base64')}`;
  const signed = endpointJobs(system, await system.createEndpoint({ command, fields: { webhookSecret } }));
  const id = await signed.run({ mode: 'value', value: 'x' }, { webhook: hooks.url('signed') });
  const { body, headers } = await hooks.received('signed');
  const flat = headers as Record<string, string>;
  t.match(new Webhook(webhookSecret).verify(body, flat), { id, status: 'COMPLETED' });
  t.throws(
    () => new Webhook(`whsec_${randomBytes(24).toString('base64')}`).verify(body, flat),
    'not with another secret',
  );
  t.throws(() => new Webhook(webhookSecret).verify(body.replace('COMPLETED', 'FAILED'), flat), 'not with another body');
});

t.test('retries of one event carry one id', async (t) => {
  const webhookSecret = `whsec_${randomBytes(24).toString('base64')}`;
  const signed = endpointJobs(system, await system.createEndpoint({ command, fields: { webhookSecret } }));
  const id = await signed.run({}, { webhook: hooks.url('again', 500) });
  const first = await hooks.received('again', 1);
  await waitFor('the failure to be recorded', async () => (await pending(id))[0]?.last_error);
  await rows.sql`UPDATE webhook_delivery SET due_at = now() WHERE job_id = ${id}`;
  const second = await hooks.received('again', 2);
  t.equal(second.headers['webhook-id'], first.headers['webhook-id']);
  t.equal(second.body, first.body);
});

t.test('a webhook that is no http(s) URL | 400 invalid_webhook', async (t) => {
  const before = await rows.count();
  for (const webhook of [
    'not a url',
    '',
    'ftp://example.com/x',
    'javascript:alert(1)',
    'file:///etc/passwd',
    '//example.com',
    'http://',
    5,
    true,
    {},
    [],
  ]) {
    const answer = await parked.call('POST', '/run', { input: {}, webhook });
    if (webhook === '') continue; // some clients send an empty text for "none"
    t.equal(answer.status, 400, JSON.stringify(webhook));
    t.match(answer.json, { code: 'invalid_webhook', error: String }, JSON.stringify(webhook));
  }
  t.ok((await rows.count()) - before <= 1, 'nothing was stored');
});

t.test('a webhook survives a restart of core and a receiver that was down', async (_t) => {
  const id = await jobs.run({}, { webhook: hooks.url('restart', 500) });
  await hooks.received('restart', 1);
  await waitFor('the failure to be recorded', async () => (await pending(id))[0]?.last_error);
  const [core] = system.cores;
  await core!.stop();
  await rows.sql`UPDATE webhook_delivery SET url = ${hooks.url('restart', 200)}, due_at = now() WHERE job_id = ${id}`;
  await system.startCore(core!.address);
  await hooks.received('restart', 2);
  await waitFor('the delivery to be done', async () => (await pending(id)).length === 0);
});

// test: postgres
/** Webhooks: the body, three tries 10 s apart that survive a restart, and calls made again on demand. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { webhookSecretIdentity } from '@slipway/core/domain/settings/sealed-identity';
import { REDRIVES_MAX } from '@slipway/core/jobs/change/redrive-webhook';
import t from 'tap';
import { outcome, refused, runningJob, startEngines } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { receiver, webhookDeliveries } from './webhook-deliveries.ts';

const engines = await startEngines(t, { replicas: 2, idle: true });
const { engine, sql, sealer } = engines;

const { deliverer, makeDue, waiting } = webhookDeliveries(engines);

t.test('the body is the record with input and webhook, byte for byte', async (t) => {
  const { url, received } = await receiver(t, 200);
  const endpointId = await engines.endpoint();
  const job = await runningJob(engines, endpointId, {
    webhook: url,
    input: Buffer.from('{"big": 12345678901234567890.10}'),
  });
  await engine.attempts.recordOutcome(outcome(job, { output: Buffer.from('[1e400, "ü"]') }));
  t.equal(await deliverer(t).runOnce(), 1);
  const [{ headers, body, method }] = received as [(typeof received)[0]];
  t.equal(method, 'POST');
  t.match(headers, { 'content-type': 'application/json', 'user-agent': /Slipway/ });
  t.notOk('webhook-signature' in headers, 'no secret, no signature');
  t.match(body, '"input":{"big": 12345678901234567890.10}');
  t.match(body, '"output":[1e400, "ü"]');
  const found = await engine.calls.get(job, { omitOutput: true, ttlMs: 0 });
  t.match(JSON.parse(body.replace('1e400', '1')), {
    id: found.id,
    status: 'COMPLETED',
    webhook: url,
    workerId: 'worker00000001',
    delayTime: Number,
    executionTime: Number,
  });
  t.same(await waiting(), [], 'nothing is left to do');
});

t.test('a job with a plaintext webhook of an earlier release is announced too', async (t) => {
  const { url, received } = await receiver(t, 500, 200);
  const endpointId = await engines.endpoint();
  const job = await runningJob(engines, endpointId, { webhook: url });
  await sql`UPDATE job_input SET webhook = ${url}, webhook_sealed = NULL WHERE endpoint_id = ${endpointId}`;
  await engine.attempts.recordOutcome(outcome(job, { output: Buffer.from('1') }));
  const one = deliverer(t);
  t.equal(await one.runOnce(), 1);
  await makeDue();
  t.equal(await one.runOnce(), 1);
  t.match(
    received.map(({ body }) => JSON.parse(body)),
    [
      { webhook: url, output: 1 },
      { webhook: url, output: 1 },
    ],
  );
  t.same(await waiting(), []);
});

t.test(
  'FAILED and TIMED_OUT are announced with their error, a cancelled job is not, a retried one again',
  async (t) => {
    const { url, received } = await receiver(t, 204);
    const endpointId = await engines.endpoint({ retry_limit: 0 });
    const failed = await runningJob(engines, endpointId, { webhook: url });
    await engine.attempts.recordOutcome(
      outcome(failed, { kind: 'FAILED', error: 'a "quoted"\n error', output: undefined }),
    );
    const cancelled = await runningJob(engines, endpointId, { webhook: url });
    await engine.calls.cancel(cancelled);
    await deliverer(t).runOnce();
    t.equal(received.length, 1);
    const record = JSON.parse(received[0]!.body) as Record<string, unknown>;
    t.match(record, { id: failed.jobId, status: 'FAILED', error: 'a "quoted"\n error' });
    t.notOk('output' in record);
    await engine.calls.retry(failed);
    const [again] = await engine.attempts.claim(endpointId, [{ endpointId, workerId: 'w', machineId: 'machine00001' }]);
    await engine.attempts.recordOutcome(outcome(again!));
    await deliverer(t).runOnce();
    t.match(JSON.parse(received[1]!.body), { id: failed.jobId, status: 'COMPLETED' });
  },
);

t.test('three tries, 10 s apart, through restarts and over two replicas; then given up', async (t) => {
  const { url, received } = await receiver(t, 500, 302, 404);
  const job = await runningJob(engines, await engines.endpoint(), { webhook: url });
  await engine.attempts.recordOutcome(outcome(job));
  t.equal(await deliverer(t).runOnce(), 1);
  for (const tries of [1, 2]) {
    const [row] = await waiting();
    t.match(row, { tries, last_error: /answered/ });
    t.ok(row!.dueMs > 5_000 && row!.dueMs <= 10_000, `the next try is due in ${Math.round(row!.dueMs)} ms`);
    t.equal(await deliverer(t).runOnce(), 0, 'not before');
    await makeDue();
    t.equal(
      (await Promise.all([deliverer(t).runOnce(), deliverer(t).runOnce()])).reduce((a, b) => a + b),
      1,
      'one replica makes it',
    );
  }
  t.equal(received.length, 3, 'a redirect is not followed and counts as a failure');
  t.same(await waiting(), [], 'given up');
  t.equal((await engine.calls.get(job, { omitOutput: true, ttlMs: 0 })).state, 'COMPLETED', 'the job does not care');
  t.match(await engine.calls.webhooks(job), [
    { state: 'GIVEN_UP', tries: 3, lastError: 'the receiver answered 404', endedAtMs: Number, redrives: 0 },
  ]);
});

t.test('an ended call is redriven under its id: once however many ask, and boundedly', async (t) => {
  const { url, received } = await receiver(t, 500, 500, 500, 200);
  const endpointId = await engines.endpoint();
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  await sql`UPDATE endpoint
      SET webhook_secret_sealed = ${sealer.seal(Buffer.from(secret), webhookSecretIdentity(endpointId))}
        WHERE id = ${endpointId}`;
  const job = await runningJob(engines, endpointId, { webhook: url });
  await refused(t, engine.calls.redriveWebhook(job), 'WEBHOOK_NOT_REDRIVABLE', 'a job that runs');
  await engine.attempts.recordOutcome(outcome(job, { output: Buffer.from('[1, 2]') }));
  t.match(
    await engine.calls.redriveWebhook(job),
    { state: 'WAITING', redrives: 0 },
    'one that is still to be made is not ordered again',
  );
  const one = deliverer(t);
  for (let tries = 0; tries < 3; tries += 1) {
    await makeDue();
    await one.runOnce();
  }
  const [ended] = await engine.calls.webhooks(job);
  t.match(ended, { state: 'GIVEN_UP' });
  const asked = await Promise.all(Array.from({ length: 5 }, () => engine.calls.redriveWebhook(job)));
  t.same(
    asked.map(({ id, redrives }) => [id, redrives]),
    Array.from({ length: 5 }, () => [ended!.id, 1]),
  );
  t.equal((await waiting()).length, 1);
  await makeDue();
  t.equal(await one.runOnce(), 1);
  t.same(
    new Set(received.map(({ headers }) => headers['webhook-id'])),
    new Set([`${job.jobId}.${ended!.id}`]),
    'a receiver can tell that it is the same',
  );
  t.same(received[3]!.body, received[0]!.body, 'byte for byte');
  t.match(await engine.calls.webhooks(job), [
    { id: ended!.id, state: 'DELIVERED', tries: 1, lastError: '', redrives: 1 },
  ]);
  t.match(
    await engine.calls.redriveWebhook(job),
    { state: 'WAITING', redrives: 2 },
    'what was delivered may have been lost there',
  );
  await makeDue();
  await one.runOnce();
  await sql`UPDATE webhook_result SET redrives = ${REDRIVES_MAX} WHERE job_id = ${job.jobId}`;
  await refused(t, engine.calls.redriveWebhook(job), 'WEBHOOK_NOT_REDRIVABLE', 'too often');
  await sql`UPDATE job SET expires_at = now() - interval '1 s' WHERE id = ${job.jobId}`;
  await refused(t, engine.calls.webhooks(job), 'JOB_NOT_FOUND', 'what has expired');
  await refused(t, engine.calls.redriveWebhook(job), 'JOB_NOT_FOUND', 'what has expired');
  await engines.stores.deletions.reapExpired(10);
  t.same(await sql`SELECT FROM webhook_result WHERE job_id = ${job.jobId}`, [], 'it goes with its job');
  const silent = await runningJob(engines, endpointId, {});
  await engine.attempts.recordOutcome(outcome(silent));
  await refused(t, engine.calls.redriveWebhook(silent), 'WEBHOOK_NOT_REDRIVABLE', 'a job without a webhook');
});

t.test('a late replica ends its own call, not the redriven one', async (t) => {
  const { url } = await receiver(t, 200);
  const job = await runningJob(engines, await engines.endpoint(), { webhook: url });
  await engine.attempts.recordOutcome(outcome(job));
  const none = { endpointIds: [], accountIds: [] };
  const [late] = await engines.stores.webhooks.takeDue(10, 60_000, none);
  await makeDue();
  t.equal(await deliverer(t).runOnce(), 1, 'another replica was faster');
  await engine.calls.redriveWebhook(job);
  await engines.stores.webhooks.end(late!, undefined);
  t.equal((await waiting()).length, 1, 'what was acknowledged is still to be made');
  await sql`DELETE FROM webhook_delivery`;
});

t.test('a try interrupted by a stop is repeated and not counted', async (t) => {
  let arrived: () => void = () => undefined;
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const server = createServer(() => arrived());
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const job = await runningJob(engines, await engines.endpoint(), {
    webhook: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  });
  await engine.attempts.recordOutcome(outcome(job));
  const stopped = deliverer(t);
  await stopped.start();
  await arrival;
  await stopped.stop();
  const [row] = await waiting();
  t.match(row, { tries: 0 });
  t.ok(row!.dueMs <= 0, 'due at once for whoever comes next');
  await sql`DELETE FROM webhook_delivery`;
});

t.test(
  'an unresponsive receiver delays neither other endpoints nor other accounts, however long its queue',
  async (t) => {
    // One host for all calls, which must not wait for its connections.
    const counts = { '/mine': 0, '/others': 0 };
    const server = createServer(({ url }, response) => {
      if (url !== '/mine' && url !== '/others') return;
      counts[url] += 1;
      response.end();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    t.teardown(
      () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    );
    const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const silent = `${host}/`;
    const order = (endpointId: string, url: string, count: number) => sql`
    INSERT INTO webhook_delivery (endpoint_id, job_id, url, body)
    SELECT ${endpointId}, 'job', ${url}, '{}' FROM generate_series(1, ${count}::int)`;
    // Four endpoints of one account, enough for all calls at once that there may be.
    for (let i = 0; i < 4; i += 1) await order(await engines.endpoint(), silent, 3_000);
    // And of a second account: together they would have all of them, with half for each.
    await sql`INSERT INTO account (id, name) VALUES ('another', 'another'), ('second', 'second')`;
    await sql`INSERT INTO template (id, account_id, name) VALUES ('others', 'another', 'others'),
      ('seconds', 'second', 'seconds')`;
    for (let i = 0; i < 2; i += 1)
      await order(await engines.endpoint({ account_id: 'second', template_id: 'seconds' }), silent, 3_000);
    await order(await engines.endpoint({ account_id: 'another', template_id: 'others' }), `${host}/others`, 3);
    const slow = deliverer(t);
    await slow.start();
    await waitFor('the calls of another account', () => counts['/others'] === 3, 10_000);
    await slow.stop();
    await sql`DELETE FROM webhook_delivery`;
    await order(await engines.endpoint(), silent, 3_000);
    await order(await engines.endpoint(), `${host}/mine`, 3);
    const next = deliverer(t);
    await next.start();
    await waitFor('the calls of another endpoint', () => counts['/mine'] === 3, 10_000);
    await next.stop();
    await sql`DELETE FROM webhook_delivery`;
  },
);

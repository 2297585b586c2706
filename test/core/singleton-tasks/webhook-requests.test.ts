// test: postgres
/**
 * The request of a webhook: its signature and authorization, the authorities that count for https, and targets that are
 * private.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, createServer as createConnectionServer } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { PrivateWebhooks } from '@slipway/core/domain/jobs/webhook-url';
import { webhookSecretIdentity } from '@slipway/core/domain/settings/sealed-identity';
import { WebhookCaller } from '@slipway/core/singleton-tasks/webhook-caller';
import { authorityFile } from '@slipway/kit/net/renewed-files';
import { systemClock } from '@slipway/kit/time/clock';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { outcome, runningJob, startEngines } from '../../helpers/system/job-engine.ts';
import { receiver, webhookDeliveries } from './webhook-deliveries.ts';

const never = new AbortController().signal;

const engines = await startEngines(t, { replicas: 2, idle: true });
const { engine, sql, sealer } = engines;

const opensslSkip = spawnSync('openssl', ['version']).status === 0 ? false : 'needs openssl';

const { deliverer, makeDue, waiting } = webhookDeliveries(engines);

t.test('signed as Standard Webhooks has it, when the endpoint has a secret', async (t) => {
  const { url, received } = await receiver(t, 200);
  const secret = `whsec_${Buffer.from('a secret of 24 bytes ...').toString('base64')}`;
  const endpointId = await engines.endpoint();
  await sql`UPDATE endpoint
    SET webhook_secret_sealed = ${sealer.seal(Buffer.from(secret), webhookSecretIdentity(endpointId))}
      WHERE id = ${endpointId}`;
  const job = await runningJob(engines, endpointId, { webhook: url });
  await engine.attempts.recordOutcome(outcome(job, { output: Buffer.from('"ü"') }));
  await deliverer(t).runOnce();
  const { body, headers } = received[0]!;
  t.match(new Webhook(secret).verify(body, headers as Record<string, string>), { id: job.jobId });
  t.throws(() => new Webhook(secret).verify(body.replace('ü', 'u'), headers as Record<string, string>));
});

t.test('calls of a deleted endpoint with a secret are not sent unsigned; without a secret they are sent', async (t) => {
  const { url, received } = await receiver(t, 500, 500, 200);
  const store = engines.stores.endpoints;
  const plain = await engines.endpoint();
  const signing = await engines.endpoint();
  await sql`UPDATE endpoint
      SET webhook_secret_sealed = ${sealer.seal(Buffer.from('whsec_AAAA'), webhookSecretIdentity(signing))}
        WHERE id = ${signing}`;
  const { account_id: accountId } = (
    await sql<{ account_id: string }[]>`SELECT account_id FROM endpoint WHERE id = ${plain}`
  )[0]!;
  for (const endpointId of [plain, signing]) {
    await engine.attempts.recordOutcome(outcome(await runningJob(engines, endpointId, { webhook: url })));
  }
  const one = deliverer(t);
  await one.runOnce();
  t.equal(received.length, 2);
  for (const endpointId of [plain, signing]) await store.remove(endpointId, { accountId, keyId: '' }, () => undefined);
  await makeDue();
  await one.runOnce();
  t.same(
    received.slice(2).map(({ headers }) => 'webhook-signature' in headers),
    [false],
    'the one that never was signed',
  );
  t.same(await waiting(), [], 'nothing is left');
});

t.test('user and password of an address are sent as Basic authorization, and not in the path', async (t) => {
  const { url, received } = await receiver(t, 200);
  const endpointId = await engines.endpoint();
  for (const user of ['us%40er:p%3Ass', 'only', ':word', 'half%:x']) {
    const job = await runningJob(engines, endpointId, { webhook: url.replace('//', `//${user}@`) });
    await engine.attempts.recordOutcome(outcome(job));
    await deliverer(t).runOnce();
  }
  const sent = received.map(({ headers }) =>
    Buffer.from(headers.authorization?.replace(/^Basic /, '') ?? '', 'base64').toString(),
  );
  t.same(sent, ['us@er:p:ss', 'only:', ':word', 'half%:x']);
});

t.test('a receiver that first sends 1xx responses that nobody asked for is called once', async (t) => {
  await sql`DELETE FROM webhook_delivery`;
  const { url, received } = await receiver(t, 200);
  const { port } = new URL(url);
  const early = createConnectionServer((socket) => {
    const upstream = connect(Number(port), '127.0.0.1');
    socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n');
    socket.pipe(upstream).pipe(socket);
    for (const end of [socket, upstream]) end.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => {
    early.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => early.close());
  const webhook = url.replace(port, String((early.address() as AddressInfo).port));
  await engine.attempts.recordOutcome(outcome(await runningJob(engines, await engines.endpoint(), { webhook })));
  await deliverer(t).runOnce();
  t.equal(received.length, 1);
  t.same(await waiting(), [], 'it is delivered');
});

t.test('a long answer is not read to its end, and one that breaks off is a failure', async (t) => {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-length': 1_000_000 }).write('x'.repeat(request.url === '/long' ? 100_000 : 10));
    if (request.url !== '/long') request.resume().on('end', () => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const caller = new WebhookCaller(systemClock);
  t.teardown(() => caller.close());
  const call = { body: Buffer.from('{}'), id: 'x', secret: undefined, nowMs: 0, allowPrivate: true, owner: '' };
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.equal(await caller.call({ ...call, url: `${base}/long` }, never), undefined);
  t.match(await caller.call({ ...call, url: `${base}/broken` }, never), /aborted|ECONNRESET/);
  const stopped = AbortSignal.abort(new Error('the process stops'));
  t.equal(await caller.call({ ...call, url: `${base}/long` }, stopped), 'the process stops');
});

t.test('an authority of the operator is trusted for https, and no other', { skip: opensslSkip }, async (t) => {
  const folder = t.testdir();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      key,
      '-out',
      cert,
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost',
    ],
    { stdio: 'ignore' },
  );
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) =>
    request.resume().on('end', () => response.end()),
  );
  await new Promise<void>((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const url = `https://localhost:${(server.address() as AddressInfo).port}/`;
  const call = { url, body: Buffer.from('{}'), id: 'x', secret: undefined, nowMs: 0, allowPrivate: true, owner: '' };
  const stranger = new WebhookCaller(systemClock);
  t.teardown(() => stranger.close());
  t.match(await stranger.call(call, never), /certificate/);

  await t.test('a renewed file applies without a restart; an unusable one leaves the previous', async (t) => {
    const file = join(folder, 'authorities.pem');
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-keyout',
        join(folder, 'other.key'),
        '-out',
        file,
        '-days',
        '2',
        '-subj',
        '/CN=other',
      ],
      { stdio: 'ignore' },
    );
    const caller = new WebhookCaller(systemClock, authorityFile(file));
    t.teardown(() => caller.close());
    t.match(await caller.call(call, never), /certificate/, 'another authority');
    copyFileSync(cert, file);
    t.equal(await caller.call(call, never), undefined);
    writeFileSync(file, 'half a file');
    t.equal(await caller.call(call, never), undefined);
  });
});

t.test('a private target is refused at the call too, however it is written', async (t) => {
  const { url, received } = await receiver(t, 200);
  const { port } = new URL(url);
  const caller = new WebhookCaller(systemClock);
  t.teardown(() => caller.close());
  // A name that passes every check of its text and resolves to this machine only at the time of the request.
  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '10.0.0.1',
    '169.254.169.254',
    hostname(),
  ]) {
    const call = {
      url: `http://${host}:${port}/`,
      body: Buffer.from('{}'),
      id: 'x',
      secret: undefined,
      nowMs: 0,
      allowPrivate: false,
      owner: '',
    };
    const failure = await caller.call(call, never);
    t.match(failure, /private|ENOTFOUND|EAI_AGAIN/, host);
  }
  t.equal(received.length, 0, 'nothing was sent');
  const job = await runningJob(engines, await engines.endpoint(), { webhook: url });
  await engine.attempts.recordOutcome(outcome(job));
  await deliverer(t, false).runOnce();
  t.match(await waiting(), [{ tries: 1, last_error: 'the address is private' }]);
});

t.test('a private target is called for the accounts that may, as they are at the call', async (t) => {
  await sql`DELETE FROM webhook_delivery`;
  const { url, received } = await receiver(t, 200);
  await sql`INSERT INTO account (id, name) VALUES ('someone', 'Some One') ON CONFLICT DO NOTHING`;
  const deliver = async (
    endpointId: string,
    rule: PrivateWebhooks,
    whenOrdered: () => Promise<unknown> = async () => undefined,
  ) => {
    const job = await runningJob(engines, endpointId, { webhook: url });
    await engine.attempts.recordOutcome(outcome(job));
    await whenOrdered();
    await deliverer(t, rule).runOnce();
    const [refused] = await sql<{ last_error: string }[]>`DELETE FROM webhook_delivery RETURNING last_error`;
    return refused?.last_error ?? 'delivered';
  };
  const theirs = () => engines.endpoint({ account_id: 'someone' });
  t.equal(await deliver(await theirs(), ['someone']), 'delivered', 'by id');
  t.equal(await deliver(await theirs(), ['other', 'Some One']), 'delivered', 'by name');
  t.equal(
    await deliver(await engines.endpoint(), ['someone', 'Some One']),
    'the address is private',
    'another account',
  );
  const doomed = await theirs();
  t.equal(
    await deliver(doomed, ['someone'], () => sql`DELETE FROM endpoint WHERE id = ${doomed}`),
    'the address is private',
    'nobody knows whose it was',
  );
  t.equal(received.length, 2);
});

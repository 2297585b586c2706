// test: postgres, 10 s
/** Webhooks never reach into the operator's own network, but for the accounts that the operator allows it. */
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { webhookReceiver } from '../../helpers/net/webhook-receiver.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const system = await startSystem(t, { coreEnv: { SLIPWAY_WEBHOOK_ALLOW_PRIVATE: 'trusted, another' } });
const rows = jobRows(t, system.database.url);
const hooks = await webhookReceiver(t);
const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js') }));

/** Every way to write an address that is not public. */
const PRIVATE = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '0.0.0.0',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[fe80::1]',
  '[fc00::1]',
  '[64:ff9b::7f00:1]',
];

t.test('private addresses | 400 invalid_webhook', async (t) => {
  for (const host of PRIVATE) {
    const answer = await jobs.call('POST', '/run', { input: {}, webhook: `http://${host}:${hooks.port}/200/literal` });
    t.equal(answer.status, 400, host);
    t.match(answer.json, { code: 'invalid_webhook' }, host);
  }
  t.equal(await rows.count(), 0, 'nothing was stored');
});

t.test('a public address is accepted', async (t) => {
  // 192.0.2.0/24 and the name are reserved for documentation: no server answers there.
  const answer = await jobs.call('POST', '/run', { input: {}, webhook: 'https://example.com/hook' });
  t.equal(answer.status, 200);
  await jobs.reached(answer.json.id, 'COMPLETED');
});

t.test('a name that resolves to a private address is not called', async (t) => {
  const webhook = `http://localhost:${hooks.port}/200/by-name`;
  const answer = await jobs.call('POST', '/run', { input: {}, webhook });
  if (answer.status === 200) {
    await jobs.reached(answer.json.id, 'COMPLETED');
    const delivery = await waitFor(
      'the refusal to be recorded',
      async () =>
        (
          await rows.sql<{ last_error: string }[]>`
      SELECT last_error FROM webhook_delivery WHERE job_id = ${answer.json.id} AND last_error <> ''`
        )[0],
    );
    t.match(delivery.last_error, /private|not public|refused|not allowed/i);
  } else t.match(answer.json, { code: 'invalid_webhook' });
  t.equal(hooks.calls('by-name').length, 0);
  t.equal(hooks.calls('literal').length, 0);
});

t.test('an account that the operator allows may call private addresses', async (t) => {
  const { accountId } = await call(system.clients.access, 'createAccount', { name: 'trusted' }, system.rootKey);
  const key = await system.newKey(undefined, accountId);
  const trusted = endpointJobs(
    { request: publicRequest(system.url, key) },
    await system.createEndpoint({ command: jsHandler('all.js'), key }),
  );
  const id = await trusted.run({}, { webhook: hooks.url('trusted') });
  t.match(JSON.parse((await hooks.received('trusted')).body), { id, status: 'COMPLETED' });
  t.match(
    (await jobs.call('POST', '/run', { input: {}, webhook: hooks.url('trusted') })).json,
    { code: 'invalid_webhook' },
    'the other one still may not',
  );
});

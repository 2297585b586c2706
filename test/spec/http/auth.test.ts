// test: postgres, 10 s
/** docs/reference/api.md#keys: who may call the queue operations, and what a key sees of other accounts. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import type { Answer } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const system = await startSystem(t);
const rows = jobRows(t, system.database.url);
const command = jsHandler('all.js');
const jobs = endpointJobs(system, await system.createEndpoint({ command }));
const finished = await jobs.run({ mode: 'value', value: 'private' });
await jobs.reached(finished, 'COMPLETED');

/** Every queue operation on the endpoint, with what it needs to succeed. */
const READS = [
  ['GET', `/status/${finished}`],
  ['POST', `/status/${finished}`],
  ['GET', `/status-sync/${finished}`],
  ['GET', `/stream/${finished}`],
  ['GET', '/health'],
  ['GET', '/requests'],
] as const;
const WRITES = [
  ['POST', '/run'],
  ['POST', '/runsync'],
  ['POST', `/cancel/${finished}`],
  ['POST', `/retry/${finished}`],
  ['POST', '/purge-queue'],
  ['POST', '/openai/v1/chat/completions'],
] as const;

/** Sends with exactly these headers. */
async function ask(method: string, path: string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(`${system.url}${jobs.base}${path}`, {
    method,
    headers,
    ...(method === 'POST' ? { body: '{"input":{}}' } : {}),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) as Answer['json'] };
}

function checkRefused(t: Test, answer: Answer, text: string): void {
  t.equal(answer.status, 401, text);
  if (text.includes('/openai/')) t.match(answer.json, { error: { message: String, code: 'unauthorized' } }, text);
  else t.match(answer.json, { error: String, code: 'unauthorized' }, text);
  t.notMatch(answer.text, system.key, `${text}: echoes no key`);
}

t.test('the key is taken from the authorization header with the Bearer prefix or bare', async (t) => {
  for (const authorization of [`Bearer ${system.key}`, system.key, `bearer ${system.key}`, `Bearer  ${system.key}`]) {
    t.equal((await ask('GET', '/health', { authorization })).status, 200, authorization.replace(system.key, '<key>'));
  }
});

t.test('an invalid key or none | 401 on every operation', async (t) => {
  const before = await rows.count();
  for (const [method, path] of [...READS, ...WRITES]) {
    checkRefused(t, await ask(method, path, {}), `${method} ${path} without a key`);
    checkRefused(
      t,
      await ask(method, path, { authorization: 'Bearer not-a-key' }),
      `${method} ${path} with a wrong key`,
    );
  }
  t.equal(await rows.count(), before, 'nothing was stored');
});

t.test('malformed keys | 401', async (t) => {
  const wrong = [
    'Bearer',
    'Bearer ',
    'Basic dTpw',
    `Basic ${system.key}`,
    `${system.key}x`,
    system.key.slice(0, -1),
    'null',
    'x'.repeat(8_000),
    'Bearer a b',
  ];
  for (const authorization of wrong)
    checkRefused(t, await ask('GET', '/health', { authorization }), authorization.slice(0, 40));
});

t.test('a wrong key learns nothing about what exists | 401 before 404', async (t) => {
  const response = await fetch(`${system.url}/v2/aaaaaaaaaaaaaa/status/x`, {
    headers: { authorization: 'Bearer not-a-key' },
  });
  t.equal(response.status, 401);
});

t.test('a key without permission | 401: read-only keys read and change nothing', async (t) => {
  const authorization = `Bearer ${await system.newKey(KeyScope.READ_ONLY)}`;
  for (const [method, path] of READS)
    t.equal((await ask(method, path, { authorization })).status, 200, `${method} ${path}`);
  const before = await rows.count();
  for (const [method, path] of WRITES) checkRefused(t, await ask(method, path, { authorization }), `${method} ${path}`);
  checkRefused(t, await ask('GET', `/status/${finished}?ttl=1000`, { authorization }), 'setting a ttl is a change');
  t.equal(await rows.count(), before, 'nothing was stored');
  t.match((await jobs.status(finished)).json, { status: 'COMPLETED' });
});

t.test('a key without permission | 401: keys of agents are no API keys', async (t) => {
  checkRefused(t, await ask('POST', '/run', { authorization: `Bearer ${system.agentKey}` }), 'agent key');
  checkRefused(t, await ask('GET', '/health', { authorization: `Bearer ${system.agentKey}` }), 'agent key, reading');
});

t.test('a key for single endpoints reaches only them', async (t) => {
  const other = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 } }));
  const authorization = `Bearer ${await system.newKey(KeyScope.ALL, system.accountId, [other.id])}`;
  t.equal((await other.call('GET', '/health', undefined, { authorization })).status, 200);
  checkRefused(t, await jobs.call('POST', '/run', { input: {} }, { authorization }), 'run elsewhere');
  checkRefused(t, await jobs.call('GET', `/status/${finished}`, undefined, { authorization }), 'status elsewhere');
});

t.test('keys of another account | 404 on every operation, as if the endpoint did not exist', async (t) => {
  const { accountId } = await call(system.clients.access, 'createAccount', { name: 'stranger' }, system.rootKey);
  const stranger = await system.newKey(KeyScope.ALL, accountId);
  const authorization = `Bearer ${stranger}`;
  const before = await rows.count();
  for (const [method, path] of [...READS, ...WRITES]) {
    const answer = await ask(method, path, { authorization });
    t.equal(answer.status, 404, `${method} ${path}`);
    t.notMatch(answer.text, 'private', `${method} ${path}`);
    const unknown = await fetch(`${system.url}/v2/aaaaaaaaaaaaaa${path}`, {
      method,
      headers: { authorization },
      ...(method === 'POST' ? { body: '{}' } : {}),
    });
    t.equal(await unknown.text(), answer.text, `${method} ${path}: no difference to an unknown endpoint`);
  }
  t.equal(await rows.count(), before, 'nothing was stored');
  t.match((await jobs.status(finished)).json, { status: 'COMPLETED' }, 'nothing was changed');
});

t.test('a job of another endpoint of the same account | 404', async (t) => {
  const other = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 } }));
  for (const [method, path] of [
    ['GET', 'status'],
    ['POST', 'cancel'],
    ['POST', 'retry'],
    ['GET', 'stream'],
  ] as const) {
    const answer = await other.call(method, `/${path}/${finished}`);
    t.equal(answer.status, 404, path);
    t.match(answer.json, { code: 'job_not_found' });
  }
});

t.test('a revoked key stops working', async (t) => {
  const { key, secret } = await call(
    system.clients.keys,
    'createKey',
    {
      name: 'short-lived',
      scope: KeyScope.ALL,
      endpointIds: [],
      accountId: system.accountId,
      permissions: undefined,
    },
    system.rootKey,
  );
  const authorization = `Bearer ${secret}`;
  t.equal((await ask('GET', '/health', { authorization })).status, 200);
  t.equal((await ask('POST', '/run', { authorization })).status, 200);
  await call(system.clients.keys, 'revokeKey', { id: key!.id }, system.key);
  await waitFor('the key to stop', async () => {
    const answers = await Promise.all([
      ask('GET', '/health', { authorization }),
      ask('POST', '/purge-queue', { authorization }),
    ]);
    return answers.every(({ status }) => status === 401);
  });
});

t.test('a revoked key ends the calls and streams that it opened', async (t) => {
  const { key, secret } = await call(
    system.clients.keys,
    'createKey',
    {
      name: 'leaked',
      scope: KeyScope.ALL,
      endpointIds: [],
      accountId: system.accountId,
      permissions: undefined,
    },
    system.rootKey,
  );
  const silent = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }),
  );
  const id = await silent.run({});
  const send = (method: string, path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${system.url}${silent.base}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...headers },
      ...(method === 'POST' ? { body: '{"input":{}}' } : {}),
    });
  const feed = await send('GET', `/stream/${id}`, { accept: 'text/event-stream' });
  const waiting = [
    send('POST', '/runsync?wait=300000'),
    send('GET', `/status-sync/${id}?wait=300000`),
    send('GET', `/stream/${id}?wait=300000`),
  ];
  const completion = send('POST', '/openai/v1/chat/completions');
  await waitFor('the jobs', async () => (await silent.health()).jobs.inQueue === 3);
  await call(system.clients.keys, 'revokeKey', { id: key!.id }, system.key);
  const text = await feed.text();
  t.match(text, /event: error\ndata: \{"error":".*","code":"unauthorized"\}/);
  t.notMatch(text, 'keep-alive', 'before it would have been told that there is nothing new');
  for (const answer of await Promise.all(waiting))
    t.match([answer.status, await answer.json()], [401, { code: 'unauthorized' }]);
  t.match([(await completion).status, await (await completion).json()], [401, { error: { code: 'unauthorized' } }]);
});

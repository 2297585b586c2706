// test: postgres, 15 s
/**
 * The rules that every operation of REST v2 keeps, asked of each by the document: keys, methods, unknown members,
 * pages, rates, reserved words, creations whose response is lost.
 */

import { REST_V2_WORDS } from '@slipway/facades/plugins/errors/rest-v2-words';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { cuttingProxy } from '../../helpers/net/cutting-proxy.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';

interface Described {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        security?: object[];
        parameters?: { name: string; in: string }[];
        requestBody?: { content: { 'application/json': { schema: { $ref: string } } } };
        responses: Record<string, { content?: Record<string, { schema?: { $ref?: string } }> }>;
      }
    >
  >;
}

t.setTimeout(600_000);

const PROBLEM = /^application\/problem\+json/;
const database = new URL((await createDatabase(t)).url);
const proxy = await cuttingProxy(t, { host: database.hostname, port: Number(database.port) });
database.port = String(proxy.port);
const system = await startSystem(t, { agents: 0, coreEnv: { SLIPWAY_DATABASE_URL: database.href } });
const { request, url, key } = system;
const document = (await request('GET', '/v2/openapi.json')).json as unknown as Described;
const withoutKey = publicRequest(url, '');
const unknownKey = publicRequest(url, 'nobody-has-this-key');
const readOnly = publicRequest(url, await system.newKey(KeyScope.READ_ONLY));
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...operation,
    method: method.toUpperCase(),
    path: path.replaceAll(/\{\w+\}/g, 'nothing'),
    methods: Object.keys(methods).map((each) => each.toUpperCase()),
  })),
);
const keyed = operations.filter(({ security }) => security?.length !== 0);

t.test('a missing or unknown key is 401 before anything else is checked', async (t) => {
  for (const { operationId, method, path, requestBody } of keyed) {
    const body = requestBody && { no: 'such member' };
    for (const ask of [withoutKey, unknownKey]) {
      const { status, headers, json } = await ask(method, path, body);
      t.equal(status, 401, operationId);
      t.match(headers.get('content-type'), PROBLEM);
      t.match(json, { title: 'Unauthorized', status: 401, detail: /\w/ });
      t.notOk(headers.get('ratelimit'), 'what a key has left is told to that key');
    }
  }
});

t.test('a key in the query is not accepted', async (t) => {
  t.equal((await withoutKey('GET', `/v2/templates?api_key=${key}`)).status, 401);
});

t.test('another method is 405 with the allowed ones', async (t) => {
  for (const { path, methods } of new Map(keyed.map((each) => [each.path, each])).values()) {
    const wrong = ['PUT', 'DELETE', 'PATCH', 'POST'].find((method) => !methods.includes(method))!;
    const { status, headers, json } = await request(wrong, path);
    t.equal(status, 405, `${wrong} ${path}`);
    t.match(headers.get('content-type'), PROBLEM);
    for (const method of methods) t.ok(headers.get('allow')?.split(', ').includes(method), `${path} allows ${method}`);
    t.match(json, { title: 'Method Not Allowed', status: 405 });
  }
});

t.test('an unknown member is 422 and named; null is not left out', async (t) => {
  for (const { operationId, method, path } of keyed.filter(({ requestBody }) => requestBody)) {
    const unknown = await request(method, path, { templateID: 'x' });
    t.equal(unknown.status, 422, operationId);
    t.ok(
      (unknown.json['errors'] as string[]).includes("$: additional properties 'templateID' not allowed"),
      `${operationId}: ${unknown.text}`,
    );
    const nothing = await request(method, path, { name: null, action: null, keys: null, username: null });
    t.equal(nothing.status, 422, `${operationId} with null`);
    t.equal((await request(method, path, [])).status, 400, `${operationId} with a list`);
    t.equal((await request(method, path, '{')).status, 400, `${operationId} with broken JSON`);
  }
});

t.test('an unknown id is a 404 problem, and an unknown query parameter is ignored', async (t) => {
  for (const { operationId, method, path, requestBody } of keyed.filter(
    ({ responses, ...each }) => '404' in responses && each.method !== 'PATCH',
  )) {
    if (requestBody) continue;
    const { status, json, headers } = await request(method, `${path}?nothing=1`);
    t.equal(status, 404, `${operationId}: ${JSON.stringify(json)}`);
    t.match(headers.get('content-type'), PROBLEM);
  }
});

t.test('a key without permission is 403', async (t) => {
  const made = (await request('POST', '/v2/templates', { name: 'seen', image: 'a/b:1', serverless: true })).json;
  t.equal((await readOnly('GET', `/v2/templates/${made.id}`)).status, 200);
  for (const [method, path, body] of [
    ['DELETE', `/v2/templates/${made.id}`],
    ['PATCH', `/v2/templates/${made.id}`, { name: 'other' }],
    ['POST', '/v2/registries', { name: 'r', username: 'u', password: 'p' }],
  ] as const) {
    const { status, json } = await readOnly(method, path, body);
    t.equal(status, 403, `${method} ${path}`);
    t.match(json, { title: 'Forbidden', status: 403, code: 'forbidden' });
  }
});

t.test('a key for one endpoint changes only that, and cannot refer to hidden resources', async (t) => {
  const made = (
    await request('POST', '/v2/serverless', {
      name: 'mine',
      type: 'QUEUE',
      image: 'a/b:1',
      gpu: {},
      scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
      workers: { max: 0 },
    })
  ).json;
  const source = (await request('POST', '/v2/templates', { name: 'hidden', image: 'a/b:1', serverless: true })).json;
  const registry = (await request('POST', '/v2/registries', { name: 'hidden', username: 'u', password: 'p' })).json;
  const own = publicRequest(url, await system.newKey(KeyScope.ALL, system.accountId, [made.id]));
  const one = `/v2/serverless/${made.id}`;
  t.match((await own('PATCH', one, { image: 'a/b:2' })).json, { image: 'a/b:2' });
  t.equal((await own('PATCH', one, { registry: registry.id })).status, 400, 'credentials that it may not see');
  t.equal((await own('PATCH', one, { templateId: source.id })).status, 400, 'a template that it may not see');
  t.match((await own('PATCH', one, { registry: null, env: { A: '1' } })).json, { registry: null, env: { A: '1' } });
  t.equal((await own('POST', '/v2/serverless', { name: 'x' })).status, 422);
  for (const [method, path, body] of [
    ['POST', '/v2/templates', { name: 'x', image: 'a/b:1' }],
    ['DELETE', `/v2/registries/${registry.id}`],
    ['PUT', '/v2/account/ssh-keys', { keys: [] }],
  ] as const)
    t.equal((await own(method, path, body)).status, 403, `${method} ${path}`);
  t.match((await own('GET', '/v2/registries')).json, { registries: [] });
  await request('DELETE', `/v2/registries/${registry.id}`);
});

t.test('every list is paged, newest first, by a cursor of its own', async (t) => {
  for (const name of ['first', 'second', 'third'])
    await request('POST', '/v2/registries', { name, username: 'u', password: 'p' });
  const lists = keyed.filter(
    ({ method, parameters }) => method === 'GET' && parameters?.some(({ name }) => name === 'cursor'),
  );
  t.ok(lists.length >= 2);
  for (const { operationId, path } of lists) {
    if (path.includes('nothing')) continue;
    const { status, json } = await request('GET', path);
    t.equal(status, 200, operationId);
    t.same(json['pagination'], { nextCursor: null, hasNextPage: false }, operationId);
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'limit=1&limit=2', 'cursor=', 'cursor=bm90aGluZw']) {
      t.equal((await request('GET', `${path}?${query}`)).status, 422, `${operationId} ${query}`);
    }
  }
  const names: string[] = [];
  let page = (await request('GET', '/v2/registries?limit=1')).json as unknown as {
    registries: { name: string }[];
    pagination: { nextCursor: string | null };
  };
  const first = page.pagination.nextCursor!;
  for (;;) {
    names.push(...page.registries.map(({ name }) => name));
    if (page.pagination.nextCursor === null) break;
    page = (await request('GET', `/v2/registries?limit=1&cursor=${page.pagination.nextCursor}`))
      .json as unknown as typeof page;
  }
  t.same(names, ['third', 'second', 'first']);
  const foreign = await request('GET', `/v2/templates?cursor=${first}`);
  t.equal(foreign.status, 422, 'a cursor of another list');
  t.match(foreign.json['errors'], [/^query\.cursor: /]);
});

t.test('responses to a valid key have its remaining rate', async (t) => {
  const first = await request('GET', '/v2/templates');
  const policy = first.headers.get('ratelimit-policy');
  t.match(policy, /^"window";q=\d+;w=\d+$/);
  t.match(first.headers.get('ratelimit'), /^"window";r=\d+;t=\d+$/);
  const missing = await request('GET', '/v2/templates/nothing');
  t.match(missing.headers.get('ratelimit'), /^"window";r=\d+;t=\d+$/, 'an error too');
});

t.test('words of REST v2 are never an endpoint', async (t) => {
  for (const word of REST_V2_WORDS) {
    for (const [method, path] of [
      ['GET', `/v2/${word}/nothing/here/at/all`],
      ['POST', `/v2/${word}/run`],
      ['GET', `/v2/${word}/health`],
    ] as const) {
      const { status, headers, text } = await request(method, path, method === 'POST' ? { input: {} } : undefined);
      t.ok([404, 405].includes(status), `${method} ${path}: ${status} ${text.slice(0, 200)}`);
      t.match(headers.get('content-type'), PROBLEM, `${method} ${path}`);
    }
  }
  t.match((await request('POST', '/v2/flash/run', { input: {} })).json, { status: 404, detail: /Flash/ });
});

t.test('a creation whose COMMIT core never hears of: made once, and found by its Idempotency-Key', async (t) => {
  const endpoint = {
    type: 'QUEUE',
    image: 'a/b:1',
    cpu: [{ id: 'cpu3c', vcpuCount: 2 }],
    scaling: { type: 'REQUEST_COUNT', requestCount: 1 },
    workers: { max: 0 },
  };
  const creations: [path: string, list: string, body: object][] = [
    ['/v2/templates', 'templates', { image: 'a/b:1' }],
    ['/v2/registries', 'registries', { username: 'u', password: 'p' }],
    ['/v2/network-volumes', 'networkVolumes', { size: 10, dataCenter: 'X' }],
    ['/v2/account/secrets', 'secrets', { value: 'v' }],
    ['/v2/serverless', 'endpoints', endpoint],
  ];
  for (const [path, list, more] of creations) {
    for (const key of ['', `of ${path}`]) {
      const headers: Record<string, string> = key === '' ? {} : { 'idempotency-key': key };
      const body = { ...more, name: `${key === '' ? 'lost' : 'found'}_${list}` };
      const cutsBefore = proxy.cuts;
      proxy.loseAnswer(body.name, 'COMMIT\0');
      const cut = await request('POST', path, body, headers);
      t.equal(proxy.cuts, cutsBefore + 1, `${path}: the COMMIT was made and its response was lost`);
      const { json } = await request('GET', path);
      const made = (json as unknown as Record<string, { id: string; name: string }[]>)[list]!.filter(
        ({ name }) => name === body.name,
      );
      t.equal(made.length, 1, `${path}: it exists, and once`);
      if (key === '') {
        t.match([cut.status, cut.headers.get('content-type')], [503, PROBLEM], 'nobody can know whether it was made');
        continue;
      }
      t.match([cut.status, cut.json.id], [201, made[0]!.id], 'the facade asks core again with the key');
      const again = await request('POST', path, body, headers);
      t.match([again.status, again.json.id], [201, made[0]!.id], 'and so may the client');
    }
  }
});

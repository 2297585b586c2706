// test: postgres
/**
 * Odd bodies, content types and cursors for every operation of REST v2 that takes them: each gets a problem, never an
 * internal error, and nothing is made.
 */
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}
interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; $ref?: string }[];
  requestBody?: { content: { 'application/json': { schema: Schema } } };
}
interface Described {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

t.setTimeout(300_000);

const PROBLEM = /^application\/problem\+json/;
const LONG_LIST = 50_000;
const DEPTH = 5_000;
const TABLES = ['endpoint', 'template', 'pod', 'network_volume', 'registry_auth', 'secret'];

const system = await startSystem(t, { agents: 0 });
const { request, url, key } = system;
const sql = postgres(system.database.url, { max: 1, onnotice: () => undefined });
t.teardown(() => sql.end());
const document = (await request('GET', '/v2/openapi.json')).json as unknown as Described;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...operation,
    method: method.toUpperCase(),
    path: path.replaceAll(/\{\w+\}/g, 'nothing'),
    name: `${method.toUpperCase()} ${path}`,
  })),
);
const taking = operations.filter(({ requestBody }) => requestBody);

/** Returns the names of all members that a body may have. */
function membersOf(schema: Schema): string[] {
  if (schema.$ref) return membersOf(document.components.schemas[schema.$ref.split('/').at(-1)!]!);
  const parts = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [...Object.keys(schema.properties ?? {}), ...parts.flatMap(membersOf)];
}

/** Sends bytes as they are. */
async function send(method: string, path: string, body: string | Buffer, contentType: string) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': contentType };
  const answer = await fetch(url + path, { method, headers, body: body as string });
  return { status: answer.status, type: answer.headers.get('content-type') ?? '', text: await answer.text() };
}

async function rejects(t: Test, what: string, sent: ReturnType<typeof send>): Promise<void> {
  const { status, type, text } = await sent;
  t.ok(status >= 400 && status < 500, `${what}: ${status} ${text.slice(0, 200)}`);
  t.match(type, PROBLEM, what);
  t.match(JSON.parse(text), { status, title: /\w/, detail: /\w/ }, what);
}

async function counts(): Promise<Record<string, number>> {
  const entries = TABLES.map(async (table) => {
    const [row] = await sql<{ n: number }[]>`SELECT count(*)::int AS n FROM ${sql(table)}`;
    return [table, row!.n] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

t.test('bodies with nulls, lists of any length, depth, doubled members and no Unicode', async (t) => {
  const before = await counts();
  for (const { name, method, path, requestBody } of taking) {
    const members = [...new Set(membersOf(requestBody!.content['application/json'].schema))];
    t.ok(members.length > 0, `${name} has members`);
    const all = (value: unknown) => JSON.stringify(Object.fromEntries(members.map((each) => [each, value])));
    const [first] = members;
    const json = (what: string, body: string | Buffer) =>
      rejects(t, `${name}: ${what}`, send(method, path, body, 'application/json'));
    await json('nulls', all(null));
    await json('objects', all({ a: { b: 1 } }));
    await json('lists', all([[]]));
    await json('numbers', all(1e308));
    await json('NUL', all('a\0b'));
    await json('long list', `{${JSON.stringify(first)}:[${'1,'.repeat(LONG_LIST)}1]}`);
    await json('deep', `{${JSON.stringify(first)}:${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}}`);
    await json('doubled', `{${JSON.stringify(first)}:[[1]],${JSON.stringify(first)}:[[2]]}`);
    await json('prototype', '{"__proto__":{"name":"x"},"constructor":{"prototype":{}}}');
    await json('not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]));
    await json('half a pair', `{${JSON.stringify(first)}:"\\ud800"}`);
    await json('empty', '');
    await json('a number', '1');
  }
  t.same(await counts(), before, 'nothing was made');
});

t.test('other content types', async (t) => {
  const before = await counts();
  for (const { name, method, path } of taking) {
    await rejects(t, `${name}: text`, send(method, path, '{"a":1}', 'text/plain'));
    await rejects(t, `${name}: form`, send(method, path, 'name=x&image=y', 'application/x-www-form-urlencoded'));
    await rejects(t, `${name}: parts`, send(method, path, '--x\r\n\r\n--x--', 'multipart/form-data; boundary=x'));
    await rejects(t, `${name}: no type`, send(method, path, Buffer.from('{"a":1}'), 'nonsense'));
  }
  t.same(await counts(), before, 'nothing was made');
});

t.test('cursors: of another account, of another list, broken', async (t) => {
  const lists = operations.filter(
    ({ method, path }) => method === 'GET' && ['/v2/pods', '/v2/serverless', '/v2/templates'].includes(path),
  );
  t.equal(lists.length, 3);
  const other = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
  const strange = publicRequest(url, await system.newKey(undefined, other.accountId));
  for (let n = 0; n < 3; n += 1) {
    const { status, text } = await strange('POST', '/v2/templates', { name: `other-${n}`, image: 'a/b:1' });
    t.ok(status < 300, text);
  }
  const page = (await strange('GET', '/v2/templates?limit=1')).json as unknown as {
    pagination: { nextCursor: string };
  };
  const cursor = page.pagination.nextCursor;
  t.match(cursor, /\w/);
  for (const { name, path } of lists)
    for (const each of [cursor, 'x', '%00', '%ff', 'a'.repeat(4_000), '-1', '{}', `${cursor}x`, `${cursor}&cursor=1`]) {
      const { status, text, headers } = await request('GET', `${path}?limit=1&cursor=${each}`);
      t.ok(status < 500, `${name} with ${each.slice(0, 40)}: ${status}`);
      if (status >= 400) t.match(headers.get('content-type'), PROBLEM);
      t.notMatch(text, /other-/, 'nothing of another account');
    }
  for (const limit of ['0', '-1', '1e9', 'x', '', '1&limit=2']) {
    const { status } = await request('GET', `/v2/templates?limit=${limit}`);
    t.ok(status < 500, `limit ${limit}: ${status}`);
  }
});

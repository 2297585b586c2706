// test: postgres, 10 s
/**
 * Runs the corpus of /graphql: each wrong request gets its status and code, nothing changes, and the server goes on
 * working.
 */

import { ERROR_HELP } from '@slipway/kit/net/error-help';
import { ERRORS_PATH } from '@slipway/kit/net/help-link';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import type { ErrorExtensions, GraphqlBody, GraphqlClient } from '../facades/graphql/graphql-client.ts';
import { graphqlClient } from '../facades/graphql/graphql-client.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import type { RawAnswer } from '../helpers/net/raw-http.ts';
import { exchange, requestText } from '../helpers/net/raw-http.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import type { BadGraphql } from './graphql-case.ts';
import { GRAPHQL_CORPUS } from './graphql-corpus.ts';

const CASES_MIN = 60;
/** Tables that a wrong request could have changed. */
const TABLES = ['account', 'endpoint', 'template', 'network_volume', 'registry_auth', 'pod', 'audit_event'];

/** Creates one resource of each kind. Returns their ids. */
async function make(
  { ok }: GraphqlClient,
  name: string,
): Promise<Record<'template' | 'podTemplate' | 'endpoint' | 'volume' | 'auth' | 'pod', string>> {
  const id = async (mutation: string): Promise<string> =>
    Object.values(await ok<Record<string, { id: string }>>(`mutation { ${mutation} { id } }`))[0]!.id;
  const template = await id(
    `saveTemplate(input: { name: "${name}", imageName: "", dockerArgs: "true", isServerless: true })`,
  );
  return {
    template,
    podTemplate: await id(`saveTemplate(input: { name: "${name} pods", imageName: "", dockerArgs: "true" })`),
    endpoint: await id(
      `saveEndpoint(input: { name: "${name}", templateId: "${template}", gpuIds: "AMPERE_24", workersMax: 1 })`,
    ),
    volume: await id(`createNetworkVolume(input: { name: "${name}", size: 5, dataCenterId: "A" })`),
    auth: await id(`saveRegistryAuth(input: { name: "${name}", username: "u", password: "p" })`),
    pod: await waitFor('a pod', () =>
      id(`deployCpuPod(input: { name: "${name}", imageName: "", dockerArgs: "sleep 3600" })`),
    ),
  };
}

function bytesOf({ body, query, variables }: BadGraphql, fill: (text: string) => string): Uint8Array {
  if (body !== undefined) return typeof body === 'string' ? Buffer.from(body) : body;
  return Buffer.from(fill(JSON.stringify({ query, variables })));
}

/**
 * Returns everything that is stored, in short. What an agent reports about a pod is not the caller's doing, and a
 * refused attempt changes nothing.
 */
async function stored(sql: postgres.Sql): Promise<object> {
  const rows = TABLES.map(async (table) => {
    const [row] = await sql`SELECT count(*)::int AS n, md5(string_agg(
      (to_jsonb(each) - 'state' - 'status_text' - 'state_changed_at' - 'exit_code' - 'state_change_at')::text, ''
        ORDER BY each.id::text)) AS hash
      FROM ${sql(table)} AS each WHERE coalesce(to_jsonb(each) ->> 'refused', '') = ''`;
    return [table, { ...row }];
  });
  return Object.fromEntries(await Promise.all(rows));
}

/** Checks that an error leads to the entry of its code. Codes of core's reasons are in upper case here. */
function checkHelp(t: Test, { code, reason = code, help }: ErrorExtensions): void {
  const codes = Object.values(ERROR_HELP).flatMap(Object.keys);
  t.ok(codes.includes(code) || codes.includes(code.toLowerCase()), code);
  const entry = codes.includes(reason) ? reason : reason.toLowerCase();
  t.equal(help, `${ERRORS_PATH}#${entry}`);
  t.ok(codes.includes(entry), entry);
}

t.setTimeout(600_000);
t.test('/graphql', async (t) => {
  const system = await startSystem(t, { facadeEnv: { SLIPWAY_RATE_LIMITS: 'false' } });
  const sql = postgres(system.database.url, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end());
  const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
  const own = graphqlClient(t, system.url, system.key);
  const other = graphqlClient(t, system.url, await system.newKey(KeyScope.ALL, accountId));

  await waitFor('the machine', async () => (await sql`SELECT FROM machine`).length > 0, 30_000);
  const mine = await make(own, 'own');
  const theirs = Object.entries(await make(other, 'other')).map(([name, id]) => [
    `other${name[0]!.toUpperCase()}${name.slice(1)}`,
    id,
  ]);
  const names: Record<string, string> = { ...mine, ...Object.fromEntries(theirs) };

  const fill = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => names[name] ?? whole);
  const send = (bad: BadGraphql): Promise<RawAnswer> => {
    const { method = 'POST', path = '/graphql', headers = {} } = bad;
    const given: Record<string, string> = {
      authorization: `Bearer ${system.key}`,
      'content-type': 'application/json',
      ...headers,
    };
    if (given.authorization === '') delete given.authorization;
    return exchange(system.url, { pieces: [requestText(method, path, given, bytesOf(bad, fill))] });
  };

  await t.test('wrong requests', async (t) => {
    t.ok(GRAPHQL_CORPUS.length >= CASES_MIN, `${GRAPHQL_CORPUS.length} cases`);
    t.equal(
      new Set(GRAPHQL_CORPUS.map(({ name }) => name)).size,
      GRAPHQL_CORPUS.length,
      'every case has a name of its own',
    );
    const before = await stored(sql);
    for (const bad of GRAPHQL_CORPUS) {
      await t.test(bad.name, async (t) => {
        const answer = await send(bad);
        const shown = answer.text.slice(0, 300);
        const { data, errors } = (answer.json ?? {}) as GraphqlBody;
        t.equal(answer.status, bad.status, shown);
        t.equal(errors?.[0]?.extensions.code, bad.code, shown);
        t.equal(errors?.[0]?.extensions.reason, bad.reason, shown);
        for (const { extensions } of errors ?? []) checkHelp(t, extensions);
        t.ok(
          Object.values(data ?? {}).every((value) => value === null),
          'no data',
        );
        t.notMatch(
          answer.text,
          /\bat \/|node_modules|postgres|select |insert |stack/i,
          'says nothing about the inside',
        );
        t.same(await stored(sql), before, 'nothing changed');
      });
    }
  });

  await t.test('other methods and paths', async (t) => {
    const body = JSON.stringify({ query: '{ myself { id } }' });
    const headers = { authorization: `Bearer ${system.key}`, 'content-type': 'application/json' };
    for (const [method, path] of [
      ['GET', '/graphql?query={__typename}'],
      ['PUT', '/graphql'],
      ['DELETE', '/graphql'],
      ['POST', '/graphql/v1'],
    ] as const) {
      const answer = await exchange(system.url, {
        pieces: [requestText(method, path, headers, Buffer.from(method === 'GET' ? '' : body))],
      });
      const known = path !== '/graphql/v1';
      t.equal(answer.status, known ? 405 : 404, `${method} ${path}`);
      t.equal(answer.json?.code, known ? 'method_not_allowed' : 'not_found', answer.text);
    }
  });

  await t.test('strange but legal requests', async (t) => {
    const body = Buffer.from(
      JSON.stringify({ query: '{ myself { id } }', variables: null, operationName: null, extensions: { x: 1 } }),
    );
    for (const type of ['', 'text/plain', 'application/graphql', 'application/json; charset=utf-8']) {
      const headers = { authorization: `Bearer ${system.key}`, ...(type ? { 'content-type': type } : {}) };
      const answer = await exchange(system.url, { pieces: [requestText('POST', '/graphql', headers, body)] });
      t.same(answer.json, { data: { myself: { id: system.accountId } } }, `content type ${JSON.stringify(type)}`);
    }
    const inQuery = await exchange(system.url, {
      pieces: [requestText('POST', `/graphql?api_key=${system.key}`, {}, body)],
    });
    t.equal(inQuery.status, 200, 'the key in the query');
    t.match(
      await own.ok(
        '{ a: myself { ...all } b: myself { ...all } __schema { queryType { name } } } fragment all on User { id ' +
          'endpoints { id } }',
      ),
      {
        a: { endpoints: [{ id: mine.endpoint }] },
        b: { id: system.accountId },
      },
    );
  });
});

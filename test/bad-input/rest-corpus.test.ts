// test: postgres, 10 s
/**
 * Runs the corpus of the REST surface: each wrong request gets its status and code, nothing changes, and the server
 * goes on working.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import postgres from 'postgres';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { ScriptedAgent } from '../helpers/grpc/scripted-agent.ts';
import type { RawAnswer } from '../helpers/net/raw-http.ts';
import { exchange, requestText } from '../helpers/net/raw-http.ts';
import type { PublicRequest } from '../helpers/system/public-api.ts';
import { publicRequest } from '../helpers/system/public-api.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import type { BadRequest } from './bad-request.ts';
import { REST_CORPUS } from './rest-corpus.ts';

const CASES_MIN = 40;
/** Every table that a request of this surface could change. */
const TABLES = [
  'account',
  'api_key',
  'audit_event',
  'endpoint',
  'network_volume',
  'pod',
  'price',
  'registry_auth',
  'template',
];

t.setTimeout(600_000);
const system = await startSystem(t, { agents: 0 });
const agent = new ScriptedAgent({
  address: system.cores[0]!.address,
  agentKey: system.agentKey,
  locations: ['EU-RO-1', 'RO'],
});
await agent.connect();
t.teardown(() => agent.drop());
const sql = postgres(system.database.url, { max: 1, onnotice: () => undefined });
t.teardown(() => sql.end());
const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
const names: Record<string, string> = {
  key: system.key,
  agentKey: system.agentKey,
  rootKey: system.rootKey,
  readKey: await system.newKey(KeyScope.READ_ONLY),
  ...(await makeOwn()),
  ...(await makeOthers()),
};

async function made(request: PublicRequest, path: string, body: object): Promise<string> {
  const { status, text, json } = await request('POST', `/v1/${path}`, body);
  if (status > 201) throw new Error(`${path}: ${text}`);
  return json.id;
}

async function makeOwn(): Promise<Record<string, string>> {
  const make = (path: string, body: object): Promise<string> => made(system.request, path, body);
  const auth = await make('containerregistryauth', { name: 'used', username: 'me', password: 'secret' });
  const volume = await make('networkvolumes', { name: 'used', size: 10, dataCenterId: 'EU-RO-1' });
  const template = await make('templates', {
    name: 'used',
    imageName: '',
    dockerStartCmd: ['true'],
    isServerless: true,
    containerRegistryAuthId: auth,
  });
  const endpoint = await make('endpoints', {
    name: 'used',
    templateId: template,
    workersMin: 1,
    workersMax: 2,
    networkVolumeId: volume,
  });
  const worker = await waitFor('a worker', async () => {
    const { json } = await system.request('GET', `/v1/endpoints/${endpoint}?includeWorkers=true`);
    return (json['workers'] as { id: string }[])[0]?.id;
  });
  return {
    auth,
    volume,
    template,
    endpoint,
    worker,
    freeTemplate: await make('templates', { name: 'free', imageName: 'x', isServerless: true }),
    podTemplate: await make('templates', { name: 'of pods', imageName: 'x' }),
    freeVolume: await make('networkvolumes', { name: 'free', size: 100, dataCenterId: 'EU-RO-1' }),
    pod: await make('pods', { name: 'locked', dockerStartCmd: ['sleep', '600'], computeType: 'CPU', locked: true }),
  };
}

async function makeOthers(): Promise<Record<string, string>> {
  const request = publicRequest(system.url, await system.newKey(KeyScope.ALL, accountId));
  const make = (path: string, body: object): Promise<string> => made(request, path, body);
  const otherTemplate = await make('templates', { name: 'other', imageName: 'x', isServerless: true });
  return {
    otherTemplate,
    otherEndpoint: await make('endpoints', { templateId: otherTemplate, workersMax: 0 }),
    otherVolume: await make('networkvolumes', { name: 'other', size: 1, dataCenterId: 'EU-RO-1' }),
    otherAuth: await make('containerregistryauth', { name: 'other', username: 'a', password: 'b' }),
    otherPod: await make('pods', { dockerStartCmd: ['sleep', '600'], computeType: 'CPU' }),
  };
}

function fill(text: string): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => names[name] ?? whole);
}

function bytesOf(body: BadRequest['body']): Uint8Array {
  if (typeof body === 'function') return body();
  return typeof body === 'string' ? Buffer.from(fill(body)) : (body ?? new Uint8Array());
}

function send({ method = 'POST', path = '', headers = {}, body }: BadRequest): Promise<RawAnswer> {
  const bytes = bytesOf(body);
  const own = {
    authorization: `Bearer ${system.key}`,
    ...(bytes.length > 0 ? { 'content-type': 'application/json' } : {}),
  };
  const given = Object.fromEntries(
    Object.entries({ ...own, ...headers })
      .map(([name, value]) => [name, fill(value)])
      .filter(([, value]) => value !== ''),
  );
  return exchange(system.url, { pieces: [requestText(method, fill(path), given, bytes)] });
}

/** Returns all rows, without what agents and reads note meanwhile, and without refused attempts in the audit trail. */
async function rows(): Promise<string> {
  const found = await Promise.all(
    TABLES.map(
      (table) => sql<{ row: string }[]>`
    SELECT (to_jsonb(r) - ARRAY['last_used_at', 'state', 'state_changed_at',
      'status_text'])::text AS row FROM ${sql(table)} r
      WHERE coalesce(to_jsonb(r) ->> 'refused', '') = '' ORDER BY 1`,
    ),
  );
  return JSON.stringify(
    found.map((table) => table.map(({ row }) => row)),
    undefined,
    1,
  );
}

t.test('wrong requests', async (t) => {
  t.ok(REST_CORPUS.length >= CASES_MIN, `${REST_CORPUS.length} cases`);
  t.equal(new Set(REST_CORPUS.map(({ name }) => name)).size, REST_CORPUS.length, 'every case has a name of its own');
  const before = await rows();
  for (const wrong of REST_CORPUS) {
    await t.test(wrong.name, async (t) => {
      const answer = await send(wrong);
      t.equal(answer.status, wrong.status, answer.text.slice(0, 300));
      t.equal(answer.json?.['code'], wrong.code, answer.text.slice(0, 300));
      t.same(Object.keys(answer.json ?? {}), ['message', 'error', 'status', 'code'], 'the shape of all errors');
      t.equal(answer.json?.['status'], wrong.status);
      t.equal(answer.json?.['message'], answer.json?.['error']);
      t.notMatch(
        answer.text,
        /\bat \/|node_modules|postgres|select |insert |undefined/i,
        'says nothing about the inside',
      );
      t.equal((await rows()) === before, true, 'nothing changed');
    });
  }
});

t.test('the server works, and what was there can be read, changed and deleted', async (t) => {
  const before = await rows();
  t.equal((await system.request('PATCH', fill('/v1/networkvolumes/{freeVolume}'), { size: 101 })).json['size'], 101);
  t.not(await rows(), before, 'and that shows in the rows');
  t.equal((await system.request('DELETE', fill('/v1/templates/{freeTemplate}'))).status, 204);
  t.equal((await system.request('PATCH', fill('/v1/pods/{pod}'), { locked: false })).json['locked'], false);
  t.equal((await system.request('POST', fill('/v1/pods/{pod}/stop'))).json['desiredStatus'], 'EXITED');
  const { json } = await system.request('GET', '/v1/endpoints');
  t.equal((json as unknown as object[]).length, 1);
});

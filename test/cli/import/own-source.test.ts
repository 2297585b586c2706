// test: postgres, 10 s
/** `slipway import` from another account of this service: over REST v2 and GraphQL, or over REST v1 without them. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { commandLine } from '../command-line.ts';
import { changesIn, passingTo, sendJson, startSource } from './source-server.ts';

interface Report {
  source: { surface: string };
  resources: { kind: string; name: string; result: string; id: string; reason: string; notes: string[] }[];
}

t.setTimeout(600_000);
const system = await startSystem(t, { agents: 0 });
const here = await call(system.clients.access, 'createAccount', { name: 'here' }, system.rootKey);
const key = await system.newKey(KeyScope.ALL, here.accountId);
const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: key });
const keyFile = join(cli.cwd, 'key');
const loginFile = join(cli.cwd, 'login');
const readerFile = join(cli.cwd, 'reader');
writeFileSync(keyFile, system.key);
writeFileSync(readerFile, await system.newKey(KeyScope.READ_ONLY));
writeFileSync(loginFile, 'password');
const LOGIN = ['--registry', `hub=me:${loginFile}`, '--map', 'home=here'];
const there = publicRequest(system.url, system.key);
const made = async (path: string, body: object): Promise<string> => {
  const { status, json, text } = await there('POST', path, body);
  if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
  return json.id;
};
const hereNow = async () =>
  (await call(system.clients.endpoints, 'listEndpoints', { includeTemplate: true } as never, key)).endpoints;

const registry = await made('/v2/registries', { name: 'hub', username: 'u', password: 'p' });
const volume = await made('/v2/network-volumes', { name: 'models', size: 20, dataCenter: 'home' });
const template = await made('/v2/templates', {
  name: 'base',
  image: 'ocr:1',
  cmd: ['bash', '-lc', 'a b'],
  serverless: true,
  env: { MODE: 'fast' },
  registry,
});
const gpu = { pools: ['AMPERE_24', 'ADA_24'], count: 1 };
const scaling = { type: 'QUEUE_DELAY', queueDelay: 0.5 };
await made('/v2/serverless', {
  name: 'own',
  type: 'QUEUE',
  image: 'own:1',
  scaling,
  gpu,
  networkVolumes: [volume],
  env: { A: '1' },
  flashboot: 'FLASHBOOT',
  flashbootStandby: 'HOST',
  model: 'org/model',
  openai: { aliases: ['chat'], weight: 3, queueMax: 5 },
});
await made('/v2/serverless', {
  name: 'balanced',
  type: 'LOAD_BALANCER',
  image: 'web:1',
  scaling: { type: 'REQUEST_COUNT', requestCount: 7 },
  cpu: [{ id: 'cpu3c', vcpuCount: 2 }],
  env: { PORT: '80' },
});
await there('POST', '/v1/endpoints', {
  name: 'linked',
  templateId: template,
  gpuTypeIds: ['NVIDIA L4'],
  env: { EXTRA: '2' },
});
const THERE_V2 = ['/v2/serverless', '/v2/templates', '/v2/network-volumes'];
const before = await Promise.all(THERE_V2.map(async (path) => (await there('GET', path)).text));

t.test('what a key may not see of an environment waits for another key', async (t) => {
  for (const surfaces of [/^\/v2\//, /^\/v1\//]) {
    const pass = passingTo(system.url);
    const source = await startSource(t, (seen, response) =>
      surfaces.test(seen.path) ? pass(seen, response) : sendJson(response, { title: 'Gone', status: 410 }, 410),
    );
    const args = [
      'import',
      '--from',
      source.url,
      '--key-file',
      readerFile,
      '--only',
      'templates',
      '--only',
      'endpoints',
    ];
    const { resources } = await cli.json<Report>(...args, ...LOGIN);
    const ofContainers = resources.filter(({ kind }) => kind === 'templates' || kind === 'endpoints');
    t.equal(ofContainers.length, 4);
    for (const { result, reason } of ofContainers)
      t.match(
        { result, reason },
        { result: 'waits', reason: /shows the value of its variable [A-Z]+ only to keys that/ },
      );
    const run = await cli.run(...args, ...LOGIN, '--exclude', 'registries', '--exclude', 'volumes', '--apply');
    t.equal(run.code, 1);
    t.same(await hereNow(), [], 'nothing is created without its values');
  }
});

t.test('over REST v2 everything comes over, under new ids where these are taken', async (t) => {
  const source = await startSource(t, passingTo(system.url));
  const run = await cli.run('--json', 'import', '--from', source.url, '--key-file', keyFile, ...LOGIN, '--apply');
  t.equal(run.code, 0, run.stderr + run.stdout);
  const report = JSON.parse(run.stdout) as Report;
  t.equal(report.source.surface, 'v2');
  t.same([...new Set(report.resources.map(({ result }) => result))], ['created']);
  const own = report.resources.find(({ name }) => name === 'own')!;
  t.match(own.notes.join('; '), /its id \w{14} is not free here/, 'the other account of this core has it');
  t.same(changesIn(source.seen), [], 'nothing but reads is sent');
});

t.test('what came over is the same', async (t) => {
  const request = publicRequest(system.url, key);
  const read = async (asking: typeof request) =>
    (await asking('GET', '/v2/serverless')).json['endpoints'] as Record<string, unknown>[];
  const comparable = (endpoints: Record<string, unknown>[]) =>
    endpoints
      .map(({ id: _id, createdAt: _at, requestUrls: _urls, registry, networkVolumes, ...rest }) => ({
        ...rest,
        registry: registry !== null,
        volumes: (networkVolumes as string[]).length,
      }))
      .toSorted((a, b) => (String((a as { name?: string }).name) < String((b as { name?: string }).name) ? -1 : 1));
  t.same(comparable(await read(request)), comparable(await read(there)));
  const linked = (await hereNow()).find(({ name }) => name === 'linked')!;
  t.equal(linked.template!.name, 'base', 'a link to a template is kept');
  t.same(linked.env, { EXTRA: '2' });
});

t.test('a second run finds all of it', async (t) => {
  const report = await cli.json<Report>('import', '--from', system.url, '--key-file', keyFile, ...LOGIN);
  t.same([...new Set(report.resources.map(({ result }) => result))], ['exists']);
});

t.test('over REST v1 where v2 and GraphQL are switched off', async (t) => {
  const other = await call(system.clients.access, 'createAccount', { name: 'third' }, system.rootKey);
  const third = commandLine(t, {
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    SLIPWAY_API_KEY: await system.newKey(KeyScope.ALL, other.accountId),
  });
  const pass = passingTo(system.url);
  const source = await startSource(t, (seen, response) =>
    seen.path.startsWith('/v1/') ? pass(seen, response) : sendJson(response, { title: 'Gone', status: 410 }, 410),
  );
  const run = await third.run('--json', 'import', '--from', source.url, '--key-file', keyFile, ...LOGIN, '--apply');
  t.equal(run.code, 0, run.stderr + run.stdout);
  const report = JSON.parse(run.stdout) as Report;
  t.equal(report.source.surface, 'v1');
  t.same(report.resources.map(({ kind, name, result }) => `${kind}/${name} ${result}`).sort(), [
    'endpoints/balanced created',
    'endpoints/linked created',
    'endpoints/own created',
    'registries/hub created',
    'templates/base created',
    'volumes/models created',
  ]);
  t.same(changesIn(source.seen), []);
});

t.test('a key without all rights here cannot choose ids', async (t) => {
  const [endpoint] = await hereNow();
  const narrow = commandLine(t, {
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    SLIPWAY_API_KEY: await system.newKey(KeyScope.ALL, here.accountId, [endpoint!.id]),
  });
  const { code } = await narrow.run('import', '--from', system.url, '--key-file', keyFile, ...LOGIN, '--apply');
  t.equal(code, 1);
});

t.test('the source is as it was', async (t) => {
  t.same(await Promise.all(THERE_V2.map(async (path) => (await there('GET', path)).text)), before);
});

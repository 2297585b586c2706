// test: postgres, 10 s
/** `slipway import` from another account of this service: over REST v2 and GraphQL, or over REST v1 without them. */

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { scratch } from '../../helpers/scratch.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { commandLine } from '../command-line.ts';
import { changesIn, passingTo, sendJson, startSource } from './source-server.ts';

interface Report {
  source: { surface: string };
  resources: {
    kind: string;
    name: string;
    result: string;
    id: string;
    reason: string;
    notes: string[];
    differences: string[];
  }[];
}

t.setTimeout(600_000);
const system = await startSystem(t);
const notes = await scratch(t);
const here = await call(system.clients.access, 'createAccount', { name: 'here' }, system.rootKey);
const key = await system.newKey(KeyScope.ALL, here.accountId);
const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: key });
const keyFile = join(cli.cwd, 'key');
const loginFile = join(cli.cwd, 'login');
const readerFile = join(cli.cwd, 'reader');
writeFileSync(keyFile, system.key);
writeFileSync(readerFile, await system.newKey(KeyScope.READ_ONLY));
writeFileSync(loginFile, 'password');
const SECRET = 'value-nobody-sees';
const secretsFile = join(cli.cwd, 'secrets');
writeFileSync(secretsFile, `# of the old account\n\nhf=${SECRET}\nunheard=x\n`, { mode: 0o600 });
const SECRETS = ['--secrets', secretsFile];
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
  retryLimit: 5,
  retryHandlerErrors: true,
  workerConcurrency: 3,
  exampleInput: '{"prompt":"hello"}',
});
await there('PATCH', `/v1/templates/${template}`, { exampleInput: '{"of":"template"}' });
await made('/v2/account/secrets', { name: 'hf', value: 'not shown there' });
const box = await waitFor('a machine for the pod', async () => {
  const { status, json } = await there('POST', '/v1/pods', {
    name: 'box',
    computeType: 'CPU',
    cpuFlavorIds: ['cpu3c'],
    vcpuCount: 2,
    dockerStartCmd: ['sh', '-c', `env >> ${notes.path('env')}; exec sleep 1000`],
    env: { HF: '{{ RUNPOD_SECRET_hf }}' },
  });
  return status === 201 && json.id;
});
// The machine has room for one of them only.
await there('POST', `/v1/pods/${box}/stop`);
await there('PATCH', `/v1/pods/${box}`, { locked: true });
const THERE_V2 = ['/v2/serverless', '/v2/templates', '/v2/network-volumes', '/v2/account/secrets'];
const before = await Promise.all(THERE_V2.map(async (path) => (await there('GET', path)).text));

t.test('environments hidden from a key wait for another key', async (t) => {
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

t.test('over REST v2 everything is imported, under new ids where the old ones are taken', async (t) => {
  const source = await startSource(t, passingTo(system.url));
  const args = ['import', '--from', source.url, '--key-file', keyFile, ...LOGIN, ...SECRETS];
  const run = await cli.run('--json', ...args, '--apply');
  t.equal(run.code, 0, run.stderr + run.stdout);
  t.match(run.stderr, /The source has no secret unheard and mentions none: it is not set\./);
  t.notMatch(run.stdout + run.stderr, SECRET);
  const report = JSON.parse(run.stdout) as Report;
  t.equal(report.source.surface, 'v2');
  t.same([...new Set(report.resources.map(({ result }) => result))], ['created']);
  const own = report.resources.find(({ name }) => name === 'own')!;
  t.match(own.notes.join('; '), /its id \w{14} is not free here/, 'the other account of this core has it');
  t.same(changesIn(source.seen), [], 'nothing but reads is sent');
});

t.test('imported resources equal the source', async (t) => {
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
  const extensions = { retryLimit: 5, retryHandlerErrors: true, workerConcurrency: 3 };
  t.match(linked, {
    ...extensions,
    exampleInput: '{"prompt":"hello"}',
    template: { exampleInput: '{"of":"template"}' },
  });
});

t.test('a pod comes over stopped, and starts with the secret of the file', async (t) => {
  const pods = podCalls(system.clients, key);
  const [pod] = await pods.list();
  t.match(pod, { name: 'box', state: PodState.EXITED, instanceIds: ['cpu3c-2-4'], locked: true, gpuUuids: [] });
  await pods.update(pod!.id, { locked: false });
  await pods.act('startPod', pod!.id);
  await pods.reach(pod!.id, 'RUNNING');
  await waitFor('its variables', () => notes.lines('env').includes(`HF=${SECRET}`));
  await pods.remove(pod!.id);
});

t.test('a second run finds all of it, and shows what is otherwise here', async (t) => {
  const args = ['import', '--from', system.url, '--key-file', keyFile, ...LOGIN, ...SECRETS, '--exclude', 'pods'];
  const differing = ({ resources }: Report) =>
    Object.fromEntries(
      resources.filter(({ differences }) => differences.length > 0).map(({ name, differences }) => [name, differences]),
    );
  const report = await cli.json<Report>(...args);
  t.same([...new Set(report.resources.map(({ result }) => result))], ['exists']);
  t.same(differing(report), {});
  const request = publicRequest(system.url, key);
  const [own, base] = [
    report.resources.find(({ name }) => name === 'own')!,
    report.resources.find(({ name }) => name === 'base')!,
  ];
  await request('PATCH', `/v2/serverless/${own.id}`, { workers: { max: 7 }, env: { A: 'other', B: '1' } });
  await request('PATCH', `/v2/templates/${base.id}`, { image: 'ocr:2' });
  const applied = await cli.run('--json', ...args, '--apply');
  t.equal(applied.code, 0);
  t.same(differing(JSON.parse(applied.stdout) as Report), {
    base: ['image is "ocr:2" here, "ocr:1" at the source'],
    linked: ['image is "ocr:2" here, "ocr:1" at the source'],
    own: [
      'the variable A has another value here',
      'the variable B is here only',
      'workers.max is 7 here, 3 at the source',
    ],
  });
  t.match(
    (await cli.run(...args)).stdout,
    /endpoints +own .* is here, differs\n[^]*, 3 of them otherwise, and left so/,
  );
  t.equal((await hereNow()).find(({ name }) => name === 'own')!.workersMax, 7, 'it is left as it is');
});

t.test('a file of secrets that cannot be used is named, without its values', async (t) => {
  const file = join(cli.cwd, 'other-secrets');
  const args = ['import', '--from', system.url, '--key-file', keyFile, '--secrets', file];
  t.match(await cli.run(...args), { code: 2, stderr: /other-secrets cannot be read \(ENOENT\)/ });
  for (const [text, why] of [
    ['hf\n', /line 1: must be NAME=value/],
    [`hf=${SECRET}\nhf=${SECRET}\n`, /line 2: hf has a value already/],
    [`{"hf": ${SECRET}}`, /begins as JSON and is none/],
    ['{"hf": 7}', /the value of "hf" must be a text/],
    [Buffer.from([0x68, 0x3d, 0xff]), /is not UTF-8 text/],
  ] as const) {
    writeFileSync(file, text);
    const { code, stdout, stderr } = await cli.run(...args);
    t.equal(code, 2);
    t.match(stderr, why);
    t.notMatch(stdout + stderr, SECRET);
  }
  writeFileSync(file, JSON.stringify({ hf: 'two\nlines' }));
  chmodSync(file, 0o644);
  t.match(await cli.run(...args, ...LOGIN), { code: 0, stderr: /Other users may read the secrets in .*: chmod 600/ });
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
    'pods/box created',
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

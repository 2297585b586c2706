// test: envoy, postgres, 60 s
/**
 * Output of `npm run pack` can be installed into an empty folder and runs there: a core on its patched driver, a
 * facade, an edge, the command line, an agent, a handler that has installed slipway-worker, and all of it at once.
 */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { ReadyMessage } from '@slipway/dev/processes/node-process';
import { nodeProcess } from '@slipway/dev/processes/node-process';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Manifest } from '@slipway/tools/pack/stage-package';
import type { Test } from 'tap';
import t from 'tap';
import { Child } from '../../helpers/child.ts';
import { createDatabase } from '../../helpers/db/database.ts';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { receiveTraces } from '../../helpers/grpc/otlp.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { createEndpoint } from '../../helpers/system/create-endpoint.ts';
import { ENVOY } from '../../helpers/system/edge.ts';
import { processTable } from '../../helpers/system/process-table.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { addTo, install, manifestOf, npm, output, pack, root, sizeOf } from './installed.ts';

/** Most packages of an agent's installation, without the pinned Node. */
const AGENT_PACKAGES_MAX = 80;
const AGENT_MIB_MAX = 60;
const PACKED = ['gpu-agent', 'cli', 'worker', 'core', 'facades', 'edge', 'dev'];
const VERSION = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest).version;
const TRACEPARENT = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
const HANDLER = `import { start } from 'slipway-worker';

start({ handler: ({ input }) => ({ hello: input.name, from: import.meta.resolve('slipway-worker') }) });
`;
/** A handler in TypeScript. Its last line must not compile. */
const TYPED_HANDLER = `import type { Job } from 'slipway-worker';
import { progress, start } from 'slipway-worker';

async function* greet(job: Job<{ names: string[] }>): AsyncGenerator<string> {
  job.signal.throwIfAborted();
  for (const name of job.input.names) yield \`hello \${name}\`;
  await progress(job, 'done');
}
await start({ handler: greet, concurrency: (now) => now + 1, returnAggregateStream: true });
await start({ handler: greet, concurrency: 'many' });
`;
/** Prints the names that a package's module exports, for each specifier. */
const EXPORTS = `const found = process.argv.slice(2).map(async (each) => [each, Object.keys(await import(each)).sort()]);
console.log(JSON.stringify(await Promise.all(found)));
`;

t.setTimeout(280_000);
const folder = await openFolder(t);
const at = (...names: string[]): string => join(folder, ...names);
const tarballs = await pack(at('packed'), ...PACKED);
await Promise.all([
  install(at('agent'), tarballs.get('gpu-agent')!, { scripts: true }),
  install(at('handler'), tarballs.get('worker')!),
  install(at('cli'), tarballs.get('cli')!),
]);
const slipway = at('cli/node_modules/@slipway/cli/slipway.mjs');
const versions = (): Promise<string> => output(slipway, ['--json', 'version']);

t.test('an agent is a few packages', async (t) => {
  const { packages, mib } = sizeOf(at('agent'));
  t.comment(`${packages} packages, ${mib.toFixed(1)} MiB`);
  t.ok(packages > 3 && packages <= AGENT_PACKAGES_MAX, `${packages} packages`);
  t.ok(mib > 1 && mib <= AGENT_MIB_MAX, `${mib} MiB`);
  const licences = readFileSync(at('agent/node_modules/@slipway/gpu-agent/THIRD_PARTY_LICENSES'), 'utf8');
  for (const name of ['fastify', 'protobufjs', '@grpc/grpc-js']) t.match(licences, new RegExp(`^${name} \\d`, 'm'));
  t.ok(existsSync(at('agent/node_modules/node/bin/node')), 'the pinned Node came along');
});

t.test('the command line runs', async (t) => {
  t.match(await output(slipway, ['--version']), manifestOf(at('cli'), '@slipway/cli').version as string);
  await t.rejects(
    output(slipway, ['core']),
    { message: /npm install @slipway\/core/ },
    'parts are packages of their own',
  );
  t.match(JSON.parse(await versions()), { slipway: VERSION, core: null, agent: null, node: process.versions.node });
});

t.test('a handler in TypeScript compiles against the types of slipway-worker', async (t) => {
  writeFileSync(at('handler/handler.mts'), TYPED_HANDLER);
  const compiled = await faultsOf(at('handler'), 'handler.mts');
  t.match(compiled, /^handler\.mts\(10,\d+\): error TS2322: Type 'string' is not assignable/, 'the last line fails');
  t.equal(compiled.match(/error/g)?.length, 1, 'no other line does');
});

t.test('inlined packages export what they export by themselves', async (t) => {
  for (const [home, name] of [
    ['agent', '@slipway/gpu-agent'],
    ['cli', '@slipway/cli'],
  ] as const) {
    const inside = at(home, 'node_modules', name);
    const specifiers = (manifestOf(at(home), name).bundleDependencies as string[])
      .filter((each) => !each.startsWith('@slipway/') && each !== 'slipway-worker')
      .flatMap((each) => {
        const { exports } = manifestOf(inside, each) as { exports: Record<string, string> };
        return Object.keys(exports).map((path) => each + path.slice(1));
      });
    t.ok(specifiers.length > 4);
    writeFileSync(join(inside, 'exports.mjs'), EXPORTS);
    const found = JSON.parse(await output(join(inside, 'exports.mjs'), specifiers)) as [string, string[]][];
    for (const [specifier, names] of found) {
      const expected = Object.keys((await import(specifier)) as object).sort();
      const ofCommonJs = ['__esModule', 'module.exports'];
      t.same(
        names,
        expected.filter((each) => !ofCommonJs.includes(each)),
        specifier,
      );
    }
  }
});

t.test('all parts from their packages run a job', async (t) => {
  await addTo(at('cli'), ...['core', 'facades', 'edge', 'gpu-agent', 'dev'].map((each) => tarballs.get(each)!));
  t.match(JSON.parse(await versions()), {
    core: VERSION,
    facade: VERSION,
    edge: VERSION,
    agent: VERSION,
    start: VERSION,
  });
  const { url } = await createDatabase(t, { empty: true });
  const rootKey = randomBytes(24).toString('hex');
  const { address = '' } = await start(t, 'cli', 'core/main.js', {
    SLIPWAY_DATABASE_URL: url,
    SLIPWAY_CORE_LISTEN: '127.0.0.1:0',
    SLIPWAY_ROOT_KEY: rootKey,
    SLIPWAY_SECRET_KEY: randomBytes(32).toString('hex'),
  });
  const clients = grpcClients(address);
  t.teardown(() => clients.close());
  const { accountId } = await call(clients.access, 'createAccount', { name: 'packed' }, rootKey);
  const newKey = async (scope: KeyScope, owner: string): Promise<string> => {
    const fields = { name: 'packed', scope, endpointIds: [], accountId: owner, permissions: undefined };
    return (await call(clients.keys, 'createKey', fields, rootKey)).secret;
  };
  const collector = await receiveTraces(t);
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, SLIPWAY_TRACE_PERCENT: '100' };
  mkdirSync(at('data'));
  await start(t, 'agent', 'gpu-agent/slipway-agent.mjs', {
    SLIPWAY_CORE_ADDRESS: address,
    SLIPWAY_AGENT_KEY: await newKey(KeyScope.AGENT, ''),
    SLIPWAY_AGENT_DATA_DIR: at('data'),
    SLIPWAY_WORKER_USER: 'same',
    SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
    SLIPWAY_AGENT_CONTAINERS: 'none',
    ...traced,
  });
  const key = await newKey(KeyScope.ALL, accountId);
  writeFileSync(at('handler/handler.mjs'), HANDLER);
  const endpoint = await createEndpoint(clients, key, {
    command: [process.execPath, at('handler/handler.mjs')],
    workersMax: 1,
  });
  const { url: facade = '' } = await start(t, 'cli', 'facades/main.js', {
    SLIPWAY_CORE_ADDRESS: address,
    SLIPWAY_HTTP_PORT: '0',
    SLIPWAY_GRAPHQL_AT_START: 'false',
    SLIPWAY_LOG_LEVEL: 'error',
    ...traced,
  });
  const { addresses = {} } = await start(t, 'cli', 'edge/main.js', {
    SLIPWAY_EDGE_FACADES: new URL(facade).host,
    SLIPWAY_EDGE_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_DATA_DIR: at('edge'),
    SLIPWAY_EDGE_ENVOY: ENVOY,
    SLIPWAY_EDGE_THREADS: '1',
    SLIPWAY_LOG_LEVEL: 'error',
  });
  const service = `http://${addresses['public']}`;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const done = await fetch(`${service}/v2/${endpoint}/runsync`, {
    method: 'POST',
    headers: { ...headers, traceparent: TRACEPARENT },
    body: '{"input":{"name":"Ada"}}',
  });
  const from = pathToFileURL(at('handler/node_modules/slipway-worker/worker.js')).href;
  t.match(await done.json(), { status: 'COMPLETED', output: { hello: 'Ada', from } }, 'on the package it installed');
  for (const part of ['slipway-facade', 'slipway-agent'])
    await waitFor(`a span of ${part}`, () => collector.spans.some(({ service }) => service === part));
  t.same(collector.faults, []);
  const query = '{ myself { endpoints { id } } }';
  const graph = await fetch(`${service}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) });
  t.match(await graph.json(), { data: { myself: { endpoints: [{ id: endpoint }] } } }, 'GraphQL is built');
  for (const page of ['/console', '/v1/docs', '/v2/docs'])
    t.match(await (await fetch(service + page)).text(), /<!doctype html>/i, `${page} has its files`);
  const answer = await output(
    slipway,
    ['--json', 'jobs', 'run', '--endpoint', endpoint, '--input', '{"name":"Ada"}', '--wait'],
    { SLIPWAY_CORE_ADDRESS: address, SLIPWAY_API_KEY: key },
  );
  t.match(answer, /"hello": ?"Ada"/);
  await t.rejects(
    output(slipway, ['facade'], { SLIPWAY_HTTP_PORT: 'none' }),
    { code: 2, stderr: /SLIPWAY_HTTP_PORT/ },
    'the command runs the facade beside it',
  );
});

t.test('slipway start runs everything from packages, in the process of the command', async (t) => {
  const { url } = await createDatabase(t, { empty: true });
  const port = String(await quietPort());
  writeFileSync(at('greet.mjs'), HANDLER);
  mkdirSync(at('started'));
  const args = ['start', '--handler', at('greet.mjs'), '--port', port, '--database-url', url, '--quiet'];
  // The installation has no Node of its own, because no scripts ran.
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  const env = { ...process.env, PATH: path, SLIPWAY_AGENT_CONTAINERS: 'none' };
  const child = spawn(at('cli/node_modules/.bin/slipway'), args, {
    cwd: at('started'),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => {
      said += part.toString();
    });
  const ended = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  await waitFor('everything to be ready', () => {
    if (child.exitCode !== null) throw new Error(said);
    return said.includes('Slipway is ready');
  });
  t.match(processTable().find(({ pid }) => pid === child.pid)?.command, /@slipway\/dev\/start\.js/);
  const answer = await output(slipway, [
    '--local-env',
    at('started/.slipway/local.env'),
    'jobs',
    'run',
    '--input',
    '{"name":"Ada"}',
    '--wait',
  ]);
  t.match(answer, /"hello": ?"Ada"/, 'a handler finds slipway-worker without installing it');
  child.kill('SIGTERM');
  t.same(await ended, [0, null]);
  t.match(said, /everything has stopped/);
});

t.test('npm alone packs none of them', async (t) => {
  const prepack = (folder: string): unknown =>
    (JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest).scripts?.['prepack'];
  for (const each of PACKED) t.equal(prepack(each), 'node ../tools/pack/refuse.mjs', each);
  const [one = ''] = PACKED;
  await t.rejects(npm(root, 'pack', '--dry-run', '-w', one), { message: new RegExp(`npm run pack -- ${one}`) });
});

/** Returns what the compiler says of a file in a folder, under strict settings. */
async function faultsOf(folder: string, file: string): Promise<string> {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const strict = ['--strict', '--noEmit', '--target', 'esnext', '--module', 'nodenext', '--pretty', 'false'];
  return promisify(execFile)(tsc, [...strict, file], { cwd: folder }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
}

/** Starts a program of an installation, which ends with the test. Returns its message when it is ready. */
async function start(t: Test, home: string, file: string, env: Record<string, string>): Promise<ReadyMessage> {
  const child = new Child<ReadyMessage>(
    nodeProcess({
      name: file.split('/')[0]!,
      root: at(home),
      file: join('node_modules/@slipway', file),
      logDir: folder,
      env: () => ({ ...process.env, ...env }),
    }),
  );
  child.onEndedByItself = (how) => {
    t.fail(how);
  };
  t.teardown(() => child.stop());
  return child.start();
}

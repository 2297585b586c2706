// test: postgres
/**
 * Failures give one sentence and an exit code: 1 rejected, 2 wrong usage, 3 core not reachable. A key is never echoed.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { writeLocalEnv } from '@slipway/dev/local-env';
import type { Test } from 'tap';
import t from 'tap';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import type { CommandLine } from './command-line.ts';
import { commandLine } from './command-line.ts';

const SECRET = 'rpa_thisMustNeverBeShown';

t.setTimeout(600_000);

/** Runs commands that exit with 2 before anything is sent, and checks their output. */
async function refuses(t: Test, cli: CommandLine, cases: [args: string[], text: RegExp][]): Promise<void> {
  for (const [args, text] of cases) {
    const { code, stdout, stderr } = await cli.run(...args);
    t.match({ code, stdout, stderr }, { code: 2, stdout: '', stderr: text }, `slipway ${args.join(' ')}`);
    t.notMatch(stderr, /\n +at /, 'no stack');
    t.notMatch(stderr, SECRET);
  }
}

t.test('wrong usage', async (t) => {
  const cli = commandLine(t, {
    SLIPWAY_CORE_ADDRESS: '127.0.0.1:1',
    SLIPWAY_API_KEY: SECRET,
    SLIPWAY_ENDPOINT_ID: 'abcdefghij1234',
  });
  writeFileSync(join(cli.cwd, 'broken.json'), '{"a":');
  writeFileSync(join(cli.cwd, 'latin1.json'), Buffer.from([0x7b, 0x22, 0xe9, 0x22, 0x7d]));
  await refuses(t, cli, [
    [['nosuch'], /unknown command 'nosuch'\nThe option --help/],
    [['jobs', 'lst'], /Did you mean list\?/],
    [['jobs', 'show', 'x'], /Did you mean get\?/],
    [['get', 'endpoint', 'x'], /Did you mean slipway endpoints get\?/],
    [['jobs', 'delete', 'x'], /Did you mean cancel\?/],
    [['jobs', 'run', '--endpoint', 'abcdefghijklmn', '--input', '{bad}'], /The input is not JSON/],
    [['jobs', 'list', '--statu', 'failed'], /Did you mean --status\?/],
    [['jobs', 'list', '--since', '1h', '--from', '2026-01-31'], /either --since or --from/],
    [['jobs', 'list', '--nosuch'], /unknown option '--nosuch'[^]*--help/],
    [['jobs', 'get'], /missing required argument 'job'/],
    [['endpoints', 'list', 'extra'], /too many arguments/],
    [['endpoints', 'create'], /required option '--template <template>' not specified/],
    [['jobs', 'run', '--input', '{"a":'], /The input is not JSON: .*A shell keeps quotes/],
    [['jobs', 'run', '--input', '[1]'], /must be a JSON object/],
    [['jobs', 'run', '--input', 'null'], /must be a JSON object/],
    [['jobs', 'run', '--input', '@nosuch.json'], /nosuch\.json cannot be read \(ENOENT\)/],
    [['jobs', 'run', '--input', '@broken.json'], /broken\.json is not JSON/],
    [['jobs', 'run', '--input', '@latin1.json'], /is not UTF-8/],
    [['jobs', 'list', '--limit', '0'], /whole number from 1 to 1000/],
    [['jobs', 'list', '--limit', '1e3'], /whole number from 1 to 1000/],
    [['jobs', 'list', '--offset', '-1'], /whole number from 0/],
    [['jobs', 'list', '--status', 'lost'], /one of in-queue, in-progress/],
    [['jobs', 'run', '--input', '{}', '--ttl', '90'], /a number with a unit/],
    [['endpoints', 'update', 'x', '--workers-min', '99999999999'], /whole number/],
    [['endpoints', 'update', 'x', '--env', SECRET], /NAME=value/],
    [['keys', 'create', 'a', '--scope', 'everything'], /one of all, read-only, restricted, agent/],
    [['keys', 'create', 'a', '--jobs', 'read'], /A key of scope restricted needs/],
    [['--core', 'http://127.0.0.1:50051', 'machines'], /must be HOST:PORT/],
    [['--core', '127.0.0.1:99999', 'machines'], /must be HOST:PORT/],
    [['--key', `${SECRET}\n`, 'machines'], /holds a character that no key has/],
    [['--key', '', 'machines'], /empty/],
    [['--local-env', 'nosuch.env', 'machines'], /nosuch\.env cannot be read/],
    [['agent', '--cpu-slots', '-3'], /whole number from 0/],
    [['agent'], /joins with a token .*, or with a key of scope agent/],
  ]);
  t.match(await cli.runWith('not json', 'jobs', 'run', '-i', '-'), {
    code: 2,
    stderr: /The input from stdin is not JSON/,
  });
});

t.test('no key, and core not reachable', async (t) => {
  const bare = commandLine(t, {});
  t.match(await bare.start('--core', '127.0.0.1:1', 'endpoints', 'list').ended, {
    code: 2,
    stdout: '',
    stderr: /^error: There is no API key/,
  });
  t.match(await bare.run('--core', '127.0.0.1:1', 'machines'), {
    code: 2,
    stdout: '',
    stderr: /^error: This command is for the operator.*SLIPWAY_ROOT_KEY/,
  });
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_API_KEY: SECRET });
  const text =
    /^error: Core cannot be reached at 127\.0\.0\.1:1 \(no process listens there\)\. Start it.*--core HOST:PORT\.\n$/;
  const expected = { code: 3, stdout: '', stderr: text };
  t.match(await cli.start('endpoints', 'list').ended, expected);
  const { stderr, ...rest } = await cli.run('endpoints', 'list', '--json');
  t.same(rest, { code: 3, stdout: '' }, 'nothing on stdout for programs either');
  t.match(JSON.parse(stderr), { error: { code: 'UNREACHABLE', message: /^Core cannot be reached/, exitCode: 3 } });
  t.match(JSON.parse((await cli.run('--json', 'jobs', 'lst')).stderr), {
    error: { code: 'USAGE', message: "unknown command 'lst'", hint: /^Did you mean list\?/, exitCode: 2 },
  });
});

t.test('Ctrl-C ends a call that gets no answer', async (t) => {
  const deaf = createServer(() => undefined);
  await new Promise<void>((resolve) => {
    deaf.listen(0, '127.0.0.1', resolve);
  });
  // Its connection holds unread bytes, so the end of its client does not close it.
  deaf.on('connection', (socket) => t.teardown(() => socket.destroy()));
  t.teardown(() => deaf.close());
  const cli = commandLine(t, {
    SLIPWAY_CORE_ADDRESS: `127.0.0.1:${(deaf.address() as AddressInfo).port}`,
    SLIPWAY_API_KEY: SECRET,
  });
  const connected = new Promise((resolve) => {
    deaf.once('connection', resolve);
  });
  const run = cli.start('endpoints', 'list');
  await connected;
  run.child.kill('SIGINT');
  t.match(await run.ended, { code: 130, stdout: '' });
});

t.test('Ctrl-C ends the wait for a core that is away', async (t) => {
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_API_KEY: SECRET });
  const run = cli.start('jobs', 'run', '--wait', '--endpoint', 'abcdefghijklmn', '--input', '{}');
  await run.wrote('stderr', /Core does not answer; trying again/);
  run.child.kill('SIGINT');
  t.match(await run.ended, { code: 130, stdout: '' });
});

t.test('refused by the service; the facts of npm start', async (t) => {
  const system = await startSystem(t);
  const address = system.cores[0]!.address;
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: address, SLIPWAY_API_KEY: SECRET });
  const unknown = await cli.run('endpoints', 'list');
  t.match(unknown, { code: 1, stdout: '', stderr: /^error: UNAUTHORIZED: .*the one of SLIPWAY_API_KEY\.\n$/ });
  t.notMatch(unknown.stderr, SECRET);
  t.match(JSON.parse((await cli.run('endpoints', '--json')).stderr), { error: { code: 'UNAUTHORIZED', exitCode: 1 } });
  const endpointId = await system.createEndpoint({ command: jsHandler('all.js') });
  const good = ['--key', system.key];
  t.match(await cli.run(...good, 'jobs', 'status', 'nosuch', '-e', endpointId), {
    code: 1,
    stderr: /^error: JOB_NOT_FOUND: /,
  });
  t.match(await cli.run(...good, 'jobs', 'list', '-e', 'abcdefghij1234'), {
    code: 1,
    stderr: /^error: ENDPOINT_NOT_FOUND: /,
  });
  const short = ['jobs', 'run', '-e', endpointId, '-i', '{}', '--execution-timeout', '1s'];
  t.match(await cli.run(...good, ...short), { code: 1, stdout: '', stderr: /^error: INVALID_POLICY: / });
  t.match(await cli.run(...good, 'jobs', 'run', '-e', endpointId, '-i', '{}', '--webhook', 'ftp://x'), {
    code: 1,
    stderr: /INVALID_WEBHOOK/,
  });

  const beside = commandLine(t, {});
  mkdirSync(join(beside.cwd, '.slipway'));
  const file = join(beside.cwd, '.slipway', 'local.env');
  writeLocalEnv(file, { url: system.url, apiKey: system.key, endpointId, coreAddress: address });
  const asked = await beside.run('jobs', 'run');
  t.match(asked, {
    code: 2,
    stderr: /What is the input of the job\? The endpoint has no example and no completed job\. Give --input/,
  });
  const exampleInput = '{"text":"it\'s * $HOME"}';
  t.match(await beside.run('endpoints', 'update', endpointId, '--example-input', exampleInput), { code: 0 });
  const ran = await beside.run('jobs', 'run', '--wait');
  t.match(ran, { code: 0, stderr: /No --input: taking the example, \{"text":"it's \* \$HOME"\}/ });
  t.same(JSON.parse(ran.stdout), { text: "it's * $HOME" }, 'every command works without any option');
  t.match(await beside.run('jobs', 'list'), { code: 0, stdout: /COMPLETED/ });
  writeFileSync(join(beside.cwd, '.slipway', 'secrets.json'), JSON.stringify({ rootKey: system.rootKey }));
  t.match(await beside.run('machines'), { code: 0, stdout: /connected/ }, "the operator's commands too");
  t.match(await beside.run('endpoints', 'get'), { code: 0, stdout: new RegExp(`^id +${endpointId}`) });
  const elsewhere = await beside.run('--core', '127.0.0.1:1', 'endpoints', 'list');
  t.match(elsewhere, { code: 2, stderr: /local\.env belongs to 127/ }, 'its key goes to no other core');
});

// test: postgres, 30 s
/** `slipway jobs` against a whole system: run, wait, follow, cancel, retry, list, purge. */
import { rmSync, writeFileSync } from 'node:fs';
import { showActivity } from '@slipway/dev/activity';
import { WorkerCrashes } from '@slipway/dev/processes/worker-crashes';
import { CoreServices } from '@slipway/facades/core-client/core-services';
import { systemTransport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { webhookReceiver } from '../helpers/net/webhook-receiver.ts';
import { scratch } from '../helpers/scratch.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { commandLine } from './command-line.ts';

interface JobDocument {
  id: string;
  status: string;
  output?: unknown;
  workerId?: string;
}

const ID = /^[0-9a-f-]{36}-u1$/;

t.setTimeout(600_000);

t.test('jobs', async (t) => {
  const system = await startSystem(t);
  const files = await scratch(t);
  const endpointId = await system.createEndpoint({
    command: jsHandler('all.js'),
    workersMax: 1,
    fields: { name: 'all' },
  });
  const talker = await system.createEndpoint({ command: jsHandler('talker.js'), fields: { name: 'talker' } });
  const variables = {
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    SLIPWAY_API_KEY: system.key,
    SLIPWAY_ENDPOINT_ID: endpointId,
  };
  const cli = commandLine(t, variables);
  const http = endpointJobs(system, endpointId);
  const input = (value: object): string => JSON.stringify(value);

  await t.test('a job of another endpoint is found by its id, and jobs by their metadata', async (t) => {
    const run = ['jobs', 'run', '-e', 'talker', '--metadata', 'order=1042', '--metadata', 'user=ann=b'];
    const id = (await cli.run(...run, '--input', input({ mode: 'echo' }))).stdout.trim();
    const { stdout } = await cli.run('jobs', 'get', id, '--json');
    t.match(JSON.parse(stdout), { id, metadata: { order: '1042', user: 'ann=b' } });
    t.match((await cli.run('jobs', 'get', id)).stdout, /metadata +order=1042 user=ann=b/);
    const listed = await cli.run('jobs', 'list', '--all-endpoints', '--metadata', 'order=1042');
    t.match(listed.stdout, new RegExp(`^ID +ENDPOINT.*\n${id} +talker `));
    t.match((await cli.run('jobs', 'list', '--metadata', 'order=1042', '--json')).stdout, /"requests": \[\]/);
    t.match(await cli.run('jobs', 'get', 'nowhere'), { code: 1, stderr: /no job "nowhere" on any endpoint/ });
    t.match(await cli.run('jobs', 'list', '--all-endpoints', '--offset', '1'), { code: 2 });
  });

  await t.test('run answers the id at once', async (t) => {
    const { code, stdout, stderr } = await cli.start('jobs', 'run', '--input', input({ mode: 'echo', a: 1 })).ended;
    t.equal(code, 0);
    const id = stdout.trim();
    t.match(id, ID, 'the id and nothing else on stdout');
    t.match(stderr, new RegExp(`slipway jobs logs -f ${id}`), 'and how to go on');
    t.match(await http.settled(id), { status: 'COMPLETED', output: { mode: 'echo', a: 1 } });
    const { stdout: record } = await cli.run('jobs', 'status', id, '--json');
    t.same(JSON.parse(record), await http.look(id), 'the record is that of GET /status');
    const shown = await cli.run('jobs', 'status', id);
    t.match(shown, { code: 0, stdout: new RegExp(`id +${id}\\nstatus +COMPLETED`), stderr: '' });
  });

  await t.test('run --wait shows the result; input from a file and from stdin', async (t) => {
    const value = input({ mode: 'value', value: { text: 'hello', list: [1, 2] } });
    const ended = await cli.run('jobs', 'run', '--endpoint', 'all', '--wait', '-i', value);
    t.same([ended.code, JSON.parse(ended.stdout)], [0, { text: 'hello', list: [1, 2] }]);
    t.match(ended.stderr, /is COMPLETED: waited .*, ran .* on worker /, 'how it went is no part of the result');
    const piped = cli.start('jobs', 'run', '-w', '-i', '-');
    piped.child.stdin!.end(input({ mode: 'value', value: 'from stdin' }));
    t.equal((await piped.ended).stdout, '"from stdin"\n');
    writeFileSync(files.path('input.json'), input({ mode: 'value', value: 'from a file' }));
    const document = await cli.json<JobDocument>('jobs', 'run', '-w', '-i', `@${files.path('input.json')}`);
    t.match(document, { id: ID, status: 'COMPLETED', output: 'from a file' });
    t.same(document, await http.look(document.id), 'the document is the record of GET /status');
  });

  await t.test('a failing job', async (t) => {
    const ended = await cli.run(
      'jobs',
      'run',
      '--wait',
      '--input',
      input({ mode: 'throw', message: 'the engine stalled' }),
    );
    t.match(ended, { code: 4, stdout: /status +FAILED[^]*error +Error: the engine stalled\n +at / });
    const { code, stdout } = await cli.run(
      'jobs',
      'run',
      '--wait',
      '--json',
      '--input',
      input({ mode: 'error', error: 'no fuel' }),
    );
    t.match([code, JSON.parse(stdout)], [4, { status: 'FAILED', error: /no fuel/, id: ID }]);
    const page = await cli.json<{ requests: JobDocument[]; total: number }>(
      'jobs',
      'list',
      '--status',
      'failed',
      '--limit',
      '1',
    );
    t.match(page, { requests: [{ id: JSON.parse(stdout).id, status: 'FAILED' }], total: 2, hasMore: true });
    t.match(await cli.run('jobs', 'list', '--status', 'FAILED'), {
      stdout: /^ID +STATUS +SUBMITTED .*\n.* FAILED .*no fuel/,
    });
    t.match(await cli.json('jobs', 'list', '--to', '2020-01-31'), { requests: [], total: 0 }, 'none is so old');
    t.match(await cli.json('jobs', 'list', '--from', '2020-01-31T12:00:00Z', '--status', 'failed'), { total: 2 });
    t.match(await cli.run('jobs', 'list', '--from', '2020-01-31', '--to', '2020-01-30'), {
      stderr: /submitted_until must be after submitted_from/,
    });
  });

  await t.test('status, cancel and retry', async (t) => {
    const slow = input({ mode: 'progress', value: { done: '40 %' }, file: files.path('go') });
    const id = (await cli.run('jobs', 'run', '-i', slow)).stdout.trim();
    await waitFor('progress', async () => (await cli.json<JobDocument>('jobs', 'status', id)).output);
    t.match(await cli.run('jobs', 'status', id), { stdout: /status +IN_PROGRESS[^]*progress +\{\n +"done": "40 %"/ });
    const queued = (await cli.run('jobs', 'run', '-i', '{}')).stdout.trim();
    t.match(await cli.run('jobs', 'cancel', queued), { code: 0, stdout: /status +CANCELLED/ });
    t.match(await cli.run('jobs', 'retry', queued), { code: 1, stdout: '', stderr: /^error: JOB_NOT_RETRYABLE: / });
    t.match(await cli.json('jobs', 'cancel', id), { id, status: 'CANCELLED' });

    const failing = input({ mode: 'fail-then', file: files.path('works'), value: 'at last' });
    const { id: failed } = JSON.parse(
      (await cli.run('jobs', 'run', '-w', '-i', failing, '--json')).stdout,
    ) as JobDocument;
    files.open('works');
    t.match(await cli.run('jobs', 'retry', failed, '--wait'), { code: 0, stdout: '"at last"\n' });
  });

  await t.test('the webhook calls of a job, and one of them once more', async (t) => {
    const hooks = await webhookReceiver(t);
    const { id } = await cli.json<JobDocument>('jobs', 'run', '-w', '-i', '{}', '--webhook', hooks.url('cli'));
    await hooks.received('cli', 1);
    const listed = await waitFor('its end', async () => {
      const { deliveries } = await cli.json<{ deliveries: { state: string }[] }>('jobs', 'webhooks', id);
      return deliveries[0]?.state === 'DELIVERED' && deliveries;
    });
    t.match(listed, [{ id: new RegExp(`^${id}\\.`), tries: 1, redrives: 0 }]);
    t.match(await cli.run('jobs', 'redrive', id), {
      code: 0,
      stdout: /^ID +STATE +TRIES[^]* (WAITING|DELIVERED) +\d +1/,
    });
    await hooks.received('cli', 2);
    const silent = (await cli.json<JobDocument>('jobs', 'run', '-w', '-i', '{}')).id;
    t.match(await cli.run('jobs', 'redrive', silent), {
      code: 1,
      stdout: '',
      stderr: /^error: WEBHOOK_NOT_REDRIVABLE: /,
    });
  });

  await t.test('progress is shown while it waits, and Ctrl-C leaves the job alone', async (t) => {
    const run = cli.start(
      'jobs',
      'run',
      '--wait',
      '-i',
      input({ mode: 'progress', value: 'half way', file: files.path('slow') }),
    );
    const [, id] = await run.wrote('stderr', /^(\S+-u1) is IN_PROGRESS: "half way"$/m);
    run.child.kill('SIGINT');
    t.match(await run.ended, {
      code: 130,
      stdout: '',
      stderr: new RegExp(`The job continues. See it again: slipway jobs get ${id}\n$`),
    });
    t.equal((await http.look(id!)).status, 'IN_PROGRESS');

    const waiting = cli.start('jobs', 'run', '--wait', '-i', '{}');
    await waiting.wrote('stderr', /is IN_QUEUE: workers: 1 running, 1 in queue/);
    t.match(await cli.run('jobs', 'purge'), { code: 0, stdout: '1 queued job deleted.\n' });
    t.match(
      await waiting.ended,
      { code: 1, stdout: '', stderr: /error: JOB_NOT_FOUND: / },
      'a job that was deleted meanwhile',
    );
    files.open('slow');
    t.match(await cli.json('jobs', 'status', id!, '--wait'), { status: 'COMPLETED', output: { done: true } });
    t.match(await cli.json('jobs', 'purge'), { removed: 0, status: 'completed' });
  });

  await t.test('a crash of the worker that a job waits for is explained, once', async (t) => {
    const broken = await system.createEndpoint({
      command: ['sh', '-c', 'echo no such module >&2; exit 3'],
      ready: 0,
      fields: { name: 'broken' },
    });
    const run = cli.start('jobs', 'run', '-e', 'broken', '--wait', '-i', '{}');
    const note = new RegExp(`crashed .* exit code 3 .*no such module.* See more: slipway why ${broken}\n`);
    await run.wrote('stderr', note);
    t.match(await cli.run('jobs', 'purge', '-e', 'broken'), { code: 0 });
    const { stderr } = await run.ended;
    t.equal(stderr.split('See more: slipway why').length, 2);
  });

  await t.test('streamed output', async (t) => {
    const values = ['one', { two: 2 }, [3]];
    const ended = await cli.run('jobs', 'run', '--wait', '-i', input({ mode: 'stream', values }));
    t.match(ended, { code: 0, stdout: '"one"\n{"two":2}\n[3]\n' }, 'each piece is a line');
    const document = await cli.json('jobs', 'run', '--wait', '-i', input({ mode: 'stream', values }));
    t.match(document, { status: 'COMPLETED', stream: values.map((output) => ({ output })) });
    files.makeFolder('live');
    const live = cli.start('jobs', 'run', '--wait', '-i', input({ mode: 'stream', values, gate: files.path('live') }));
    files.open('live/1');
    await live.wrote('stdout', /^"one"\n$/);
    files.open('live/2');
    await live.wrote('stdout', /^"one"\n\{"two":2\}\n$/);
    files.open('live/3');
    t.equal((await live.ended).code, 0);
  });

  await t.test('a lost attempt is named, and its streamed output is left out', async (t) => {
    files.makeFolder('lost');
    const job = { mode: 'stream', values: ['a', 'b'], gate: files.path('lost'), note: files.path('pid') };
    const run = cli.start('jobs', 'run', '--wait', '-i', input(job));
    const [, id] = await run.wrote('stderr', /^(\S+-u1) is/m);
    const json = cli.start('jobs', 'status', '--wait', '--json', id!);
    files.open('lost/1');
    await run.wrote('stdout', /^"a"\n/);
    process.kill(Number((await files.notes('pid', 1))[0]), 'SIGKILL');
    await files.notes('pid', 2);
    files.open('lost/2');
    const note = /Attempt 1 was lost, and its output is invalid; attempt 2 starts again/;
    t.match(await run.ended, { code: 0, stdout: '"a"\n"a"\n"b"\n', stderr: note });
    t.same(JSON.parse((await json.ended).stdout).stream, [{ output: 'a' }, { output: 'b' }]);
  });

  await t.test("logs -f shows progress, stream and the worker's lines while they come", async (t) => {
    files.makeFolder('said');
    const said = input({ words: ['ahoy', 'farewell'], gate: files.path('said') });
    const id = (await cli.run('jobs', 'run', '-e', 'talker', '-i', said)).stdout.trim();
    const logs = cli.start('jobs', 'logs', '-f', id, '-e', talker);
    const lines = cli.start('jobs', 'logs', '-f', id, '-e', talker, '--json');
    await logs.wrote('stdout', /^progress "warming up"$/m);
    files.open('said/1');
    await logs.wrote('stdout', /^stream +"ahoy"$/m);
    await logs.wrote('stdout', /^worker +saying ahoy$/m);
    t.notMatch(logs.stdout, /farewell/);
    t.notMatch(logs.stdout, /the talker is here/, 'which its worker wrote before the job');
    files.open('said/2');
    const { code, stdout } = await logs.ended;
    t.equal(code, 0);
    t.match(stdout, /^stream +"farewell"$[^]*^worker +saying farewell$[^]*^status +COMPLETED\n$/m);
    t.equal(stdout.match(/saying ahoy/g)?.length, 1, 'nothing twice');
    const documents = (await lines.ended).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    t.ok(documents.some((line) => line['source'] === 'stream' && line['output'] === 'ahoy'));
    t.same(documents.at(-1), { source: 'status', text: 'COMPLETED' });
    t.match(await cli.json('jobs', 'logs', id, '-e', 'talker'), {
      id,
      status: 'COMPLETED',
      stream: [{ output: 'ahoy' }, { output: 'farewell' }],
      worker: ['saying ahoy', 'saying farewell'],
    });
    const { workerId } = await cli.json<JobDocument>('jobs', 'status', id, '-e', 'talker');
    t.match(await cli.run('logs', workerId!, '--tail', '1'), { code: 0, stdout: 'saying farewell\n', stderr: '' });
  });

  await t.test('a reader that closes the pipe is no fault', async (t) => {
    const run = cli.start('jobs', 'list');
    run.child.stdout!.destroy();
    t.match(await run.ended, { code: 0, stderr: '' });
  });

  await t.test('the terminal of npm start reports workers replaced at once, and cancelled jobs', async (t) => {
    const startedMs = systemClock.nowMs();
    const once = endpointJobs(
      system,
      await system.createEndpoint({
        command: jsHandler('all.js'),
        workersMax: 1,
        retryLimit: 0,
        fields: { name: 'once' },
      }),
    );
    t.match(await once.settled(await once.run({ mode: 'exit', code: 9 })), { status: 'FAILED' });
    await waitFor('its worker to be replaced', async () => (await once.health()).workers.ready === 1);
    const said: string[] = [];
    const told = (line: RegExp) => waitFor(`${line} in ${said.join('\n')}`, () => said.some((text) => line.test(text)));
    const core = new CoreServices({
      addresses: [system.cores[0]!.address],
      transport: systemTransport,
      clock: systemClock,
      random: systemRandom,
    });
    const ending = new AbortController();
    const step = (text: string): void => {
      said.push(text);
    };
    const crashes = new WorkerCrashes({ problem: step, step }, startedMs);
    const showing = await showActivity({
      core,
      apiKey: system.key,
      endpointId: once.id,
      crashes,
      clock: systemClock,
      signal: ending.signal,
      step,
    });
    t.teardown(async () => {
      ending.abort();
      await showing.over;
      core.close();
    });
    await told(
      /^Worker \w+ of once crashed; another one will be started in its place:\nThe worker ended with exit code 9/,
    );
    const first = (await once.runSync({})).id;
    await told(new RegExp(`^job ${String(first).slice(-15, -3)} COMPLETED`));
    const waiting = await once.run({ mode: 'until', file: files.path('never') });
    await once.cancel(waiting);
    await told(new RegExp(`^job ${waiting.slice(-15, -3)} CANCELLED`));
    const ids = await Promise.all(
      Array.from({ length: 15 }, () => http.run({ mode: 'until', file: files.path('never') })),
    );
    await Promise.all(ids.map((id) => http.cancel(id)));
    await told(/^job \w+ of all CANCELLED/);
    t.equal(said.filter((text) => text.includes('of once crashed')).length, 1, 'each crash is told once');
    t.equal(said.filter((text) => text.includes(`job ${waiting.slice(-15, -3)}`)).length, 1, 'and each job');
    const silent: string[] = [];
    const later = new WorkerCrashes(
      { problem: (text) => silent.push(text), step: (text) => silent.push(text) },
      systemClock.nowMs(),
    );
    const { ended } = await call(system.clients.machines, 'listWorkers', { endpointId: once.id }, system.key);
    later.update('once', [], ended);
    t.same([ended.length, silent.length], [1, 0], 'a later npm start takes it for old');
  });

  await t.test('core is started again while a job is waited for', async (t) => {
    rmSync(files.path('go'), { force: true });
    const run = cli.start('jobs', 'run', '--wait', '-i', input({ mode: 'until', file: files.path('go') }));
    await run.wrote('stderr', /is IN_PROGRESS/);
    const { address } = system.cores[0]!;
    await system.cores[0]!.stop();
    await run.wrote('stderr', /Core does not answer; trying again/);
    await system.startCore(address);
    files.open('go');
    t.match(await run.ended, { code: 0, stdout: /"done": true/ });
  });
});

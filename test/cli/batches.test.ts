// test: postgres, 20 s
/** `slipway batches` against a core and an agent that answers what it is asked. */
import { linkSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';
import { batchCalls, line, ROUTE } from '../core/batches/batch-calls.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { commandLine } from './command-line.ts';

/** Members of a batch that the tests read. */
interface BatchDocument {
  id: string;
  state: string;
  inputFileId: string;
}

t.setTimeout(300_000);

const core = await startReplicas(t, 1);
await core.joinAgent({
  capacity: 20,
  onAssignment: ({ input }) => {
    const { openai_input: request } = JSON.parse(input!.toString()) as {
      openai_input: { messages: { content: string }[] };
    };
    const { content } = request.messages[0]!;
    if (content === 'hold') return undefined;
    if (content === 'fail') return { kind: OutcomeKind.FAILED, error: '{"error":{"message":"too long","code":400}}' };
    return { output: Buffer.from(`[${JSON.stringify({ choices: [content] })}]`) };
  },
});
const endpointId = await core.createEndpoint({ name: 'large', modelAliases: ['gpt-4o'] });
await core.createEndpoint({ name: 'idle', workersMin: 0 });
await core.ready(endpointId);
const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: core.replicas[0]!.address, SLIPWAY_API_KEY: core.key });
const put = (name: string, ...lines: string[]): string => {
  writeFileSync(join(cli.cwd, name), lines.map((text) => `${text}\n`).join(''));
  return name;
};
const files = async (): Promise<number> => {
  const all = { after: '', limit: 0, ascending: false, purpose: 'batch' };
  return (await call(core.clients.files, 'listFiles', all, core.key)).files.length;
};
/** Returns the names of the requests, in order. */
const names = (text: string): string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((each) => (JSON.parse(each) as { custom_id: string }).custom_id);

t.test('run --wait writes results to stdout; errors are read afterwards', async (t) => {
  const file = put('mixed.jsonl', line('a', 'one'), line('b', 'fail'), line('c', 'drei – ü'));
  const { code, stdout, stderr } = await cli.run('batches', 'run', file, '--wait');
  t.equal(code, 4, 'a request failed');
  t.same(names(stdout), ['a', 'c']);
  t.match(stdout, 'drei – ü');
  t.match(stderr, /Uploading mixed\.jsonl\.\n[^]*batch_\w+ is completed: 2 of 3 requests succeeded/);
  const [, id] = /slipway batches output (batch_\w+) --errors/.exec(stderr)!;
  const errors = await cli.run('batches', 'output', id!, '--errors');
  t.match(errors, { code: 0, stdout: /"too long"/, stderr: '' });
  t.same(names(errors.stdout), ['b']);
  t.match(await cli.run('batches', 'output', id!), { code: 0, stdout, stderr: '' }, 'results once more');
});

t.test('run --wait --output: a file of several pieces', async (t) => {
  const wanted = Array.from({ length: 12 }, (_, index) => `r-${index}`);
  const file = put('long.jsonl', ...wanted.map((name) => line(name, name.repeat(50_000))));
  put('results.jsonl', 'of an earlier run');
  const args = ['batches', 'run', file, '--wait', '--output', 'results.jsonl'];
  t.match(await cli.json(...args), { state: 'COMPLETED', total: 12, completed: 12, failed: 0, route: ROUTE });
  const results = readFileSync(join(cli.cwd, 'results.jsonl'), 'utf8');
  t.same(names(results), wanted);
  t.ok(wanted.every((name) => results.includes(`"${name.repeat(50_000)}"`)));
  t.match(await cli.run('batches', 'run', file, '--wait', '--output', 'nowhere/results.jsonl'), {
    code: 2,
    stderr: /^error: The file .*nowhere\/results\.jsonl cannot be written \(ENOENT\)/,
  });
});

t.test('list, get and cancel; why a batch does not advance', async (t) => {
  const { code, stdout, stderr } = await cli.run('batches', 'run', put('idle.jsonl', line('a', 'one', 'idle')));
  const id = stdout.trim();
  t.match(id, /^batch_\w{24}$/, 'the id and nothing else');
  t.match({ code, stderr }, { code: 0, stderr: new RegExp(`slipway batches get ${id}`) });
  const { stalled } = await waitFor('the reason', async () => {
    const batch = await batchCalls(core).get(id);
    return batch.stalled !== '' && batch;
  });
  t.match(await cli.run('batches', 'list'), {
    code: 0,
    stdout: new RegExp(
      `^ID +STATE +MODEL +ROUTE +REQUESTS +COMPLETED +FAILED +CREATED +WHY\n` +
        `${id} +in progress +idle +${ROUTE} +1 +0 +0 .* No worker runs at `,
    ),
    stderr: '',
  });
  t.match(await cli.run('batches', 'list', '--limit', '1'), { stderr: `There are more: --after ${id}\n` });
  const rest = await cli.json<{ batches: BatchDocument[] }>('batches', 'list', '--after', id);
  t.equal(rest.batches.length, 2);
  t.match(await cli.json('batches', 'get', id), { id, state: 'IN_PROGRESS', stalled, model: 'idle', faults: [] });
  t.match(await cli.run('batches', 'get', id), {
    code: 0,
    stdout: /^state +in progress\nstalled +No worker runs at /m,
  });
  t.match(await cli.run('batches', 'output', id), { code: 1, stderr: /^error: The batch is in progress, and has/ });
  t.match(await cli.run('batches', 'cancel', id), { code: 0, stdout: /^state +(cancelling|cancelled)$/m, stderr: '' });
});

t.test('a batch of an endpoint', async (t) => {
  const inputs = [Buffer.from('{"openai_input":{"messages":[{"content":"one"}]}}')];
  const { batch } = await call(core.clients.batches, 'createDraft', { endpointId, inputs }, core.key);
  const { id } = batch!;
  t.match(await cli.json('batches', 'list', '-e', 'large'), { batches: [{ id, state: 'DRAFT', endpointId }] });
  t.match(await cli.run('batches', 'get', id, '-e', 'large'), { code: 0, stdout: /^state +draft$/m });
  t.match(await cli.run('batches', 'get', id), { code: 1, stderr: /^error: NOT_FOUND: / }, 'it is of no file');
  t.match(await cli.json('batches', 'cancel', id, '-e', 'large'), { id, state: /^CANCELL/ });
});

t.test('an interrupted wait leaves the batch', async (t) => {
  const run = cli.start('batches', 'run', put('held.jsonl', line('a', 'hold')), '--wait');
  const [, id] = await run.wrote('stderr', /(batch_\w+) is in progress/);
  run.child.kill('SIGINT');
  t.match(await run.ended, {
    code: 130,
    stdout: '',
    stderr: new RegExp(`The batch continues\\. See it again: slipway batches get ${id}`),
  });
  t.match(await cli.json('batches', 'get', id!), { state: 'IN_PROGRESS', total: 1 });
  t.equal((await cli.run('batches', 'cancel', id!)).code, 0);
});

t.test('faulty files and faulty command lines', async (t) => {
  const file = put('faults.jsonl', line('a', 'one'), '{"custom_id"');
  const failed = await cli.run('batches', 'run', file, '--wait');
  t.match(failed, { code: 4, stdout: /^state +failed\n[^]*^faults +line 2: /m });
  const before = await files();
  const usage = (text: RegExp) => ({ code: 2, stdout: '', stderr: text });
  t.match(await cli.run('batches', 'run', 'nosuch.jsonl'), usage(/^error: .*nosuch\.jsonl cannot be read \(ENOENT\)/));
  t.match(await cli.run('batches', 'run', '.', '--route', ROUTE), usage(/cannot be read \(EISDIR\)/));
  t.match(await cli.run('batches', 'run', put('text.jsonl', 'hello')), usage(/text\.jsonl is no request: .*--route/));
  t.match(await cli.run('batches', 'run', file, '--output', 'x'), usage(/^error: --output needs --wait/));
  symlinkSync(file, join(cli.cwd, 'link.jsonl'));
  linkSync(join(cli.cwd, file), join(cli.cwd, 'hard-link.jsonl'));
  for (const name of [`./${file}`, 'link.jsonl', 'hard-link.jsonl'])
    t.match(await cli.run('batches', 'run', file, '-w', '-o', name), usage(/^error: --output names the file of/), name);
  t.match(await cli.run('--json', 'batches', 'output', 'batch_x'), usage(/leave --json out/));
  t.match(await cli.run('batches', 'run', file, '--route', '/v1/images'), {
    code: 1,
    stderr: /error: INVALID_REQUEST: endpoint is "\/v1\/images", but must be one of/,
  });
  t.equal(await files(), before, 'nothing is left of what was refused');
  t.match(await cli.run('batches', 'get', 'batch_nosuch'), { code: 1, stderr: /^error: NOT_FOUND: There is no batch/ });
});

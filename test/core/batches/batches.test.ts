// test: postgres, 30 s
/**
 * Batches over gRPC: validation, order, faults of requests, cancellation, expiry, and a core that ends in the middle.
 */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Assignment } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { batchCalls, line, ROUTE } from './batch-calls.ts';

t.setTimeout(300_000);

const core = await startReplicas(t, 2);
const { clients, key } = core;
const { upload, create, get, until, lines, read } = batchCalls(core);
/** Input of each request, once for every run. */
const ran: string[] = [];
const held: Assignment[] = [];
const agent = await core.joinAgent({
  capacity: 20,
  onAssignment: (assignment) => {
    const input = JSON.parse(assignment.input!.toString()) as {
      openai_route: string;
      openai_input: { model: string; messages: { content: string }[] };
    };
    const { content } = input.openai_input.messages[0]!;
    ran.push(content);
    if (content === 'hold') {
      held.push(assignment);
      return undefined;
    }
    if (content === 'fail') return { kind: OutcomeKind.FAILED, error: '{"error":{"message":"too long","code":400}}' };
    const answer = `{"model": ${JSON.stringify(input.openai_input.model)},\n "choices": [${JSON.stringify(content)}]}`;
    return { output: Buffer.from(`[${answer}]`) };
  },
});
const endpointId = await core.createEndpoint({
  name: 'large',
  modelAliases: ['gpt-4o'],
  env: { MODEL_NAME: 'org/large' },
});
const balanced = await core.createEndpoint({ name: 'served', type: EndpointType.LB, workersMin: 0 });
await core.ready(endpointId);

t.test('requests run once each; results come in their order, errors apart', async (t) => {
  ran.length = 0;
  const wanted = Array.from({ length: 500 }, (_, index) => `text ${index}`);
  const texts = wanted.map((text, index) => line(`r-${index}`, text));
  texts.splice(3, 0, '', line('bad', 'fail'));
  // Pieces that end in the middle of lines, and a last line without an end.
  const id = await create(await upload(texts.join('\r\n'), 10_007), { metadata: { purpose: 'test' } });
  t.match(await get(id), { route: ROUTE, metadata: { purpose: 'test' } });
  const done = await until(id, BatchState.COMPLETED);
  t.match(done, { total: 501, completed: 500, failed: 1, submitted: 0, model: 'gpt-4o', faults: [] });
  const output = await lines(done.outputFileId);
  t.same(
    output.map(({ custom_id }) => custom_id),
    wanted.map((_, index) => `r-${index}`),
  );
  t.match(output[7], {
    id: /^batch_req_/,
    response: { status_code: 200, request_id: String, body: { model: 'org/large', choices: ['text 7'] } },
    error: null,
  });
  t.match(await lines(done.errorFileId), [
    { custom_id: 'bad', response: { status_code: 400, body: { error: { message: 'too long' } } }, error: null },
  ]);
  t.same([...ran].sort(), [...wanted, 'fail'].sort(), 'each ran once');
  const listed = { after: '', limit: 0, ascending: false, purpose: 'batch_output' };
  const { files } = await call(clients.files, 'listFiles', listed, key);
  t.equal(files.find((file) => file.id === done.outputFileId)!.bytes, (await read(done.outputFileId)).length);
  t.equal(files.length, 2);
  const [row] = await core.sql`SELECT count(*)::int AS normal FROM job WHERE NOT low_priority`;
  t.same(row, { normal: 0 });
  t.ok(agent.assignments.every((each) => each.batchId === id));
});

t.test('a file with faults fails, with the lines that have them', async (t) => {
  const texts = [
    line('a', 'x'),
    '{"custom_id":',
    line('a', 'y'),
    line('b', 'x', 'gpt-4o', { method: 'GET' }),
    line('c', 'x', 'gpt-4o', { url: '/v1/embeddings' }),
    line('d', 'x', 'other'),
    JSON.stringify({ method: 'POST', url: ROUTE, body: {} }),
    line('e', 'x', 'gpt-4o', { body: { model: 'gpt-4o', stream: true } }),
  ];
  const failed = await until(await create(await upload(texts.join('\n'))), BatchState.FAILED);
  t.same(
    failed.faults.map(({ line: number, code }) => [number, code]),
    [
      [2, 'invalid_json_line'],
      [3, 'duplicate_custom_id'],
      [4, 'missing_required_parameter'],
      [5, 'invalid_url'],
      [6, 'mismatched_model'],
      [7, 'missing_required_parameter'],
      [8, 'invalid_request'],
    ],
  );
  const one = async (text: string) => (await until(await create(await upload(text)), BatchState.FAILED)).faults;
  t.match(await one(line('a', 'x', 'nosuch')), [{ code: 'model_not_found', message: /There are "gpt-4o"/, line: 1 }]);
  t.match(await one(line('a', 'x', 'served')), [{ code: 'model_without_queue', line: 1 }]);
  t.match(await one('\n\n'), [{ code: 'empty_file', line: undefined }]);
  t.match(await one('x'.repeat(15_000_000)), [{ code: 'line_too_long', line: 1 }]);
});

t.test('bad requests are rejected and change nothing', async (t) => {
  const fileId = await upload(line('a', 'x'));
  t.match(await reasonOf(create('file-nosuch')), /^NOT_FOUND: There is no file/);
  t.match(await reasonOf(create(fileId, { route: '/v1/images' })), /^INVALID_REQUEST: endpoint is/);
  t.match(await reasonOf(create(fileId, { completionWindow: '1h' })), /^INVALID_REQUEST: completion_window/);
  t.match(await reasonOf(create(fileId, { resultSeconds: 5 })), /^INVALID_REQUEST: output_expires_after/);
  t.match(await reasonOf(get('batch_nosuch')), /^NOT_FOUND: There is no batch "batch_nosuch"/);
  const file = (purpose: string) =>
    call(clients.files, 'createFile', { purpose, filename: 'f', expireSeconds: 0 }, key);
  t.match(await reasonOf(file('vision')), /^INVALID_REQUEST: purpose is "vision", but must be "batch"/);
  const { file: made } = await file('batch');
  const append = (start: number, content: string) =>
    call(clients.files, 'appendFile', { id: made!.id, start, content: Buffer.from(content) }, key);
  t.match(await reasonOf(append(3, 'abc')), /^INVALID_REQUEST: start is 3, but the file has 0 bytes/);
  t.same(await append(0, 'abc'), { bytes: 3 });
  t.same(await append(0, 'abc'), { bytes: 3 }, 'the same piece again');
  t.match(await reasonOf(append(0, 'abcdef')), /^INVALID_REQUEST: start is 0/);
  t.match(await reasonOf(create(made!.id)), /^NOT_FOUND/, 'an upload that has not ended');
});

t.test('a cancelled batch keeps its results; its jobs are stopped', async (t) => {
  held.length = 0;
  const texts = ['one', 'two', ...Array.from({ length: 60 }, () => 'hold')].map((text, at) => line(`r-${at}`, text));
  const fileId = await upload(texts.join('\n'));
  const id = await create(fileId);
  await waitFor('its first results', async () => (await get(id)).completed === 2 && held.length > 0);
  t.match(
    await reasonOf(call(clients.files, 'deleteFile', { id: fileId }, key)),
    /^IN_USE: A batch that has not ended/,
  );
  const waiting = await get(id);
  t.ok(waiting.submitted < 60, 'not all of them are jobs at once');
  t.match(waiting.oldestJobEndpointId, endpointId);
  const explain = async (apiKey: string) =>
    (await call(clients.endpoints, 'explain', { endpointId }, apiKey)).explanation!.batches;
  const running = { total: 62, ended: 2, waiting: Number, running: 20, stalled: '' };
  const seen = await waitFor('all that it can hold', async () => {
    const [batch] = await explain(key);
    return batch?.running === 20 && batch;
  });
  const reason = `2 of 62 requests have ended; here ${seen.waiting} wait at low priority and 20 run`;
  t.match(seen, { id, ...running, reason });
  const narrow = await core.newKey(KeyScope.ALL, [endpointId]);
  t.match(await explain(narrow), [{ id: '', ...running }], 'a key that is limited does not learn which they are');
  await call(clients.batches, 'cancelBatch', { id, endpointId: '' }, key);
  const done = await until(id, BatchState.CANCELLED);
  t.match(done, { total: 62, completed: 2, failed: 60 });
  t.same(
    (await lines(done.outputFileId)).map(({ custom_id }) => custom_id),
    ['r-0', 'r-1'],
  );
  const errors = await lines(done.errorFileId);
  t.equal(errors.length, 60);
  t.match(errors[0], { custom_id: 'r-2', response: null, error: { code: 'batch_cancelled' } });
  t.match(
    (await call(clients.batches, 'cancelBatch', { id, endpointId: '' }, key)).batch,
    { state: done.state },
    'again',
  );
  await call(clients.files, 'deleteFile', { id: fileId }, key);
  t.match(await reasonOf(read(fileId)), /^NOT_FOUND/);
});

t.test('normal requests find a free slot beside a batch', async (t) => {
  held.length = 0;
  const chat = await core.createEndpoint({ name: 'chat', modelAliases: ['chat'] });
  await core.ready(chat);
  const normal = () => core.submit(chat, { openai_route: ROUTE, openai_input: { messages: [{ content: 'hold' }] } });
  const cancel = (jobId: string) => call(clients.jobs, 'cancelJob', { endpointId: chat, jobId }, key);
  const all = await Promise.all(Array.from({ length: 20 }, normal));
  await waitFor('all slots to be used', () => held.length === 20);
  const texts = Array.from({ length: 60 }, (_, at) => line(`r-${at}`, 'hold', 'chat'));
  const id = await create(await upload(texts.join('\n')));
  const waiting = await waitFor('its reason to wait', async () => {
    const batch = await get(id);
    return batch.stalled !== '' && batch;
  });
  t.match(waiting, { submitted: 0, stalled: `Requests with normal priority use ${chat}; the batch runs in the slots` });
  const [first, ...others] = all.map((job) => job.id);
  for (const jobId of others) await cancel(jobId);
  const own = () => held.filter(({ batchId }) => batchId === id).length;
  await waitFor('of 20 slots one runs a normal job and one is free', () => own() === 18);
  const next = await normal();
  await waitFor('the next normal job', () => held.some(({ ref }) => ref!.jobId === next.id));
  t.match(await get(id), { submitted: 18, stalled: '' });
  for (const jobId of [first!, next.id]) await cancel(jobId);
  await waitFor('all slots but one, which is kept for a minute', () => own() === 19);
  await call(clients.batches, 'cancelBatch', { id, endpointId: '' }, key);
  await until(id, BatchState.CANCELLED);
});

t.test('a batch whose window ends keeps its results', async (t) => {
  held.length = 0;
  const id = await create(await upload([line('a', 'one'), line('b', 'hold')].join('\n')));
  await waitFor('its first result', async () => (await get(id)).completed === 1 && held.length === 1);
  await core.sql`UPDATE batch SET expires_at = now() WHERE id = ${id}`;
  const done = await until(id, BatchState.EXPIRED);
  t.match(await lines(done.errorFileId), [{ custom_id: 'b', response: null, error: { code: 'batch_expired' } }]);
  t.equal((await lines(done.outputFileId)).length, 1);
});

t.test('a batch says why it does not advance', async (t) => {
  const idle = await core.createEndpoint({ name: 'idle', workersMin: 0 });
  const id = await create(await upload(line('a', 'one', 'idle')));
  const waiting = await waitFor('the reason', async () => {
    const batch = await get(id);
    return batch.stalled !== '' && batch;
  });
  t.match(waiting.stalled, /^No worker runs at .*, and batches start none/);
  await core.updateEndpoint(idle, { workersMin: 1 });
  t.match(await until(id, BatchState.COMPLETED), { stalled: '', completed: 1 });
});

t.test('keys for some endpoints see their own batches, which run on their endpoints alone', async (t) => {
  const limited = await core.newKey(undefined, [endpointId]);
  const mine = batchCalls(core, limited);
  const fileId = await upload(line('a', 'x'));
  t.match(await reasonOf(mine.create(fileId)), /^NOT_FOUND: There is no file/, "another key's file");
  const own = await mine.create(await mine.upload(line('a', 'x')));
  t.match(await mine.until(own, BatchState.COMPLETED), { completed: 1 });
  const other = await mine.create(await mine.upload(line('a', 'x', 'idle')));
  t.match((await mine.until(other, BatchState.FAILED)).faults, [{ code: 'model_not_found' }]);
  const listed = await call(clients.batches, 'listBatches', { endpointId: '', after: '', limit: 0 }, limited);
  t.same(
    listed.batches.map(({ id }) => id),
    [other, own],
  );
  const page = await call(clients.batches, 'listBatches', { endpointId: '', after: other, limit: 1 }, key);
  t.match(page, { batches: [{ id: own }], more: true });
  t.match(await reasonOf(mine.get(await create(fileId))), /^NOT_FOUND/);
});

t.test('a replica that ends in the middle loses no request and repeats none', async (t) => {
  ran.length = 0;
  const wanted = Array.from({ length: 1_500 }, (_, index) => `text ${index}`);
  const id = await create(await upload(wanted.map((text, index) => line(`r-${index}`, text)).join('\n')));
  await waitFor('the middle', async () => (await get(id)).completed > 100);
  const other = core.replicas[1]!;
  await other.stop();
  await core.startReplica();
  const done = await until(id, BatchState.COMPLETED);
  t.match(done, { total: 1_500, completed: 1_500, failed: 0 });
  const own = ran.filter((text) => text.startsWith('text '));
  t.equal(new Set(own).size, 1_500);
  t.equal(own.length, 1_500);
  t.equal((await lines(done.outputFileId)).length, 1_500);
});

t.test('nobody can read a file or a result in the database', async (t) => {
  const id = await create(await upload(line('a', 'a secret text')));
  await until(id, BatchState.COMPLETED);
  const [row] = await core.sql`
    SELECT (SELECT count(*) FROM file_piece WHERE position('secret'::bytea IN content_sealed) > 0)::int AS files,
      (SELECT count(*) FROM batch_result WHERE position('secret'::bytea IN content_sealed) > 0)::int AS results`;
  t.same(row, { files: 0, results: 0 });
});

t.test('a load-balancing endpoint has no batches', async (t) => {
  const draft = call(clients.batches, 'createDraft', { endpointId: balanced, inputs: [] }, key);
  t.match(await reasonOf(draft), /^WRONG_ENDPOINT_TYPE/);
});

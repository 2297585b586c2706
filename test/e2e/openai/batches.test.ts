// test: postgres, openai
/**
 * Files and batches at the OpenAI address, with the real `openai` packages for Python and Node, and batches of an
 * endpoint over HTTP.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { APIError } from 'openai';
import OpenAI, { toFile } from 'openai';
import t from 'tap';
import { requireDeclared } from '../../helpers/declared.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

requireDeclared('openai');
const PYTHON =
  process.env.SLIPWAY_TEST_PYTHON_OPENAI ?? join(import.meta.dirname, '../../../.slipway-test/openai/bin/python');
const withoutPython = existsSync(PYTHON) ? false : 'needs python3 with venv: then run `npm run test:python`';

const system = await startSystem(t);
const baseURL = `${system.url}/openai/v1`;
const endpointId = await system.createEndpoint({
  command: jsHandler('openai.js'),
  fields: { name: 'echo', workersMin: 1 },
  env: { OPENAI_SERVED_MODEL_NAME_OVERRIDE: 'org/echo' },
  workersMax: 1,
});
const client = new OpenAI({ baseURL, apiKey: system.key, maxRetries: 0 });
const line = (custom_id: string, content: string) =>
  JSON.stringify({
    ...{ custom_id, method: 'POST', url: '/v1/chat/completions' },
    body: { model: 'echo', messages: [{ role: 'user', content }] },
  });
/** Fields of an answer that the tests read. */
interface Answer {
  id: string;
  requestIds: string[];
  requestCompleted: number;
  requestFailed: number;
}
const upload = async (text: string) =>
  client.files.create({ file: await toFile(Buffer.from(text), 'requests.jsonl'), purpose: 'batch' });
const create = (input_file_id: string) =>
  client.batches.create({ input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' });

async function failure(call: Promise<unknown>): Promise<APIError> {
  return call.then(
    () => {
      throw new Error('the call did not fail');
    },
    (error: APIError) => error,
  );
}

t.test('Python: upload, create, poll, read, cancel, pages', { skip: withoutPython }, async (t) => {
  const script = join(import.meta.dirname, 'batches.py');
  const { stdout } = await promisify(execFile)(PYTHON, [script, baseURL, system.key, 'echo']);
  t.match(JSON.parse(stdout), {
    file: ['batch', 'processed', 'requests.jsonl'],
    status: 'completed',
    counts: { total: 3, completed: 2, failed: 1 },
    outputs: [
      ['a', 200, 'one two'],
      ['c', 200, 'three'],
    ],
    errors: [['b', 404]],
    cancelled: 'cancelled',
    pages: 2,
    deleted: true,
  });
});

t.test('queries of lists', async (t) => {
  for (const query of [
    'batches?after=a&after=b',
    'batches?limit=1e2',
    'batches?limit=1&limit=2',
    'files?order=asc&order=desc',
    'files?purpose=a&purpose=b',
  ]) {
    const { status, json } = await system.request('GET', `/openai/v1/${query}`);
    t.equal(status, 400, query);
    t.match(json, { error: { type: 'invalid_request_error' } }, query);
  }
});

t.test('Node: upload, create, poll, read, faults', async (t) => {
  const text = `${line('a', 'one two')}\n${line('b', 'x'.repeat(3_000_000))}\n`;
  const file = await upload(text);
  t.match(file, {
    object: 'file',
    bytes: text.length,
    filename: 'requests.jsonl',
    purpose: 'batch',
    status: 'processed',
  });
  t.equal(await (await client.files.content(file.id)).text(), text, 'what was uploaded');
  const made = await create(file.id);
  t.match(made, { object: 'batch', input_file_id: file.id, completion_window: '24h', errors: null });
  const done = await waitFor('the batch', async () => {
    const batch = await client.batches.retrieve(made.id);
    return batch.status === 'completed' && batch;
  });
  t.match(done.request_counts, { total: 2, completed: 2, failed: 0 });
  const [first, second] = (await (await client.files.content(done.output_file_id!)).text()).trim().split('\n');
  t.match(JSON.parse(first!), { custom_id: 'a', response: { status_code: 200, body: { model: 'org/echo' } } });
  t.equal(JSON.parse(second!).response.body.choices[0].message.content.length, 3_000_000);
  const broken = await create((await upload('{"custom_id"\n')).id);
  const failed = await waitFor('the fault', async () => {
    const batch = await client.batches.retrieve(broken.id);
    return batch.status === 'failed' && batch;
  });
  t.match(failed.errors?.data, [{ code: 'invalid_json_line', line: 1 }]);
  t.match(await failure(create('file-nosuch')), { status: 404, code: 'not_found' });
  t.match(await failure(client.batches.retrieve('batch_nosuch')), { status: 404 });
  const image = toFile(Buffer.from('x'), 'a.png');
  t.match(await failure(client.files.create({ file: await image, purpose: 'vision' })), {
    status: 400,
    message: /must be "batch"/,
  });
  const listed = await client.files.list({ purpose: 'batch', limit: 1 });
  t.ok(listed.has_more);
});

t.test('metadata of a batch that would be lost or changed is 400', async (t) => {
  for (const metadata of ['{"__proto__":"v"}', '{"a":"\\ud800"}', '{"\\udc00":"v"}', '{"a":"\\u0000"}', '{"a":1}']) {
    const response = await fetch(`${baseURL}/batches`, {
      method: 'POST',
      headers: { authorization: `Bearer ${system.key}` },
      body:
        '{"input_file_id":"file-nosuch","endpoint":"/v1/chat/completions","completion_window":"24h",' +
        `"metadata":${metadata}}`,
    });
    t.equal(response.status, 400, metadata);
    t.match(await response.json(), { error: { code: 'invalid_request' } });
  }
});

t.test('what cannot be an id of a file, batch or request is 404', async (t) => {
  const headers = { authorization: `Bearer ${system.key}` };
  const ids = ['%00', 'a%2Fb', '%F0%9F%98%80', 'x'.repeat(200)];
  for (const id of ids)
    for (const [method, path] of [
      ['GET', `/openai/v1/files/${id}`],
      ['GET', `/openai/v1/files/${id}/content`],
      ['DELETE', `/openai/v1/files/${id}`],
      ['GET', `/openai/v1/batches/${id}`],
      ['POST', `/openai/v1/batches/${id}/cancel`],
      ['GET', `/v2/${endpointId}/batch/${id}`],
      ['POST', `/v2/${endpointId}/batch/${id}/finalize`],
      ['DELETE', `/v2/${endpointId}/batch/batch_x/requests/${id}`],
    ] as const)
      t.equal((await fetch(system.url + path, { method, headers })).status, 404, `${method} ${path}`);
});

t.test('a batch of an endpoint: draft, requests, finalize, results', async (t) => {
  const at = (path: string, method = 'GET', body?: unknown) =>
    fetch(`${system.url}/v2/${endpointId}/batch${path}`, {
      method,
      headers: { authorization: `Bearer ${system.key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).then(async (response) => ({ status: response.status, json: (await response.json()) as Answer }));
  const input = (content: string) => ({
    input: { openai_route: '/v1/chat/completions', openai_input: { messages: [{ role: 'user', content }] } },
  });
  const { json: draft } = await at('', 'POST', [input('one')]);
  t.match(draft, { id: /^batch_/, endpointId, status: 'DRAFT', requestTotal: 1, createdAt: Number });
  const { json: added } = await at(`/${draft.id}/requests`, 'POST', { requests: [input('fail'), input('three')] });
  t.match(added, { requestTotal: 3, requestIds: [/^breq_/, /^breq_/] });
  t.match(await at(`/${draft.id}/requests/${added.requestIds[1]}`, 'DELETE'), { status: 200 });
  for (const wrong of [{}, 1, [], null])
    t.match(await at(`/${draft.id}/requests`, 'POST', { requests: [wrong] }), {
      status: 400,
      json: { code: 'invalid_input', error: /^requests\[0\] has no member "input"/ },
    });
  t.match(await at(`/${draft.id}/finalize`, 'POST'), { json: { status: 'FINALIZED', requestTotal: 2 } });
  const ended = await waitFor('both', async () => {
    const { json } = await at(`/${draft.id}`);
    return json.requestCompleted + json.requestFailed === 2 && json;
  });
  t.match(ended, { requestCompleted: 1, requestFailed: 1 });
  const { json: page } = await at(`/${draft.id}/requests?offset=0&limit=1`);
  t.match(page, {
    requests: [{ id: /^breq_/, status: 'COMPLETED', output: Array, startedAt: Number, completedAt: Number }],
    ...{ total: 2, offset: 0, limit: 1, hasMore: true },
  });
  t.match((await at('')).json, { batches: [{ id: draft.id }] });
  t.match(await at(`/${draft.id}/requests`, 'POST', { requests: [input('x')] }), {
    status: 400,
    json: { code: 'in_use' },
  });
  t.match(await at('/batch_nosuch'), { status: 404 });
});

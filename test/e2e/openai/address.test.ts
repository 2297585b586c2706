// test: postgres, openai, 15 s
/**
 * One OpenAI address for all endpoints of an account, with the real `openai` packages for Python and Node
 * (docs/reference/api.md#one-openai-address): a queue endpoint and a load-balancing one.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { APIError } from 'openai';
import OpenAI, { toFile } from 'openai';
import t from 'tap';
import { requireDeclared } from '../../helpers/declared.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

requireDeclared('openai');
const PYTHON =
  process.env.SLIPWAY_TEST_PYTHON_OPENAI ?? join(import.meta.dirname, '../../../.slipway-test/openai/bin/python');
const withoutPython = existsSync(PYTHON) ? false : 'needs python3 with venv: then run `npm run test:python`';

const system = await startSystem(t);
const baseURL = `${system.url}/openai/v1`;
const queue = await system.createEndpoint({
  command: jsHandler('openai.js'),
  fields: { name: 'echo-queue', modelAliases: ['queue-model', 'shared'] },
  env: { OPENAI_SERVED_MODEL_NAME_OVERRIDE: 'org/echo' },
  workersMax: 1,
});
const server = await lbEndpoint(
  system,
  { name: 'echo-server', workersMin: 1, modelAliases: ['server-model'] },
  { command: jsHandler('openai-server.js'), more: { env: { MODEL_NAME: 'org/server' } } },
);
const client = new OpenAI({ baseURL, apiKey: system.key, maxRetries: 0 });
const chat = (model: string, content = 'one two') => ({ model, messages: [{ role: 'user' as const, content }] });

async function failure(call: Promise<unknown>): Promise<APIError> {
  return call.then(
    () => {
      throw new Error('the call did not fail');
    },
    (error: APIError) => error,
  );
}

t.test(
  'Python: models, chat, tools, streams, forms, speech, embeddings, images, errors',
  { skip: withoutPython },
  async (t) => {
    const script = join(import.meta.dirname, 'address.py');
    const { stdout } = await promisify(execFile)(PYTHON, [script, baseURL, system.key, 'queue-model', 'server-model']);
    const more = (model: string) => ({
      transcription: `${model}: a.wav, audio/wav, sound`,
      translation: `${model}: a.wav, audio/wav, sound`,
      embedding: [3, 0.5, -0.25],
      image: 'a boat',
      edited: [`${model}: mend; 1.png one`, `${model}: mend; 1.png one,2.png two`],
    });
    t.match(JSON.parse(stdout), {
      models: ['org/echo', 'org/server', 'queue-model', 'server-model', 'shared'],
      one: 'org/echo',
      queue: {
        chat: ['org/echo', 'one two'],
        tool: ['look', '{"of":"queue"}'],
        stream: 'one two',
        ...more('org/echo'),
      },
      server: {
        chat: ['org/server', 'one two'],
        tool: ['look', '{"of":"server"}'],
        stream: 'one two',
        ...more('org/server'),
      },
      speech: 'spoken',
      unknown: {
        code: 'model_not_found',
        message: /^There is no model "gpt-5"\. There are "org\/echo", "org\/server"/,
      },
    });
  },
);

t.test('Node: models with their state', async (t) => {
  const { data } = await client.models.list();
  t.match(
    data.map(({ id }) => id),
    ['org/echo', 'org/server', 'queue-model', 'server-model', 'shared'],
  );
  t.match(await client.models.retrieve('org/server'), {
    id: 'org/server',
    object: 'model',
    owned_by: 'slipway',
    endpoints: [{ id: server, name: 'echo-server', type: 'LB' }],
  });
  await waitFor('the state of the queue', async () => {
    const one = (await client.models.retrieve('queue-model')) as unknown as { state: string };
    return one.state === 'ready';
  });
  t.match(await failure(client.models.retrieve('nosuch')), { status: 404, code: 'model_not_found' });
});

t.test('Node: chat, streams, tools, forms and speech, of a queue and of a server', async (t) => {
  for (const [model, served] of [
    ['queue-model', 'org/echo'],
    ['echo-queue', 'org/echo'],
    ['server-model', 'org/server'],
    ['org/server', 'org/server'],
  ] as const) {
    t.match(await client.chat.completions.create(chat(model)), {
      model: served,
      choices: [{ message: { content: 'one two' } }],
    });
    let text = '';
    for await (const part of await client.chat.completions.create({ ...chat(model), stream: true }))
      text += part.choices[0]?.delta.content ?? '';
    t.equal(text, 'one two', `${model}, streamed`);
  }
  const file = async () => toFile(Buffer.from('sound'), 'a.wav', { type: 'audio/wav' });
  for (const [model, served] of [
    ['queue-model', 'org/echo'],
    ['server-model', 'org/server'],
  ] as const)
    t.equal(
      (await client.audio.transcriptions.create({ model, file: await file() })).text,
      `${served}: a.wav, audio/wav, sound`,
    );
  const speech = await client.audio.speech.create({
    model: 'server-model',
    voice: 'alloy',
    input: 'x'.repeat(100_000),
  });
  t.equal((await speech.text()).length, 100_000);
});

t.test('a large request reaches both', async (t) => {
  const content = 'x'.repeat(3_000_000);
  for (const model of ['queue-model', 'server-model'])
    t.equal(
      (await client.chat.completions.create(chat(model, content))).choices[0]!.message.content!.length,
      3_000_000,
    );
});

t.test('an alias of two endpoints goes to the one with capacity', async (t) => {
  const change = (id: string, fields: Partial<Endpoint>, updateMask: string[]) =>
    call(
      system.clients.endpoints,
      'updateEndpoint',
      { endpoint: Endpoint.fromPartial({ ...fields, id }), updateMask },
      system.key,
    );
  await change(server, { modelAliases: ['server-model', 'shared'], modelWeight: 0 }, ['model_aliases', 'model_weight']);
  await waitFor('both in the list', async () => {
    const { endpoints } = (await client.models.retrieve('shared')) as unknown as { endpoints: object[] };
    return endpoints.length === 2;
  });
  const served = async () => (await client.chat.completions.create(chat('shared'))).model;
  t.equal(await served(), 'org/echo', 'weight 0 is a fallback');
  await change(queue, { workersMin: 0, workersMax: 0 }, ['workers_min', 'workers_max']);
  // A request that came before the change was seen waits for a worker of the queue, and is given up.
  const fallback = async () =>
    client.chat.completions.create(chat('shared'), { timeout: 3_000 }).catch(() => undefined);
  await waitFor('the fallback', async () => (await fallback())?.model === 'org/server');
  await change(queue, { workersMin: 1, workersMax: 1 }, ['workers_min', 'workers_max']);
});

t.test('keys, and errors in the form of OpenAI', async (t) => {
  const { secret } = await call(
    system.clients.keys,
    'createKey',
    { name: 'server only', scope: KeyScope.ALL, endpointIds: [server], accountId: '', permissions: undefined },
    system.key,
  );
  const limited = new OpenAI({ baseURL, apiKey: secret, maxRetries: 0 });
  t.match(
    (await limited.models.list()).data.map(({ id }) => id),
    ['org/server', 'server-model', 'shared'],
  );
  t.match(await failure(limited.chat.completions.create(chat('queue-model'))), {
    status: 404,
    code: 'model_not_found',
  });
  t.equal((await limited.chat.completions.create(chat('server-model'))).model, 'org/server');
  const wrong = new OpenAI({ baseURL, apiKey: 'wrong', maxRetries: 0 });
  t.match(await failure(wrong.chat.completions.create(chat('server-model'))), { status: 401, code: 'unauthorized' });
  const send = (path: string, body: string | null, method = 'POST') =>
    fetch(`${system.url}${path}`, { method, body, headers: { authorization: `Bearer ${system.key}` } });
  for (const [path, body, method, status, code] of [
    ['/openai/v1/chat/completions', '{"messages":[]}', 'POST', 400, 'invalid_request'],
    ['/openai/v1/chat/completions', '{"model":', 'POST', 400, 'invalid_request'],
    ['/openai/v1/chat/completions', null, 'GET', 405, 'method_not_allowed'],
    ['/openai/v2/chat/completions', '{}', 'POST', 404, 'not_found'],
  ] as const) {
    const answer = await send(path, body, method);
    t.equal(answer.status, status, `${method} ${path}`);
    t.match(await answer.json(), { error: { message: String, type: String, param: null, code } });
  }
  const lost = await send('/openai/v1/nosuch?beta=true&api_key=other', '{"model":"server-model"}');
  t.equal(lost.status, 404);
  const message = 'No route /v1/nosuch?beta=true.';
  t.match(await lost.json(), { error: { message } }, "the worker's own answer, which sees the query without keys");
});

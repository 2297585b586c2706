// test: postgres, 10 s
/**
 * /openai/* with the real `openai` client (docs/reference/api.md#openai). The worker behaves like vLLM's:
 * test/handlers/openai.js.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { APIError } from 'openai';
import OpenAI from 'openai';
import t from 'tap';
import { jobRows } from '../helpers/db/job-rows.ts';
import { isAlive, scratch } from '../helpers/scratch.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const system = await startSystem(t);
const files = await scratch(t);
const rows = jobRows(t, system.database.url);
const jobs = endpointJobs(
  system,
  await system.createEndpoint({
    command: jsHandler('openai.js'),
    fields: { workersMin: 2, modelAliases: ['spec-model'] },
    workersMax: 2,
  }),
);
const client = new OpenAI({ baseURL: `${system.url}${jobs.base}/openai/v1`, apiKey: system.key, maxRetries: 0 });
const chat = (content: string) => ({ model: 'echo-1', messages: [{ role: 'user' as const, content }] });

/** Returns the error with which a call is rejected. */
async function failure(call: Promise<unknown>): Promise<APIError> {
  try {
    await call;
  } catch (error) {
    return error as APIError;
  }
  throw new Error('the call did not fail');
}

t.test('chat, not streamed: the one object that the worker yields, unwrapped', async (t) => {
  const answer = await client.chat.completions.create(chat('hello there'));
  t.match(answer, {
    object: 'chat.completion',
    choices: [{ message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' }],
  });
  const plain = await jobs.call('POST', '/openai/v1/chat/completions', chat('x'));
  t.match(plain.headers.get('content-type'), /^application\/json/);
});

t.test('chat, streamed: the SSE texts pass through unchanged', async (t) => {
  const words: string[] = [];
  for await (const part of await client.chat.completions.create({ ...chat('one two three'), stream: true })) {
    words.push(part.choices[0]?.delta.content ?? '');
  }
  t.equal(words.join(''), 'one two three');
  t.equal(words.length, 4, 'three words and the end');
  const raw = await jobs.call('POST', '/openai/v1/chat/completions', { ...chat('one two'), stream: true });
  t.match(raw.headers.get('content-type'), /^text\/event-stream/);
  t.ok(raw.text.endsWith('data: [DONE]\n\n'));
  t.equal(raw.text.match(/\[DONE\]/g)?.length, 1);
});

t.test('chat, streamed by a worker that yields objects: each is framed as an event', async (t) => {
  const words: string[] = [];
  for await (const part of await client.chat.completions.create({ ...chat('dicts'), stream: true }))
    words.push(part.choices[0]?.delta.content ?? '');
  t.equal(words.join(''), 'as dicts');
});

t.test('not streamed: a worker that yields many values without aggregating is answered with all of them', async (t) => {
  const command = jsHandler('openai.js');
  const separate = endpointJobs(system, await system.createEndpoint({ command, env: { AGGREGATE: 'false' } }));
  const numbers = Array.from({ length: 1_200 }, (_, index) => ({ number: index + 1 }));
  t.same((await separate.call('POST', '/openai/v1/chat/completions', chat('many 1200'))).json, numbers);
});

t.test('the first event arrives before the worker has finished', async (t) => {
  const file = files.path('go');
  const stream = await client.chat.completions.create({ ...chat(`wait ${file}`), stream: true });
  let text = '';
  for await (const part of stream) {
    text += part.choices[0]?.delta.content ?? '';
    if (text === 'wait ') files.open('go');
  }
  t.equal(text, `wait ${file}`);
});

t.test('models', async (t) => {
  const models = await client.models.list();
  t.match(models.data, [{ id: 'echo-1', object: 'model' }]);
});

t.test('the address of the account: the model selects the endpoint', async (t) => {
  const account = new OpenAI({ baseURL: `${system.url}/openai/v1`, apiKey: system.key, maxRetries: 0 });
  t.match(await account.models.retrieve('spec-model'), { id: 'spec-model', endpoints: [{ id: jobs.base.slice(4) }] });
  let text = '';
  const asked = { ...chat('one two three'), model: 'spec-model', stream: true } as const;
  for await (const part of await account.chat.completions.create(asked)) text += part.choices[0]?.delta.content ?? '';
  t.equal(text, 'one two three');
  t.match(await failure(account.chat.completions.create({ ...chat('x'), model: 'nosuch' })), {
    status: 404,
    code: 'model_not_found',
  });
});

t.test('embeddings', async (t) => {
  const answer = await client.embeddings.create({ model: 'echo-1', input: ['a', 'bcd'] });
  t.same(
    answer.data.map(({ index, embedding }) => [index, [...embedding]]),
    [
      [0, [1, 0.5, -0.25]],
      [1, [3, 0.5, -0.25]],
    ],
  );
});

t.test('any other path under /openai/ reaches the worker', async (t) => {
  const answer = await jobs.call('POST', '/openai/v1/rerank', { query: 'x' });
  t.equal(answer.status, 404);
  t.match(answer.json, { error: { message: 'No route /v1/rerank.' } });
});

t.test("a worker's error with a code is answered with that code", async (t) => {
  for (const stream of [false, true]) {
    const error = await failure(client.chat.completions.create({ ...chat('fail'), stream }));
    t.equal(error.status, 404, `stream: ${stream}`);
    t.match(error.message, /The model `gone` does not exist/);
    t.match(error, { type: 'NotFoundError', param: 'model' });
  }
});

t.test('any other worker error is 500 in the same envelope', async (t) => {
  for (const stream of [false, true]) {
    const error = await failure(client.chat.completions.create({ ...chat('crash'), stream }));
    t.equal(error.status, 500, `stream: ${stream}`);
    t.match(error.message, /out of memory/, 'the cause is told, not hidden');
  }
});

t.test('errors of the service in the envelope of OpenAI', async (t) => {
  const wrongKey = new OpenAI({ baseURL: client.baseURL, apiKey: 'wrong', maxRetries: 0 });
  t.match(await failure(wrongKey.models.list()), { status: 401, code: 'unauthorized' });
  const nowhere = new OpenAI({
    baseURL: `${system.url}/v2/aaaaaaaaaaaaaa/openai/v1`,
    apiKey: system.key,
    maxRetries: 0,
  });
  t.match(await failure(nowhere.models.list()), { status: 404, code: 'endpoint_not_found' });
  const malformed = await jobs.call('POST', '/openai/v1/chat/completions', '{"messages":');
  t.equal(malformed.status, 400);
  t.match(malformed.json, { error: { message: String, type: 'invalid_request_error', code: 'invalid_request' } });
});

t.test('a client that disconnects cancels its job', async (t) => {
  for (const stream of [false, true]) {
    const file = files.path(`left-${stream}`);
    const leave = new AbortController();
    const call = client.chat.completions
      .create({ ...chat(`wait ${file}`), stream }, { signal: leave.signal })
      .catch(() => 'left');
    const pid = await waitFor(
      'the worker to run it',
      () => existsSync(`${file}.note`) && Number(readFileSync(`${file}.note`, 'utf8').split('\n')[0]),
    );
    // A short job may run before it is stored.
    const job = await waitFor(
      'the job to be stored',
      async () =>
        (
          await rows.sql<{ id: string }[]>`SELECT id FROM job WHERE endpoint_id = ${jobs.id} AND state = 'IN_PROGRESS'`
        )[0],
    );
    leave.abort();
    await jobs.reached(job.id, 'CANCELLED');
    await waitFor(
      'the worker to stop it',
      () => !isAlive(pid as number) || readFileSync(`${file}.note`, 'utf8').includes('stopped'),
    );
    await call;
  }
  await waitFor('the workers to be free', async () => (await jobs.health()).jobs.inProgress === 0);
  t.match(await client.chat.completions.create(chat('still here')), { object: 'chat.completion' });
});

t.test('a form upload is rejected with a sentence, and nothing is stored', async (t) => {
  const before = await rows.count();
  const error = await failure(
    client.audio.transcriptions.create({ model: 'echo-1', file: new File(['RIFF'], 'a.wav') }),
  );
  t.match(error, { status: 400, message: /multipart\/form-data.*send a JSON object, with the file as base64 text/ });
  t.equal(await rows.count(), before);
});

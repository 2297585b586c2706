/**
 * A handler that answers /openai routes as a vLLM worker does: always a generator; streams are texts already in SSE form, several events
 * joined in one; everything else is one object. The last message of a chat decides:
 *
 * "dicts"           stream objects instead of SSE texts
 * "fail"            yield an error with an OpenAI-style object and code 404
 * "crash"           throw
 * "many <count>"    yield so many numbers, whether a stream was asked for or not
 * "wait <file>"     say it back; before its last part write the process id to <file>.note and wait until <file> exists or the job is stopped
 * anything else     say it back, word by word
 */
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { start } from 'slipway-worker';

const MODEL = 'echo-1';
/** A PNG of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const event = (value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;

function completion(text, model, tools) {
  const tool = tools?.[0]?.function.name;
  const call = { id: 'call-1', type: 'function', function: { name: tool, arguments: '{"of":"queue"}' } };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [
      {
        index: 0,
        message: tool ? { role: 'assistant', content: null, tool_calls: [call] } : { role: 'assistant', content: text },
        finish_reason: tool ? 'tool_calls' : 'stop',
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

function delta(content, finish = null) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: MODEL,
    choices: [{ index: 0, delta: content === undefined ? {} : { content }, finish_reason: finish }],
  };
}

async function waitFor(file, signal) {
  appendFileSync(`${file}.note`, `${process.pid}\n`);
  while (!existsSync(file)) {
    if (signal?.aborted) {
      appendFileSync(`${file}.note`, 'stopped\n');
      throw new Error('stopped');
    }
    await delay(10);
  }
}

async function* chat(request, job) {
  const text = request.messages.at(-1).content;
  if (text === 'fail') {
    yield { error: { message: 'The model `gone` does not exist.', type: 'NotFoundError', param: 'model', code: 404 } };
    return;
  }
  if (text.startsWith('many ')) {
    for (let number = 1; number <= Number(text.slice(5)); number += 1) yield { number };
    return;
  }
  if (text === 'crash') throw new Error('out of memory');
  const wait = async () => {
    if (text.startsWith('wait ')) await waitFor(text.slice(5), job.signal);
  };
  if (!request.stream) {
    await wait();
    yield completion(text, request.model, request.tools);
    return;
  }
  const words = text === 'dicts' ? ['as ', 'dicts'] : text.split(/(?<= )/);
  if (text === 'dicts') {
    for (const word of words) yield delta(word);
    yield delta(undefined, 'stop');
    return;
  }
  const [first, ...rest] = words;
  yield event(delta(first));
  await wait();
  yield rest.map((word) => event(delta(word))).join('') + event(delta(undefined, 'stop')) + event('[DONE]');
}

function embeddings(request) {
  const inputs = Array.isArray(request.input) ? request.input : [request.input];
  const shape = (numbers) =>
    request.encoding_format === 'base64' ? Buffer.from(new Float32Array(numbers).buffer).toString('base64') : numbers;
  return {
    object: 'list',
    model: MODEL,
    data: inputs.map((text, index) => ({ object: 'embedding', index, embedding: shape([text.length, 0.5, -0.25]) })),
    usage: { prompt_tokens: 1, total_tokens: 1 },
  };
}

/** A form arrives as JSON, with the file as base64. */
function transcription({ model, file }) {
  const text = Buffer.from(file.data, 'base64').toString();
  return { text: `${model}: ${file.filename}, ${file.content_type}, ${text}` };
}

/** Says back the images and the prompt of a form. One image is an object, several are a list. */
function edit({ model, prompt, image }) {
  const images = [image].flat().map(({ filename, data }) => `${filename} ${Buffer.from(data, 'base64')}`);
  return { created: 1, data: [{ b64_json: Buffer.from(`${model}: ${prompt}; ${images}`).toString('base64') }] };
}

async function* answer(job) {
  const { openai_route: route, openai_input: request } = job.input;
  if (route === '/v1/chat/completions') yield* chat(request, job);
  else if (route === '/v1/models')
    yield { object: 'list', data: [{ id: MODEL, object: 'model', created: 1, owned_by: 'slipway' }] };
  else if (route === '/v1/embeddings') yield embeddings(request);
  else if (route === '/v1/images/generations')
    yield {
      created: 1,
      data: [{ b64_json: request.prompt === 'a pixel' ? PIXEL : Buffer.from(request.prompt).toString('base64') }],
    };
  else if (route === '/v1/audio/transcriptions' || route === '/v1/audio/translations') yield transcription(request);
  else if (route === '/v1/images/edits') yield edit(request);
  else yield { error: { message: `No route ${route}.`, type: 'NotFoundError', param: null, code: 404 } };
}

start({ handler: answer, returnAggregateStream: process.env.AGGREGATE !== 'false' });

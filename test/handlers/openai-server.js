// An HTTP server as load-balancing endpoints run them for OpenAI clients: it says back what it was asked, with the model that it was told.
import { createServer } from 'node:http';

const event = (value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;

function completion(request) {
  const tool = request.tools?.[0]?.function.name;
  const message = tool
    ? {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call-1', type: 'function', function: { name: tool, arguments: '{"of":"server"}' } }],
      }
    : { role: 'assistant', content: request.messages.at(-1).content };
  return {
    id: 'chatcmpl-2',
    object: 'chat.completion',
    created: 1,
    model: request.model,
    choices: [{ index: 0, message, finish_reason: tool ? 'tool_calls' : 'stop' }],
  };
}

function stream(request, reply) {
  reply.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const content of request.messages.at(-1).content.split(/(?<= )/))
    reply.write(
      event({
        id: 'chatcmpl-2',
        object: 'chat.completion.chunk',
        created: 1,
        model: request.model,
        choices: [{ index: 0, delta: { content }, finish_reason: null }],
      }),
    );
  reply.end(event('[DONE]'));
}

const formOf = (request, body) =>
  new Request('http://form', {
    method: 'POST',
    headers: { 'content-type': request.headers['content-type'] },
    body,
  }).formData();

async function transcription(request, body) {
  const form = await formOf(request, body);
  const file = form.get('file');
  return { text: `${form.get('model')}: ${file.name}, ${file.type}, ${await file.text()}` };
}

const image = (text) => ({ created: 1, data: [{ b64_json: Buffer.from(text).toString('base64') }] });

async function edit(request, body) {
  const form = await formOf(request, body);
  const files = [...form.getAll('image'), ...form.getAll('image[]')];
  const images = await Promise.all(files.map(async (file) => `${file.name} ${await file.text()}`));
  return image(`${form.get('model')}: ${form.get('prompt')}; ${images}`);
}

function embeddings({ model, input, encoding_format }) {
  const numbers = [input[0].length, 0.5, -0.25];
  const embedding =
    encoding_format === 'base64' ? Buffer.from(new Float32Array(numbers).buffer).toString('base64') : numbers;
  return {
    object: 'list',
    model,
    data: [{ object: 'embedding', index: 0, embedding }],
    usage: { prompt_tokens: 1, total_tokens: 1 },
  };
}

const server = createServer(async (request, reply) => {
  const body = Buffer.concat(await Array.fromAsync(request));
  const json = (value, status = 200) =>
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  switch (request.url) {
    case process.env.HEALTH_CHECK_PATH:
      return reply.end();
    case '/v1/chat/completions': {
      const asked = JSON.parse(body);
      return asked.stream ? stream(asked, reply) : json(completion(asked));
    }
    case '/v1/audio/transcriptions':
    case '/v1/audio/translations':
      return json(await transcription(request, body));
    case '/v1/embeddings':
      return json(embeddings(JSON.parse(body)));
    case '/v1/images/generations':
      return json(image(JSON.parse(body).prompt));
    case '/v1/images/edits':
      return json(await edit(request, body));
    case '/v1/audio/speech':
      return reply.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.from(JSON.parse(body).input));
    default:
      return json(
        { error: { message: `No route ${request.url}.`, type: 'NotFoundError', param: null, code: 404 } },
        404,
      );
  }
});
server.listen(Number(process.env.PORT), '127.0.0.1');

/** Code that sends what the playground sends, with the official OpenAI clients and with curl. */
import { javascriptLiteral, pythonLiteral } from '../../lib/literals.ts';
import type { OpenaiEndpoint, OpenaiRequest } from './openai-send.ts';
import { openaiPath } from './openai-send.ts';

type Sample = [title: string, text: string];

/** Method of the clients, and what they print of a whole answer and of a streamed part. */
interface Call {
  method: string;
  python: string;
  javascript: string;
}

const CALLS: Readonly<Record<string, Call>> = {
  '/chat/completions': {
    method: 'chat.completions.create',
    python: 'answer.choices[0].message.content',
    javascript: 'answer.choices[0].message.content',
  },
  '/embeddings': {
    method: 'embeddings.create',
    python: '[item.embedding for item in answer.data]',
    javascript: 'answer.data.map((item) => item.embedding)',
  },
  '/images/generations': {
    method: 'images.generate',
    python: 'answer.data[0].b64_json or answer.data[0].url',
    javascript: 'answer.data[0].b64_json ?? answer.data[0].url',
  },
};

/** Returns titles and samples. They never contain the key: they read it from the environment. */
export function openaiCode(origin: string, endpoint: OpenaiEndpoint, request: OpenaiRequest): Sample[] {
  const base = `${origin}/v2/${endpoint.id}${openaiPath(endpoint)}`;
  const call = CALLS[request.route]!;
  return [
    ['Python', python(base, call, request.body)],
    ['JavaScript', javascript(base, call, request.body)],
    ['curl', curl(base, request)],
  ];
}

function python(base: string, { method, python: shown }: Call, body: OpenaiRequest['body']): string {
  const given = Object.entries(body).map(([name, value]) => `    ${name}=${pythonLiteral(value)},`);
  const after = body['stream']
    ? `for part in answer:
    if part.choices:
        print(part.choices[0].delta.content or "", end="", flush=True)
print()`
    : `print(${shown})`;
  return `import os
from openai import OpenAI

client = OpenAI(base_url="${base}", api_key=os.environ["SLIPWAY_API_KEY"])
answer = client.${method}(
${given.join('\n')}
)
${after}`;
}

function javascript(base: string, { method, javascript: shown }: Call, body: OpenaiRequest['body']): string {
  const given = Object.entries(body).map(([name, value]) => `  ${name}: ${javascriptLiteral(value)},`);
  const after = body['stream']
    ? `for await (const part of answer) process.stdout.write(part.choices[0]?.delta.content ?? '');
console.log();`
    : `console.log(${shown});`;
  return `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${base}', apiKey: process.env.SLIPWAY_API_KEY });
const answer = await client.${method}({
${given.join('\n')}
});
${after}`;
}

function curl(base: string, { route, body }: OpenaiRequest): string {
  return `curl -sS${body['stream'] ? 'N' : ''} ${base}${route} \\
  -H "Authorization: Bearer $SLIPWAY_API_KEY" -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
}

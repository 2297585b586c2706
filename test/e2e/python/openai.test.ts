// test: postgres, python, 20 s
/**
 * OpenAI requests to unmodified Python workers, which report errors and large answers as worker-vllm does, with the
 * real `openai` client.
 */

import type { APIError } from 'openai';
import OpenAI from 'openai';
import t from 'tap';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { PYTHONS, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

t.setTimeout(600_000);

const MESSAGE = 'The model `gone` isn\'t "here".\nAsk for another: ü 🦊 \\';
const chat = (model: string) => ({ model, messages: [{ role: 'user' as const, content: 'hello' }] });

async function failure(call: Promise<unknown>): Promise<APIError> {
  return call.then(
    () => {
      throw new Error('the call did not fail');
    },
    (error: APIError) => error,
  );
}

const system = await startSystem(t);

for (const version of Object.keys(PYTHONS) as (keyof typeof PYTHONS)[]) {
  t.test(`Python worker, ${version} SDK`, { skip: skipWithoutPython(version) }, async (t) => {
    const jobs = endpointJobs(
      system,
      await system.createEndpoint({ command: pythonHandler(version, 'vllm.py'), workersMax: 1 }),
    );
    let tries = 0;
    const fetchCounted: typeof fetch = (...given) => {
      tries += 1;
      return fetch(...given);
    };
    const client = new OpenAI({
      baseURL: `${system.url}${jobs.base}/openai/v1`,
      apiKey: system.key,
      fetch: fetchCounted,
    });

    await t.test('the code and the message of an error reach the client, once', async (t) => {
      for (const model of ['yield', 'older', 'enum', 'raise']) {
        for (const stream of [false, true]) {
          tries = 0;
          const error = await failure(client.chat.completions.create({ ...chat(model), stream }));
          t.match(error, { status: 404, type: 'NotFoundError', param: 'model' }, `${model}, stream: ${stream}`);
          t.equal((error.error as { message: string }).message, MESSAGE);
          t.equal(tries, 1);
        }
      }
    });

    await t.test('another exception is 500 with its text, without the trace', async (t) => {
      for (const stream of [false, true]) {
        const error = await failure(client.chat.completions.create({ ...chat('crash'), stream }));
        t.match(error, { status: 500, error: { message: 'out of memory' } });
      }
    });

    await t.test('an answer over 1 MB arrives whole', async (t) => {
      const answer = await client.chat.completions.create(chat('3000000'));
      t.equal(answer.choices[0]!.message.content?.length, 3_000_000);
    });
  });
}

// test: postgres, llm-clients, 15 s
/** LiteLLM and langchain-openai, unmodified, in front of the account's OpenAI address. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { requireDeclared } from '../../helpers/declared.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

t.setTimeout(300_000);

requireDeclared('llm-clients');
const PYTHON =
  process.env.SLIPWAY_TEST_PYTHON_LLM_CLIENTS ??
  join(import.meta.dirname, '../../../.slipway-test/llm-clients/bin/python');
const skip = existsSync(PYTHON) ? false : 'needs python3 with venv: then run `npm run test:python`';

t.test('LiteLLM and langchain-openai', { skip }, async (t) => {
  const system = await startSystem(t);
  for (const name of ['first', 'second'])
    await system.createEndpoint({ command: jsHandler('openai.js'), fields: { name, workersMin: 1 }, workersMax: 1 });
  const script = join(import.meta.dirname, 'llm_clients.py');
  const given = [`${system.url}/openai/v1`, system.key, 'first', 'second'];
  const { stdout } = await promisify(execFile)(PYTHON, [script, ...given], { timeout: 200_000 });
  t.match(JSON.parse(stdout.trim().split('\n').at(-1)!), {
    litellm: {
      chat: 'one two',
      tool: 'look',
      stream: 'one two',
      embedding: [3, 0.5, -0.25],
      image: Buffer.from('a boat').toString('base64'),
      router: ['one two', 'one two'],
      unknown: /NotFoundError: .*There is no model "gone"/,
    },
    langchain: {
      invoke: ['one two', 2],
      stream: 'one two',
      batch: ['one', 'two'],
      tool: 'look',
      embedding: [
        [3, 0.5, -0.25],
        [4, 0.5, -0.25],
      ],
    },
  });
});

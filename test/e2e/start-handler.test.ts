/** `npm start -- --handler FILE`: the user's own handler, in Python and in JavaScript, as an endpoint. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { endpointJobs } from '../helpers/endpoint-jobs.ts';
import { skipWithoutPython } from '../helpers/handlers.ts';
import { Launcher, readFacts } from '../helpers/launcher.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { quietPort } from '../helpers/ports.ts';
import { publicRequest } from '../helpers/public-api.ts';

const PYTHON = `import runpod


def handler(job):
    return {"hello": job["input"]["name"]}


runpod.serverless.start({"handler": handler})
`;

const JAVASCRIPT = `import { start } from 'slipway/worker';

start({ handler: async (job) => ({ hello: job.input.name }) });
`;

const TYPESCRIPT = `import { start } from 'slipway/worker';

interface Input { name: string }

start({ handler: async function* (job: { input: Input }) { yield \`hello \${job.input.name}\`; }, returnAggregateStream: true });
`;

t.setTimeout(300_000);

t.test('a JavaScript handler outside of the project', async (t) => {
  const { output } = await serve(t, 'greet.mjs', JAVASCRIPT);
  t.same(output, { hello: 'Ada' });
});

t.test('a TypeScript handler that streams', async (t) => {
  const { output } = await serve(t, 'greet.ts', TYPESCRIPT);
  t.same(output, ['hello Ada']);
});

t.test('a Python handler', { skip: skipWithoutPython('new') }, async (t) => {
  const { output, launcher } = await serve(t, 'handler.py', PYTHON);
  t.same(output, { hello: 'Ada' });
  t.match(launcher.text, /mine/, 'a file called handler is named for its folder');
});

t.test('a handler that is not there', async (t) => {
  const launcher = new Launcher(t, '--handler', '/nowhere/handler.py');
  t.equal(await launcher.exit(), 2);
  t.match(launcher.text, /no handler at \/nowhere\/handler\.py/);
});

async function serve(t: Test, name: string, text: string): Promise<{ output: unknown; launcher: Launcher }> {
  const folder = await openFolder(t);
  await mkdir(join(folder, 'mine'));
  const file = join(folder, 'mine', name);
  await writeFile(file, text);
  await writeFile(join(folder, 'mine', 'test_input.json'), '{"input": {"name": "Ada"}}');
  const dataDir = join(folder, 'data');
  // The environment that pip makes for a Python handler takes a minute or more. It is kept from run to run, as a user's data folder is.
  const venvs = join(import.meta.dirname, '../../.slipway-test/venvs');
  await mkdir(dataDir, { mode: 0o711 });
  await mkdir(venvs, { recursive: true });
  await symlink(venvs, join(dataDir, 'venvs'));
  const launcher = new Launcher(t, '--handler', file, '--port', String(await quietPort()), '--data-dir', dataDir);
  await launcher.ready(180_000); // A first Python handler gets an environment of its own from pip.
  const facts = readFacts(join(dataDir, 'local.env'));
  t.same(JSON.parse(facts.SLIPWAY_EXAMPLE_INPUT!), { input: { name: 'Ada' } }, 'test_input.json is the example');
  const request = publicRequest(facts.SLIPWAY_URL!, facts.SLIPWAY_API_KEY!);
  const { status, output } = await endpointJobs({ request }, facts.SLIPWAY_ENDPOINT_ID!).runSync({ name: 'Ada' });
  t.equal(status, 'COMPLETED');
  return { output, launcher };
}

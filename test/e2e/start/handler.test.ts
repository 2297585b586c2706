// test: postgres, python, 40 s
/** `npm start -- --handler FILE`: the user's own handler, in Python and in JavaScript, as an endpoint. */
import { mkdir, rename, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { prepareHandler } from '@slipway/dev/handler/handler';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { scratch } from '../../helpers/scratch.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { skipWithoutPython } from '../../helpers/system/handlers.ts';
import { Launcher, readFacts } from '../../helpers/system/launcher.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../../..');
/**
 * Python environments. pip takes a minute or more for one, so they are kept from run to run, as a user's data folder
 * is.
 */
const venvs = join(root, '.slipway-test/venvs');

const PYTHON = `import runpod


def handler(job):
    return {"hello": job["input"]["name"]}


runpod.serverless.start({"handler": handler})
`;

const TYPESCRIPT = `import { start } from 'slipway/worker';

interface Input { name: string }

start({ handler: async function* (job: { input: Input }) { yield \`hello \${job.input.name}\`; }, returnAggregateStream: true });
`;

t.setTimeout(600_000);

t.test('a TypeScript handler that streams', async (t) => {
  const { path } = await scratch(t);
  const file = path('greet.ts');
  await writeFile(file, TYPESCRIPT);
  const seams = { report: () => {}, signal: new AbortController().signal, clock: systemClock };
  const { command } = await prepareHandler({ file, lb: false }, venvs, seams);
  const system = await startSystem(t);
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  t.match(await jobs.runSync({ name: 'Ada' }), { status: 'COMPLETED', output: ['hello Ada'] });
});

t.test('a Python handler', { skip: skipWithoutPython('new') }, async (t) => {
  const { output, launcher } = await serve(t, 'handler.py', PYTHON);
  t.same(output, { hello: 'Ada' });
  t.match(launcher.text, /mine/, 'a file called handler is named for its folder');
});

const CHANGING = `import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { start } from 'slipway-worker';
import { greeting } from './words.mjs';

async function handler({ input }) {
  while (input.until && !existsSync(input.until)) await delay(20);
  return { [greeting]: input.name };
}

start({ handler });
`;

t.test(
  'a JavaScript handler outside of the project: a change of its files replaces its workers after their jobs',
  async (t) => {
    const words = (greeting: string): string => `export const greeting = '${greeting}';\n`;
    const { url } = await createDatabase(t);
    const { output, launcher, jobs, file } = await serve(
      t,
      'handler.mjs',
      CHANGING,
      { 'words.mjs': words('hello') },
      '--database-url',
      url,
    );
    t.same(output, { hello: 'Ada' });
    const at = (name: string): string => join(dirname(file), name);
    const lines = (): string[] => launcher.text.split('\n').filter((line) => line.includes('changed: '));

    const held = await jobs.run({ name: 'Ada', until: at('go on') });
    await jobs.reached(held, 'IN_PROGRESS');
    // As editors save: another file takes the place of the old one.
    await writeFile(at('words.mjs~'), words('goodbye'));
    await rename(at('words.mjs~'), at('words.mjs'));
    const [line] = await waitFor('the line that says so', () => lines().length > 0 && lines());
    t.match(line, /words\.mjs changed: worker \w+ replaced after its job$/);
    t.match(await jobs.runSync({ name: 'Ada' }), { output: { goodbye: 'Ada' } }, 'the next job runs the new code');
    await writeFile(at('go on'), '');
    t.match(
      await jobs.settled(held),
      { status: 'COMPLETED', output: { hello: 'Ada' } },
      'the one that ran was left alone',
    );

    await writeFile(file, CHANGING);
    await writeFile(at('other.mjs'), 'export const nobody = 1;');
    await unlink(at('words.mjs'));
    await writeFile(at('words.mjs'), words('good evening'));
    await waitFor(
      'the new code',
      async () => 'good evening' in ((await jobs.runSync({ name: 'Ada' })).output as object),
    );
    t.equal(lines().length, 2, 'the same text again and a file that it does not import are no change');

    await writeFile(file, "throw new Error('no such model \\u001b[2J');\n");
    await waitFor('the second crash', () =>
      /worker \w+ of mine crashed again \(2 times\), same error: /.test(launcher.text),
    );
    await waitFor('the release to be held', () =>
      /the release of mine is held: version \d+ does not start: .*; version \d+ keeps serving/.test(launcher.text),
    );
    t.match(
      launcher.text,
      /^Worker \w+ of mine crashed; another one will be started in its place:\n[^]*no such model/m,
    );
    t.equal(launcher.text.split('another one will be started in its place').length, 2, 'the whole reason is told once');
    t.notMatch(launcher.text, /\u001b/, 'what a handler writes does not steer the terminal');
  },
);

t.test('a missing handler', async (t) => {
  const launcher = new Launcher(t, '--handler', '/nowhere/handler.py');
  t.equal(await launcher.exit(), 2);
  t.match(launcher.text, /no handler at \/nowhere\/handler\.py/);
});

async function serve(t: Test, name: string, text: string, more: Record<string, string> = {}, ...options: string[]) {
  const folder = await openFolder(t);
  await mkdir(join(folder, 'mine'));
  const file = join(folder, 'mine', name);
  await writeFile(file, text);
  for (const [other, content] of Object.entries(more)) await writeFile(join(folder, 'mine', other), content);
  await writeFile(join(folder, 'mine', 'test_input.json'), '{"input": {"name": "Ada"}}');
  const dataDir = join(folder, 'data');
  await mkdir(dataDir, { mode: 0o711 });
  await mkdir(venvs, { recursive: true });
  await symlink(venvs, join(dataDir, 'venvs'));
  const launcher = new Launcher(
    t,
    '--handler',
    file,
    '--port',
    String(await quietPort()),
    '--data-dir',
    dataDir,
    ...options,
  );
  await launcher.ready(300_000); // A first Python handler gets an environment of its own from pip.
  const facts = readFacts(join(dataDir, 'local.env'));
  t.same(JSON.parse(facts.SLIPWAY_EXAMPLE_INPUT!), { input: { name: 'Ada' } }, 'test_input.json is the example');
  const request = publicRequest(facts.SLIPWAY_URL!, facts.SLIPWAY_API_KEY!);
  const jobs = endpointJobs({ request }, facts.SLIPWAY_ENDPOINT_ID!);
  const { status, output } = await jobs.runSync({ name: 'Ada' });
  t.equal(status, 'COMPLETED');
  return { output, launcher, jobs, file };
}

// test: postgres, python, 50 s
/**
 * The Python examples, in an environment with the requirements that they list. `npm start -- --handler` makes one for
 * each (e2e/start/handler.test.ts).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exampleJob } from '@slipway/dev/example-request';
import { makeVenv } from '@slipway/dev/python/python-venv';
import { systemClock } from '@slipway/kit/time/clock';
import OpenAI from 'openai';
import type { Test } from 'tap';
import t from 'tap';
import { readEvents } from '../helpers/calls/sse.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { skipWithoutPython } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';

const root = join(import.meta.dirname, '../..');
const skip = skipWithoutPython('new');
t.setTimeout(600_000);

const examples = ['thumbnails', 'tokens', 'embeddings'] as const;
const fileOf = (name: string, file: string): string => join(root, 'examples', name, file);
const seams = { report: () => {}, signal: new AbortController().signal, clock: systemClock };
const system = skip ? undefined : await startSystem(t);
const python = skip ? '' : await environment();

/** Makes one environment with the requirements of all examples. It is kept from run to run. */
async function environment(): Promise<string> {
  const folder = join(root, '.slipway-test/examples');
  const lines = examples.flatMap((name) => readFileSync(fileOf(name, 'requirements.txt'), 'utf8').split('\n'));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'requirements.txt');
  writeFileSync(file, [...new Set(lines)].join('\n'));
  return makeVenv({ requirements: { file, more: [] }, parentDir: join(root, '.slipway-test/venvs') }, seams);
}

async function serve(t: Test, name: (typeof examples)[number]) {
  const file = fileOf(name, 'handler.py');
  const endpoint = await system!.createEndpoint({ command: [python, '-u', file], workersMax: 1 });
  t.teardown(() => system!.endWorkers(endpoint));
  const { input } = JSON.parse(exampleJob(file).body!) as { input: Record<string, unknown> };
  return { system: system!, endpoint, input, ...endpointJobs(system!, endpoint) };
}

t.test('thumbnails', { skip }, async (t) => {
  const { runSync, input } = await serve(t, 'thumbnails');
  const { status, output } = await runSync(input);
  t.equal(status, 'COMPLETED');
  t.match(output, {
    width: 32,
    height: 21,
    image: /^data:image\/png;base64,iVBOR/,
    original: { width: 96, height: 64, format: 'webp' },
  });
  t.match((await runSync({ ...input, format: 'jpeg', size: 16 })).output, {
    width: 16,
    image: /^data:image\/jpeg;base64,\/9j/,
  });
  for (const [bad, error] of [
    [{ image: 'QUJD' }, /not a picture/],
    [{ image: '!' }, /not valid base64/],
    [{}, /must be a data URI/],
    [{ ...input, size: 5 }, /`size`/],
    [{ ...input, size: true }, /`size`/],
    [{ ...input, format: 'gif' }, /`format`/],
  ] as const) {
    const job = await runSync(bad);
    t.equal(job.status, 'FAILED');
    t.match(JSON.stringify(job.error), error);
  }
});

t.test('tokens', { skip }, async (t) => {
  const { run, runSync, settled, input, endpoint, system } = await serve(t, 'tokens');
  const id = await run({ ...input, tokens: 5, pause_ms: 20 });
  const events = await (await readEvents(t, system, `/v2/${endpoint}/stream/${id}`)).rest();
  const chunks = events
    .filter((event) => event.event === undefined)
    .map((event) => (JSON.parse(event.data) as { output: { number: number } }).output);
  t.same(
    chunks.map((chunk) => chunk.number),
    [1, 2, 3, 4, 5],
    'every token comes once and in order',
  );
  t.same((await settled(id)).output, chunks, 'and the whole list is the output');
  t.equal(((await runSync({ ...input, pause_ms: 0 })).output as unknown[]).length, 20);
  t.match(await runSync({ tokens: 501 }), { status: 'FAILED', error: /`tokens`/ });
});

t.test('embeddings', { skip }, async (t) => {
  const { runSync, input, endpoint, system } = await serve(t, 'embeddings');
  const client = new OpenAI({ baseURL: `${system.url}/v2/${endpoint}/openai/v1`, apiKey: system.key, maxRetries: 0 });
  const [model] = (await client.models.list()).data;
  t.ok(model);
  const { data, usage } = await client.embeddings.create({
    model: model!.id,
    input: ['a cat sleeps', 'a kitten naps', 'the stock market fell'],
  });
  const [cat, kitten, stocks] = data.map((entry) => entry.embedding) as [number[], number[], number[]];
  const similarity = (a: number[], b: number[]): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0);
  t.equal(cat.length, 256);
  t.ok(Math.abs(similarity(cat, cat) - 1) < 1e-3, 'vectors have length 1');
  t.ok(similarity(cat, kitten) > similarity(cat, stocks) + 0.2, 'what means the same lies close together');
  t.ok(usage.prompt_tokens > 6);
  t.match(await client.embeddings.create({ model: 'gone', input: 'x' }).catch((error: unknown) => error), {
    status: 404,
    error: { message: /`gone` does not exist/ },
  });
  t.match(await client.embeddings.create({ model: model!.id, input: [] }).catch((error: unknown) => error), {
    status: 400,
  });
  const { output } = (await runSync(input)) as { output: { data: { embedding: number[] }[] } };
  t.equal(output.data[0]!.embedding.length, 256, 'a plain job works as well');
});

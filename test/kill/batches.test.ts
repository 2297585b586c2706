// test: postgres, 20 s
/**
 * kill -9 of worker, agent, facade and cores, one after the other and at once, while a batch runs: each request has one
 * result, in its place, and none is lost or there twice.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import OpenAI, { toFile } from 'openai';
import type { Test } from 'tap';
import t from 'tap';
import type { Child } from '../helpers/child.ts';
import { scratch } from '../helpers/scratch.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const REQUESTS = 120;
/** Requests that may end before a kill, and after it. */
const STEP = 8;
const ENDED_MS_MAX = 120_000;

const slipway = await startProcesses(t, { cores: 2 });
const { agents, cores, facade } = slipway;
const gates = await scratch(t);
await slipway.createEndpoint({
  command: jsHandler('openai.js'),
  fields: { name: 'echo', workersMin: 1 },
  workersMax: 1,
});
const client = new OpenAI({ baseURL: `${slipway.url}/openai/v1`, apiKey: slipway.key, maxRetries: 0 });
/** Returns the path of a request's gate. The request ends once it exists, and notes each run in it. */
const gate = (number: number): string => gates.path(`gate-${number}`);
const text = Array.from({ length: REQUESTS }, (_, number) =>
  JSON.stringify({
    ...{ custom_id: `r-${number}`, method: 'POST', url: '/v1/chat/completions' },
    body: { model: 'echo', messages: [{ role: 'user', content: `wait ${gate(number)}` }] },
  }),
).join('\n');
const file = await client.files.create({ file: await toFile(Buffer.from(text), 'requests.jsonl'), purpose: 'batch' });
const { id } = await client.batches.create({
  ...{ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' },
});

let opened = 0;
const open = (count: number): void => {
  for (const end = Math.min(opened + count, REQUESTS); opened < end; opened += 1) writeFileSync(gate(opened), '');
};
const completed = async (): Promise<number> => (await client.batches.retrieve(id)).request_counts!.completed;
/** Process ids of the runs of each request. */
const runsOf = (number: number): number[] =>
  existsSync(`${gate(number)}.note`)
    ? readFileSync(`${gate(number)}.note`, 'utf8')
        .split('\n')
        .filter(/^\d+$/.test.bind(/^\d+$/))
        .map(Number)
    : [];
let kills = 0;

/** A line of the results. */
interface Result {
  custom_id: string;
  response: { body: { choices: { message: { content: string } }[] } };
}

/** Lets some requests end, kills while the next one runs, and waits until later ones have ended, too. */
async function killWhileItRuns(t: Test, kill: (worker: number) => Promise<unknown>): Promise<void> {
  open(STEP);
  const held = opened;
  const worker = await waitFor(`request ${held} to run`, () => runsOf(held).at(-1), ENDED_MS_MAX);
  kills += 1;
  await kill(worker);
  open(STEP);
  await waitFor('requests after the kill', async () => (await completed()) > held, ENDED_MS_MAX);
  t.ok(runsOf(held).length >= 1);
}

const restart = async (children: readonly Child<unknown>[]): Promise<void> => {
  await Promise.all(children.map((child) => child.kill()));
  await Promise.all(children.map((child) => child.start()));
};

t.test('a killed worker', (t) => killWhileItRuns(t, async (worker) => process.kill(worker, 'SIGKILL')));

t.test('a killed agent', (t) => killWhileItRuns(t, () => restart(agents)));

t.test('a killed facade', (t) => killWhileItRuns(t, () => restart([facade])));

t.test('one killed core of two, and then the other', async (t) => {
  for (const core of cores) await killWhileItRuns(t, () => restart([core]));
});

t.test('all of them at once', (t) => killWhileItRuns(t, () => restart([...cores, facade, ...agents])));

t.test('each request has its one result', async (t) => {
  open(REQUESTS);
  const done = await waitFor(
    'the batch',
    async () => {
      const batch = await client.batches.retrieve(id);
      return batch.status === 'completed' && batch;
    },
    ENDED_MS_MAX,
  );
  t.match(done, { request_counts: { total: REQUESTS, completed: REQUESTS, failed: 0 }, error_file_id: null });
  const lines = (await (await client.files.content(done.output_file_id!)).text()).trim().split('\n');
  t.same(
    lines.map((line) => {
      const { custom_id, response } = JSON.parse(line) as Result;
      return [custom_id, response.body.choices[0]!.message.content];
    }),
    Array.from({ length: REQUESTS }, (_, number) => [`r-${number}`, `wait ${gate(number)}`]),
  );
  const runs = Array.from({ length: REQUESTS }, (_, number) => runsOf(number).length);
  const again = runs.reduce((sum, count) => sum + count, 0) - REQUESTS;
  t.ok(again <= kills, `${again} requests ran once more after ${kills} kills`);
  const [row] = await slipway.sql<{ n: number }[]>`SELECT count(*)::int AS n FROM job WHERE finished_at IS NULL`;
  t.equal(row!.n, 0, 'no job of it is left');
});

// test: postgres, 10 s
/** Streamed output: docs/reference/api.md#stream: the shapes, the drain-once reading, and the resumable live feed. */
import t from 'tap';
import { readEvents } from '../../helpers/calls/sse.ts';
import { scratch } from '../../helpers/scratch.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import type { Answer } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const system = await startSystem(t);
const files = await scratch(t);
const command = jsHandler('all.js');
const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 4 }, workersMax: 4 }));
const parked = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));
const JSON_TYPE = { 'content-type': 'application/json' };
let gates = 0;

/** Runs to the end of the file beside the tests: /stream without `wait` on a job that yields nothing. */
const held = parked.run({}).then(async (id) => {
  const startedMs = performance.now();
  return { answer: await parked.call('GET', `/stream/${id}`), tookMs: performance.now() - startedMs };
});

/** A streaming job whose chunk n is yielded when the test says `pass(n)`; `pass('end')` ends it. */
async function gated(values: unknown[]): Promise<{ id: string; pass: (which: number | 'end') => void }> {
  const gate = `gate-${(gates += 1)}`;
  files.makeFolder(gate);
  const id = await jobs.run({ mode: 'stream', values, gate: files.path(gate), end: true });
  return { id, pass: (which) => files.open(`${gate}/${which}`) };
}

/** Chunks of an answer in array form. */
function array(answer: Answer): { output: unknown }[] {
  return answer.json as unknown as { output: unknown }[];
}

t.test('GET /stream/{job_id} | JSON array of stream chunks', async (t) => {
  const id = await jobs.run({ mode: 'stream', values: [{ text: 'a' }, 'b', 3, null, [4]] });
  await jobs.reached(id, 'COMPLETED');
  const answer = await jobs.call('GET', `/stream/${id}`);
  t.equal(answer.status, 200);
  t.same(answer.json, [{ output: { text: 'a' } }, { output: 'b' }, { output: 3 }, { output: null }, { output: [4] }]);
  t.equal(answer.headers.get('x-job-status'), 'COMPLETED', 'array readers learn the state from a header');
  const record = (await jobs.status(id)).json;
  t.equal(record.status, 'COMPLETED');
});

t.test('a chunk may have metrics', async (t) => {
  const metrics = { tokens: 12, unit: 'ms', rate: 1.5 };
  const id = await jobs.run({ mode: 'metrics', output: 'a', metrics });
  await jobs.reached(id, 'COMPLETED');
  t.same(array(await jobs.call('GET', `/stream/${id}`)), [{ output: 'a', metrics }]);
});

t.test('metrics count: a chunk is at most 1 MB with them', async (t) => {
  const metrics = { text: 'm'.repeat(400_000) };
  const id = await jobs.run({ mode: 'metrics', output: 'x'.repeat(900_000), metrics });
  await jobs.reached(id, 'COMPLETED');
  const chunks = array(await jobs.call('GET', `/stream/${id}`)) as { output: string; metrics?: object }[];
  t.equal(chunks.map(({ output }) => output).join(''), 'x'.repeat(900_000));
  t.same(
    chunks.map(({ metrics: carried }) => carried),
    [undefined, metrics],
    'the last piece carries them',
  );
  for (const chunk of chunks)
    t.ok(JSON.stringify(chunk.output).length + JSON.stringify(chunk.metrics ?? '').length <= 1_000_002);
});

t.test('metrics that are too long fail the job with their size', async (t) => {
  const id = await jobs.run({ mode: 'metrics', output: 'x', metrics: { text: 'm'.repeat(500_000) } });
  t.match(await jobs.reached(id, 'FAILED'), {
    error: /metrics of a streamed value take 500011 bytes; they may take 500000/,
  });
});

t.test('SDKs get the object: a JSON content type, POST, or ?format=object', async (t) => {
  const forms = [
    ['GET', '', JSON_TYPE],
    ['POST', '', JSON_TYPE],
    ['GET', '?format=object', {}],
  ] as const;
  for (const [method, query, headers] of forms) {
    const id = await jobs.run({ mode: 'stream', values: ['a', 'b'] });
    await jobs.reached(id, 'COMPLETED');
    const answer = await jobs.call(method, `/stream/${id}${query}`, undefined, headers);
    t.same(answer.json, { status: 'COMPLETED', stream: [{ output: 'a' }, { output: 'b' }] }, `${method} ${query}`);
    const again = await jobs.call(method, `/stream/${id}${query}`, undefined, headers);
    t.same(again.json, { status: 'COMPLETED', stream: [] }, 'afterwards nothing with the final status');
  }
});

t.test('?format=array wins over a JSON content type', async (t) => {
  const id = await jobs.run({ mode: 'stream', values: ['a'] });
  await jobs.reached(id, 'COMPLETED');
  t.same((await jobs.call('GET', `/stream/${id}?format=array`, undefined, JSON_TYPE)).json, [{ output: 'a' }]);
});

t.test('chunks are delivered as they come, each once, in order', async (t) => {
  const { id, pass } = await gated(['a', 'b', 'c']);
  pass(1);
  t.same(array(await jobs.call('GET', `/stream/${id}?wait=10000`)), [{ output: 'a' }]);
  const waiting = jobs.call('GET', `/stream/${id}?wait=10000`, undefined, JSON_TYPE);
  pass(2);
  t.same(
    (await waiting).json,
    { status: 'IN_PROGRESS', stream: [{ output: 'b' }] },
    'a waiting call is woken by the next chunk',
  );
  pass(3);
  pass('end');
  await jobs.reached(id, 'COMPLETED');
  t.same((await jobs.call('GET', `/stream/${id}`, undefined, JSON_TYPE)).json, {
    status: 'COMPLETED',
    stream: [{ output: 'c' }],
  });
  t.same(array(await jobs.call('GET', `/stream/${id}`)), []);
});

t.test('two readers split the chunks between them', async (t) => {
  const values = Array.from({ length: 300 }, (_, number) => number);
  const id = await jobs.run({ mode: 'stream', values });
  const seen: number[] = [];
  const reader = (): Promise<unknown> =>
    waitFor('the end of the stream', async () => {
      const { json } = await jobs.call('GET', `/stream/${id}?wait=1000`, undefined, JSON_TYPE);
      seen.push(...(json.stream as { output: number }[]).map(({ output }) => output));
      return json.status === 'COMPLETED' && (json.stream as unknown[]).length === 0;
    });
  await Promise.all([reader(), reader()]);
  t.same(
    seen.toSorted((a, b) => a - b),
    values,
    'nothing twice, nothing lost',
  );
});

t.test('a final job answers at once, a job that yields nothing keeps an empty stream', async (t) => {
  const id = await jobs.run({ mode: 'echo' });
  await jobs.reached(id, 'COMPLETED');
  // A wait of the longest there may be: longer than this test may take.
  t.same((await jobs.call('GET', `/stream/${id}?wait=300000`, undefined, JSON_TYPE)).json, {
    status: 'COMPLETED',
    stream: [],
  });
});

t.test('wait: how long a call holds when nothing comes', async (t) => {
  const id = await parked.run({});
  const before = performance.now();
  t.same((await parked.call('GET', `/stream/${id}?wait=1000`, undefined, JSON_TYPE)).json, {
    status: 'IN_QUEUE',
    stream: [],
  });
  const tookMs = performance.now() - before;
  t.ok(tookMs > 950, 'not before its time');
});

t.test('the end of the job wakes a waiting call: cancel', async (t) => {
  const { id } = await gated(['a']);
  const waiting = jobs.call('GET', `/stream/${id}?wait=60000`, undefined, JSON_TYPE);
  await jobs.reached(id, 'IN_PROGRESS');
  await jobs.call('POST', `/cancel/${id}`);
  t.same((await waiting).json, { status: 'CANCELLED', stream: [] });
});

t.test('a handler that fails midway: its chunks stay', async (t) => {
  const id = await jobs.run({ mode: 'stream', values: ['a', 'b'], message: 'then it broke' });
  t.match(await jobs.reached(id, 'FAILED'), { error: /then it broke/ });
  t.same((await jobs.call('GET', `/stream/${id}`, undefined, JSON_TYPE)).json, {
    status: 'FAILED',
    stream: [{ output: 'a' }, { output: 'b' }],
  });
});

t.test('many chunks keep their order', async (t) => {
  const values = Array.from({ length: 1_200 }, (_, number) => number);
  const id = await jobs.run({ mode: 'stream', values });
  const seen: unknown[] = [];
  await waitFor('the whole stream', async () => {
    const { json } = await jobs.call('GET', `/stream/${id}`, undefined, JSON_TYPE);
    seen.push(...(json.stream as { output: unknown }[]).map(({ output }) => output));
    return json.status === 'COMPLETED' && (json.stream as unknown[]).length === 0;
  });
  t.same(seen, values);
});

t.test('Accept: text/event-stream | a live feed', async (t) => {
  const { id, pass } = await gated(['a', { b: 'line\nbreak' }]);
  const feed = await readEvents(t, system, `${jobs.base}/stream/${id}`);
  t.equal(feed.status, 200);
  t.match(feed.headers.get('content-type'), /^text\/event-stream/);
  pass(1);
  const first = await feed.next();
  t.match(first, { id: String });
  t.match(JSON.parse(first!.data), { output: 'a' });
  pass(2);
  t.match(JSON.parse((await feed.next())!.data), { output: { b: 'line\nbreak' } });
  pass('end');
  const rest = await feed.rest();
  t.ok(
    rest.some(({ data }) => data.includes('COMPLETED')),
    'the end of the job is told, then the feed ends',
  );
});

t.test('Last-Event-ID | the feed continues after that event, however often it is read', async (t) => {
  const id = await jobs.run({ mode: 'stream', values: ['a', 'b', 'c'] });
  await jobs.reached(id, 'COMPLETED');
  const outputs = (events: { data: string }[]): unknown[] =>
    events
      .map(({ data }) => JSON.parse(data) as { output?: unknown })
      .filter((value) => 'output' in value)
      .map(({ output }) => output);
  const all = await (await readEvents(t, system, `${jobs.base}/stream/${id}`)).rest();
  t.same(outputs(all), ['a', 'b', 'c']);
  const again = await (await readEvents(t, system, `${jobs.base}/stream/${id}`)).rest();
  t.same(outputs(again), ['a', 'b', 'c'], 'a feed starts at the beginning and uses nothing up');
  for (const [index, left] of [
    [0, ['b', 'c']],
    [1, ['c']],
    [2, []],
  ] as const) {
    const resumed = await (
      await readEvents(t, system, `${jobs.base}/stream/${id}`, { 'last-event-id': all[index]!.id! })
    ).rest();
    t.same(outputs(resumed), left, `after event ${index + 1}`);
  }
  t.same(
    array(await jobs.call('GET', `/stream/${id}`)).map(({ output }) => output),
    ['a', 'b', 'c'],
    'polling readers have lost nothing',
  );
});

t.test('unknown job | 404', async (t) => {
  for (const headers of [{}, JSON_TYPE, { accept: 'text/event-stream' }] as Record<string, string>[]) {
    const answer = await jobs.call('GET', '/stream/00000000-0000-4000-8000-000000000000-u1', undefined, headers);
    t.equal(answer.status, 404);
    t.match(answer.json, { code: 'job_not_found' });
  }
});

t.test('without wait a call holds about 5 s, and always less than the 10 s that the Python client waits', async (t) => {
  const { answer, tookMs } = await held;
  t.same(answer.json, []);
  t.ok(tookMs > 4_000, 'not before its time');
});

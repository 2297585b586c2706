// test: postgres, 10 s
/**
 * GET /v2/serverless/{id}/workers/{workerId}/logs: a worker's lines in the form of REST v2
 * (docs/reference/api.md#log-of-a-worker-or-a-pod).
 */
import { connect } from 'node:net';
import type { Test } from 'tap';
import t from 'tap';
import type { SseEvent } from '../helpers/calls/sse.ts';
import { readEvents } from '../helpers/calls/sse.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { scratch } from '../helpers/scratch.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { lbEndpoint } from '../helpers/system/lb-endpoint.ts';
import { readMetrics, valueOf } from '../helpers/system/metrics.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** More lines than one page holds; the length of each line is its number. */
const WRITTEN = 3_000;
const LONG_LINES = 4_000;
const LONG_LINE = 250;
const system = await startSystem(t, { facadeEnv: { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' } });
const workerOf = (endpointId: string): Promise<string> =>
  waitFor(
    'its worker',
    async () => (await call(system.clients.machines, 'listWorkers', { endpointId }, system.key)).workers[0]?.id,
  );
const pathOf = (endpointId: string, workerId: string): string =>
  `/v2/serverless/${endpointId}/workers/${workerId}/logs`;
const talks = endpointJobs(system, await system.createEndpoint({ command: jsHandler('talker.js'), workersMax: 1 }));
const path = pathOf(talks.id, await workerOf(talks.id));
const lineOf = (event: SseEvent | undefined): string => (JSON.parse(event!.data) as { line: string }).line;
const say = async (...words: string[]): Promise<void> => void (await talks.settled(await talks.run({ words })));
/** Query for what the worker itself wrote. */
const OWN = '?source=container';
const lines = async (t: Test, count: number, query: string, headers = {}): Promise<string[]> => {
  const feed = await readEvents(t, system, path + query, headers);
  const found: string[] = [];
  while (found.length < count) found.push(lineOf(await feed.next()));
  feed.close();
  return found;
};

t.test('the log has the last lines, then follows', async (t) => {
  await say('one', 'two');
  t.same(await lines(t, 2, ''), ['Started.', 'the talker is here'], 'by default with the lines of the system');
  const feed = await readEvents(t, system, path + OWN);
  t.equal(feed.status, 200);
  t.match(feed.headers.get('content-type'), /^text\/event-stream/);
  const first = await feed.next();
  const { ts, ...rest } = JSON.parse(first!.data) as { ts: string };
  t.same(rest, { source: 'container', line: 'the talker is here' });
  t.match(ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.equal(first!.id, ts.replace('Z', '000000Z'), 'its id is its time');
  t.same([lineOf(await feed.next()), lineOf(await feed.next())], ['saying one', 'saying two']);
  const coming = await readEvents(t, system, `${path}${OWN}&tail=0`);
  await say('three');
  t.equal(lineOf(await feed.next()), 'saying three');
  t.equal(lineOf(await coming.next()), 'saying three', 'tail=0: only what is to come');
  for (const source of ['', '&source=container', '&source=both'])
    t.same(await lines(t, 2, `?tail=2${source}`), ['saying two', 'saying three']);
});

t.test('the log starts at a time or after an event', async (t) => {
  const all = await readEvents(t, system, `${path}${OWN}&since=now-1h&tail=1`);
  const events = [await all.next(), await all.next(), await all.next(), await all.next()];
  t.same(
    events.map(lineOf),
    ['the talker is here', 'saying one', 'saying two', 'saying three'],
    'since overrides tail',
  );
  const ids = events.map((event) => event!.id!);
  t.same(ids, ids.toSorted(), 'ids rise');
  t.same(new Set(ids).size, ids.length);
  t.same(await lines(t, 1, `${OWN}&since=now-1h`, { 'last-event-id': ids[2]! }), ['saying three']);
  const later = await readEvents(t, system, `${path}?since=${new Date(Date.now() + 3_600_000).toISOString()}`);
  const ofSystemFeed = await readEvents(t, system, `${path}?source=system`);
  await say('four');
  t.equal(lineOf(await all.next()), 'saying four');
  await system.endWorkers(talks.id);
  for (const feed of [later, all]) t.same(await feed.rest(), [], 'its worker has ended, and it ends');
  const ofSystem = (await ofSystemFeed.rest()).map(
    (event) => JSON.parse(event.data) as { source: string; line: string },
  );
  t.match(ofSystem[0], { source: 'system', line: 'Started.' });
  t.ok(ofSystem.length > 1 && ofSystem.every(({ source }) => source === 'system'), 'its start and its end');
  const ended = await (await readEvents(t, system, path + OWN)).rest();
  t.same(ended.map(lineOf), ['the talker is here', ...['one', 'two', 'three', 'four'].map((word) => `saying ${word}`)]);
});

t.test('a long log answers exactly as many lines as asked for', async (t) => {
  const script = `i=0; while [ $i -lt ${WRITTEN} ]; do i=$((i+1)); echo $i; done; exit 3`;
  const id = await system.createEndpoint({ command: ['/bin/sh', '-c', script], ready: 0, workersMax: 1 });
  const worker = await waitFor(
    'it to end',
    async () => (await call(system.clients.machines, 'listWorkers', { endpointId: id }, system.key)).recent[0]?.id,
  );
  const written = async (query: string): Promise<string[]> =>
    (await (await readEvents(t, system, pathOf(id, worker) + OWN + query)).rest()).map(lineOf);
  const numbers = Array.from({ length: WRITTEN }, (_, n) => String(n + 1));
  t.same(await written('&tail=1500'), numbers.slice(-1_500));
  t.same(await written('&tail=5000'), numbers);
  t.same(await written('&since=now-1h'), numbers);
  t.same(await written('&tail=0'), []);
  await system.endWorkers(id);
});

t.test('buffered lines count against the answer budget until they are read', async (t) => {
  const files = await scratch(t);
  const script =
    `i=0; while [ $i -lt ${LONG_LINES} ]; do i=$((i+1)); printf '%0${LONG_LINE}d\\n` +
    `' $i; done; echo x > ${files.path('done')}; exec sleep 1000`;
  const id = await system.createEndpoint({ command: ['/bin/sh', '-c', script], ready: 0, workersMax: 1 });
  const logs = pathOf(id, await workerOf(id));
  await files.noted('done');
  const held = async (): Promise<number> =>
    valueOf(await readMetrics(system.metrics.facade), 'slipway_facade_memory_bytes', { budget: 'responses' });
  t.equal(await held(), 0);
  // The second is answered behind the first, which does not end.
  const socket = connect(Number(new URL(system.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  const ask = (query: string): string =>
    `GET ${logs}${query} HTTP/1.1\r\nhost: slipway\r\nauthorization: Bearer ${system.key}\r\n\r\n`;
  socket.write(ask('?tail=0') + ask('?tail=5000'));
  await waitFor('more than a page has to be counted', async () => (await held()) > LONG_LINES * LONG_LINE);
  socket.destroy();
  await waitFor('the room to be free again', async () => (await held()) === 0);
  await system.endWorkers(id);
});

t.test('workers of a load-balancing endpoint have logs', async (t) => {
  const id = await lbEndpoint(system, { workersMin: 1, workersMax: 1 });
  const path = pathOf(id, await workerOf(id));
  await waitFor('its machine to know it', async () => (await readEvents(t, system, path)).status === 200);
});

t.test('invalid requests are rejected as a problem', async (t) => {
  const other = await system.createEndpoint({
    command: jsHandler('talker.js'),
    ready: 0,
    workersMax: 0,
    fields: { workersMin: 0 },
  });
  const [, worker] = /workers\/(\w+)/.exec(path)!;
  const refused: [string, number, string][] = [
    [`${path}?tail=-1`, 400, 'invalid_request'],
    [`${path}?tail=5001`, 400, 'invalid_request'],
    [`${path}?tail=1e3`, 400, 'invalid_request'],
    [`${path}?since=yesterday`, 400, 'invalid_request'],
    [`${path}?source=kernel`, 400, 'invalid_request'],
    [pathOf(other, worker!), 404, 'not_found'],
    [pathOf(talks.id, 'nosuchworker00'), 404, 'not_found'],
    [pathOf('no%20such', worker!), 404, 'endpoint_not_found'],
    [pathOf(talks.id, '..%2fkey'), 404, 'not_found'],
  ];
  for (const [asked, status, code] of refused) {
    const answer = await system.request('GET', asked);
    t.match(answer, { status, json: { title: /\w/, status, detail: /\w/, code } }, asked);
    t.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8');
  }
  t.equal((await readEvents(t, system, path, { 'last-event-id': '1-2' })).status, 400);
  t.equal((await readEvents(t, { ...system, key: 'nosuchkey' }, path)).status, 401);
  t.equal((await system.request('POST', path)).status, 405);
});

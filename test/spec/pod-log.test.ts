// test: postgres, 10 s
/** GET /v2/pods/{id}/logs: a pod's lines in the form of REST v2 (docs/reference/api.md#log-of-a-worker-or-a-pod). */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import t from 'tap';
import type { SseEvent } from '../helpers/calls/sse.ts';
import { readEvents } from '../helpers/calls/sse.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../helpers/pods/pod-calls.ts';
import { scratch } from '../helpers/scratch.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const system = await startSystem(t);
await waitFor(
  'a machine to join',
  async () => (await call(system.clients.machines, 'listMachines', {}, system.rootKey)).machines.length > 0,
);
const pods = podCalls(system.clients, system.key);
const files = await scratch(t);
const pathOf = (id: string): string => `/v2/pods/${id}/logs`;
const lineOf = (event: SseEvent | undefined): string => (JSON.parse(event!.data) as { line: string }).line;
/** What the pod itself wrote. */
const OWN = 'source=container';

async function create(t: Test, script: string): Promise<string> {
  const { status, text, json } = await system.request('POST', '/v1/pods', {
    name: 'box',
    computeType: 'CPU',
    dockerStartCmd: ['sh', '-c', script],
  });
  if (status !== 201) throw new Error(text);
  t.teardown(() => system.request('DELETE', `/v1/pods/${json.id}`));
  return json.id;
}

const lines = async (t: Test, count: number, path: string, headers = {}): Promise<string[]> => {
  const feed = await readEvents(t, system, path, headers);
  const found: string[] = [];
  while (found.length < count) found.push(lineOf(await feed.next()));
  feed.close();
  return found;
};

t.test('the log has the last lines, then follows over restarts until the pod stops', async (t) => {
  const id = await create(
    t,
    `echo one; echo two; while [ ! -e ${files.path('go')} ]; do sleep 0.05; done; echo three; exec sleep 1000`,
  );
  const path = pathOf(id);
  const feed = await waitFor('its machine to know it', async () => {
    const opened = await readEvents(t, system, `${path}?${OWN}`);
    return opened.status === 200 && opened;
  });
  t.match(feed.headers.get('content-type'), /^text\/event-stream/);
  const first = await feed.next();
  const { ts, ...rest } = JSON.parse(first!.data) as { ts: string };
  t.same(rest, { source: 'container', line: 'one' });
  t.equal(first!.id, ts.replace('Z', '000000Z'), 'its id is its time');
  t.equal(lineOf(await feed.next()), 'two');
  const [coming, about, both] = await Promise.all(
    [`${path}?${OWN}&tail=0`, `${path}?source=system`, path].map((asked) => readEvents(t, system, asked)),
  );
  t.same([coming!.status, about!.status, both!.status], [200, 200, 200]);
  files.open('go');
  t.equal(lineOf(await feed.next()), 'three');
  t.equal(lineOf(await coming!.next()), 'three', 'tail=0: only what is to come');
  for (const source of ['', `&${OWN}`, '&source=both'])
    t.same(await lines(t, 2, `${path}?tail=2${source}`), ['two', 'three']);
  t.same(await lines(t, 4, `${path}?since=now-1h&tail=1`), ['Started.', 'one', 'two', 'three'], 'since overrides tail');
  t.same(await lines(t, 2, path, { 'last-event-id': first!.id! }), ['two', 'three']);
  await pods.act('restartPod', id);
  t.same(
    [lineOf(await feed.next()), lineOf(await feed.next()), lineOf(await feed.next())],
    ['one', 'two', 'three'],
    'a restart is no end',
  );
  await pods.act('stopPod', id);
  t.same(await feed.rest(), [], 'it is stopped, and its feed ends');
  t.same((await coming!.rest()).map(lineOf), ['one', 'two', 'three']);
  const told = (await about!.rest()).map((event) => JSON.parse(event.data) as object);
  t.match(told, [
    { source: 'system', line: 'Started.' },
    { source: 'system', line: 'Asked to end: it is started anew.' },
    { source: 'system', line: 'It was ended by SIGTERM.' },
    { source: 'system', line: 'Started.' },
    { source: 'system', line: 'Asked to end: it is not wanted any more.' },
    { source: 'system', line: 'It was ended by SIGTERM.' },
  ]);
  t.equal((await both!.rest()).length, 6 + told.length, 'both: each line once');
  const all = ['one', 'two', 'three', 'one', 'two', 'three'];
  t.same((await (await readEvents(t, system, `${path}?${OWN}`)).rest()).map(lineOf), all, 'it can still be read');
  await pods.act('startPod', id);
  await pods.reach(id, 'RUNNING');
  t.same(await lines(t, 9, `${path}?${OWN}&since=now-1h`), [...all, 'one', 'two', 'three']);
});

t.test('a pod that crashes: its exit code, and when it is started again', async (t) => {
  const id = await create(t, 'echo oops; exit 3');
  await waitFor('its first end', async () => (await pods.get(id)).statusText.includes('exit code 3'));
  const told = await lines(t, 3, `${pathOf(id)}?since=now-1h`);
  t.match(told, ['Started.', 'oops', /^It ended with exit code 3\. It is started again after \d+ s\.$/]);
  t.equal((await lines(t, 1, `${pathOf(id)}?source=system&tail=1`)).length, 1, 'the tail counts lines of the source');
});

t.test('a long log answers exactly as many lines as asked for', async (t) => {
  const written = 3_000;
  const id = await create(
    t,
    `i=0; while [ $i -lt ${written} ]; do i=$((i+1)); echo $i; done; echo x > ${files.path('done')}; exec sleep 1000`,
  );
  await files.noted('done');
  await pods.act('stopPod', id);
  await pods.reach(id, 'EXITED');
  const numbers = Array.from({ length: written }, (_, n) => String(n + 1));
  for (const [query, wanted] of [
    [`?${OWN}&tail=1500`, numbers.slice(-1_500)],
    [`?${OWN}&tail=5000`, numbers],
    [`?${OWN}&since=now-1h`, numbers],
    ['?tail=0', []],
  ] as const) {
    t.same((await (await readEvents(t, system, pathOf(id) + query)).rest()).map(lineOf), wanted, query);
  }
});

t.test("a worker's log is found by its id alone, because REST v1 lists workers as pods", async (t) => {
  const endpointId = await system.createEndpoint({ command: jsHandler('talker.js'), workersMax: 1 });
  const worker = await waitFor(
    'its worker',
    async () => (await call(system.clients.machines, 'listWorkers', { endpointId }, system.key)).workers[0]?.id,
  );
  t.same(await lines(t, 2, pathOf(worker)), ['Started.', 'the talker is here']);
  const own = { ...system, key: await system.newKey(KeyScope.ALL, system.accountId, [endpointId]) };
  t.equal((await readEvents(t, own, pathOf(worker))).status, 200, 'with a key for its endpoint');
});

t.test('invalid requests are rejected as a problem, and only keys that may read pods read their logs', async (t) => {
  const id = await create(t, 'echo one; exec sleep 1000');
  const path = pathOf(id);
  await pods.reach(id, 'RUNNING');
  const refused: [string, number, string][] = [
    [`${path}?tail=-1`, 400, 'invalid_request'],
    [`${path}?tail=5001`, 400, 'invalid_request'],
    [`${path}?since=yesterday`, 400, 'invalid_request'],
    [`${path}?source=kernel`, 400, 'invalid_request'],
    [pathOf('nosuchpod00000'), 404, 'not_found'],
    [pathOf('no%20such'), 404, 'not_found'],
  ];
  for (const [asked, status, code] of refused) {
    const answer = await system.request('GET', asked);
    t.match(answer, { status, json: { title: /\w/, status, detail: /\w/, code } }, asked);
    t.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8');
  }
  t.equal((await readEvents(t, system, path, { 'last-event-id': '1-2' })).status, 400);
  t.equal((await system.request('POST', path)).status, 405);
  const endpointId = await system.createEndpoint({
    command: jsHandler('talker.js'),
    ready: 0,
    workersMax: 0,
    fields: { workersMin: 0 },
  });
  const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
  const statusOf = async (key: string): Promise<number> => (await readEvents(t, { ...system, key }, path)).status;
  t.equal(await statusOf('nosuchkey'), 401);
  t.equal(await statusOf(await system.newKey(KeyScope.READ_ONLY)), 200);
  t.equal(
    await statusOf(await system.newKey(KeyScope.ALL, system.accountId, [endpointId])),
    404,
    'a key for some endpoints sees no pods',
  );
  t.equal(await statusOf(await system.newKey(KeyScope.ALL, accountId)), 404, 'nor does another account');
});

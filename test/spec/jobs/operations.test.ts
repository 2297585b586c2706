// test: postgres, 10 s
/**
 * The queue operations (docs/reference/api.md#surfaces), those included that real clients call besides
 * (docs/reference/api.md#clients): the exact shape of each answer.
 */

import type { Test } from 'tap';
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { scratch } from '../../helpers/scratch.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import type { Answer } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const system = await startSystem(t);
const files = await scratch(t);
const rows = jobRows(t, system.database.url);
const command = jsHandler('all.js');
const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 2 }, workersMax: 2 }));
/** Everything stays in the queue. */
const parked = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));

const JSON_TYPE = { 'content-type': 'application/json' };
const FINAL_FIELDS = ['delayTime', 'executionTime', 'id', 'output', 'status', 'workerId'];

function fields(answer: Answer): string[] {
  return Object.keys(answer.json).sort();
}

/** 200, JSON, and exactly these fields. */
function checkShape(t: Test, answer: Answer, names: string[], text: string): void {
  t.equal(answer.status, 200, `${text}: 200`);
  t.match(answer.headers.get('content-type'), /^application\/json/, `${text}: JSON`);
  t.same(fields(answer), names, `${text}: its fields`);
}

t.test('POST /run', async (t) => {
  const answer = await parked.call('POST', '/run', { input: {} });
  checkShape(t, answer, ['id', 'status'], 'run');
  t.equal(answer.json.status, 'IN_QUEUE');
  const busy = await jobs.call('POST', '/run', { input: {} });
  t.match(busy.json, { status: 'IN_QUEUE' }, 'also when a worker takes it at once');
});

t.test('POST /run: unknown members are dropped and change nothing', async (t) => {
  const id = await jobs.run({ mode: 'echo', n: 1 }, { webhookV2: null, colour: 'red', status: 'FAILED', id: 'mine' });
  t.match(await jobs.reached(id, 'COMPLETED'), { output: { mode: 'echo', n: 1 } });
});

t.test('POST /runsync', async (t) => {
  const answer = await jobs.call('POST', '/runsync', { input: { mode: 'value', value: { text: 'x' } } });
  checkShape(t, answer, FINAL_FIELDS, 'runsync');
  t.match(answer.json, {
    id: /^sync-[0-9a-f-]{36}-u1$/,
    status: 'COMPLETED',
    output: { text: 'x' },
    workerId: /^[a-z0-9]{14}$/,
  });
});

t.test('POST /runsync: a failed job is answered with 200 and its record', async (t) => {
  const answer = await jobs.call('POST', '/runsync', { input: { mode: 'error', error: 'no' } });
  checkShape(
    t,
    answer,
    ['delayTime', 'error', 'executionTime', 'id', 'status', 'workerId'],
    'runsync of a failing handler',
  );
  t.match(answer.json, { status: 'FAILED', error: 'no' });
});

t.test('POST /runsync: when wait elapses the job runs on', async (t) => {
  const answer = await jobs.call('POST', '/runsync?wait=1000', { input: { mode: 'until', file: files.path('later') } });
  checkShape(t, answer, ['id', 'status'], 'runsync that ended first');
  t.equal(answer.json.status, 'IN_PROGRESS');
  files.open('later');
  t.match(await jobs.reached(answer.json.id, 'COMPLETED'), { output: { done: true } });
});

t.test('any JSON value can be an output', async (t) => {
  for (const value of [null, false, 0, '', [], [[]], 'text \0 \ud800', 1.5, { nested: { deep: [1, { x: 'é€😀' }] } }]) {
    const answer = await jobs.call('POST', '/runsync', { input: { mode: 'value', value } });
    t.same(answer.json.output, value, JSON.stringify(value));
  }
});

t.test('input is kept byte for byte', async (t) => {
  const text = '{ "a": 1.0, "b": 12345678901234567890,\t"c": 1e400, "d": "\\u0000\\ud800\\u00e9é",  "a": [ ] }';
  const { json } = await parked.call('POST', '/run', `{"webhook": null, "input" :${text} }`);
  const [row] = await rows.sql<{ input: Buffer }[]>`SELECT input FROM job_input WHERE job_id = ${json.id}`;
  t.equal(row!.input.toString(), text);
});

t.test('GET and POST /status/{job_id}: in each state', async (t) => {
  const queued = await parked.run({});
  const held = await jobs.run({ mode: 'until', file: files.path('held'), note: files.path('held.note') });
  await files.noted('held.note');
  await jobs.reached(held, 'IN_PROGRESS');
  const completed = await jobs.run({ mode: 'echo' });
  await jobs.reached(completed, 'COMPLETED');
  const rounds = [
    ['GET', undefined, {}],
    ['GET', undefined, JSON_TYPE],
    ['POST', undefined, {}],
    ['POST', undefined, JSON_TYPE],
    ['POST', '{}', {}],
  ] as const;
  for (const [method, body, headers] of rounds) {
    const text = `${method} ${body ?? 'no body'} ${Object.keys(headers)}`;
    checkShape(t, await parked.call(method, `/status/${queued}`, body, headers), ['id', 'status'], `${text} IN_QUEUE`);
    checkShape(
      t,
      await jobs.call(method, `/status/${held}`, body, headers),
      ['delayTime', 'id', 'status', 'workerId'],
      `${text} IN_PROGRESS`,
    );
    const answer = await jobs.call(method, `/status/${completed}`, body, headers);
    checkShape(t, answer, FINAL_FIELDS, `${text} COMPLETED`);
    t.match(answer.json, { id: completed, status: 'COMPLETED', output: { mode: 'echo' } });
  }
  files.open('held');
});

t.test('GET /status/{job_id}: the latest progress is the output while it runs, and never after', async (t) => {
  const id = await jobs.run({ mode: 'progress', value: { percent: 40 }, file: files.path('progress') });
  await waitFor('the progress to be seen', async () => {
    const { json } = await jobs.status(id);
    return json.status === 'IN_PROGRESS' && JSON.stringify(json.output) === '{"percent":40}';
  });
  files.open('progress');
  t.same((await jobs.reached(id, 'COMPLETED')).output, { done: true });
});

t.test('GET and POST /status-sync/{job_id}', async (t) => {
  const id = await jobs.run({ mode: 'until', file: files.path('sync') });
  const soon = await jobs.call('POST', `/status-sync/${id}?wait=0`, undefined, JSON_TYPE);
  t.ok(['IN_QUEUE', 'IN_PROGRESS'].includes(soon.json.status), 'as it stands when the wait ends');
  const waiting = jobs.call('GET', `/status-sync/${id}?wait=60000`);
  const clamped = jobs.call('POST', `/status-sync/${id}?wait=99999999`);
  const plain = jobs.call('GET', `/status-sync/${id}`, undefined, JSON_TYPE);
  files.open('sync');
  for (const answer of await Promise.all([waiting, clamped, plain])) {
    checkShape(t, answer, FINAL_FIELDS, 'status-sync');
    t.match(answer.json, { id, status: 'COMPLETED', output: { done: true } });
  }
  t.match(
    (await jobs.call('GET', `/status-sync/${id}?wait=90000`)).json,
    { status: 'COMPLETED' },
    'at once when it is final',
  );
});

t.test('POST /cancel/{job_id}', async (t) => {
  for (const [body, headers] of [
    [undefined, {}],
    [undefined, JSON_TYPE],
    ['', JSON_TYPE],
    ['{}', {}],
  ] as const) {
    const id = await parked.run({});
    const answer = await parked.call('POST', `/cancel/${id}`, body, headers);
    checkShape(t, answer, ['id', 'status'], 'cancel');
    t.same(answer.json, { id, status: 'CANCELLED' });
  }
});

t.test('POST /retry/{job_id}', async (t) => {
  const id = await jobs.run({ mode: 'throw', message: 'x' });
  await jobs.reached(id, 'FAILED');
  const answer = await jobs.call('POST', `/retry/${id}`, undefined, JSON_TYPE);
  checkShape(t, answer, ['id', 'status'], 'retry');
  t.same(answer.json, { id, status: 'IN_QUEUE' });
});

t.test('POST /purge-queue', async (t) => {
  const purged = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }),
  );
  await Promise.all([1, 2].map(() => purged.run({})));
  const answer = await purged.call('POST', '/purge-queue', undefined, JSON_TYPE);
  checkShape(t, answer, ['removed', 'status'], 'purge-queue');
  t.same(answer.json, { removed: 2, status: 'completed' });
  t.same((await purged.call('POST', '/purge-queue', '{}')).json, { removed: 0, status: 'completed' }, 'an empty queue');
});

t.test('GET /health', async (t) => {
  const answer = await jobs.call('GET', '/health', undefined, JSON_TYPE);
  checkShape(t, answer, ['jobs', 'workers'], 'health');
  t.same(Object.keys(answer.json.jobs as object).sort(), ['completed', 'failed', 'inProgress', 'inQueue', 'retried']);
  t.same(Object.keys(answer.json.workers as object).sort(), [
    'idle',
    'initializing',
    'ready',
    'running',
    'throttled',
    'unhealthy',
  ]);
});

t.test('GET /requests', async (t) => {
  const listed = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }),
  );
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1) ids.push(await listed.run({ number: i }));
  await listed.call('POST', `/cancel/${ids[0]}`);
  const all = await listed.call('GET', '/requests');
  checkShape(t, all, ['hasMore', 'limit', 'offset', 'requests', 'total'], 'requests');
  const times = (all.json.requests as { submittedAt: string }[]).map(({ submittedAt }) => submittedAt);
  t.same(times, times.toSorted().reverse());
  for (const time of times)
    t.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000 && /^\d{4}-.*Z$/.test(time), 'when it was submitted');
  t.same(
    all.json,
    {
      requests: [
        { id: ids[2], status: 'IN_QUEUE', submittedAt: times[0] },
        { id: ids[1], status: 'IN_QUEUE', submittedAt: times[1] },
        { id: ids[0], status: 'CANCELLED', submittedAt: times[2] },
      ],
      total: 3,
      offset: 0,
      limit: 100,
      hasMore: false,
    },
    'newest first',
  );
  const second = (await listed.call('GET', '/requests?offset=1&limit=1')).json;
  t.match(second, {
    requests: [{ id: ids[1], status: 'IN_QUEUE' }],
    total: 3,
    offset: 1,
    limit: 1,
    hasMore: true,
    nextCursor: /^[\w-]+$/,
  });
  t.same(
    (await listed.call('GET', `/requests?cursor=${String(second['nextCursor'])}`)).json,
    {
      requests: [{ id: ids[0], status: 'CANCELLED', submittedAt: times[2] }],
      total: 3,
      offset: 0,
      limit: 100,
      hasMore: false,
    },
    'a cursor goes on where the page before ended',
  );
  for (const cursor of ['x', '%00', 'a&cursor=b', 'MTIz'.repeat(99)])
    t.equal((await listed.call('GET', `/requests?cursor=${cursor}`)).status, 400, cursor);
  t.same((await listed.call('GET', '/requests?status=CANCELLED')).json.requests, [
    { id: ids[0], status: 'CANCELLED', submittedAt: times[2] },
  ]);
  const finished = (await jobs.call('GET', '/requests?status=COMPLETED&limit=1')).json.requests as object[];
  t.same(
    Object.keys(finished[0]!).sort(),
    [...FINAL_FIELDS.filter((name) => name !== 'output'), 'submittedAt'].sort(),
    'records without output',
  );
});

t.test('GET /requests, oldest first', async (t) => {
  const listed = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }),
  );
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1) ids.push(await listed.run({ number: i }));
  const oldest = (await listed.call('GET', '/requests?order=oldest&limit=2')).json;
  t.match(oldest, { requests: [{ id: ids[0] }, { id: ids[1] }], total: 3, hasMore: true });
  t.match((await listed.call('GET', `/requests?order=oldest&cursor=${String(oldest['nextCursor'])}`)).json, {
    requests: [{ id: ids[2] }],
    hasMore: false,
  });
  for (const order of ['up', 'oldest&order=newest'])
    t.equal((await listed.call('GET', `/requests?order=${order}`)).status, 400, order);
});

t.test('GET /requests, submitted within a time', async (t) => {
  const listed = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }),
  );
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1) ids.push(await listed.run({ number: i }));
  // Some were submitted at the same millisecond.
  for (const [place, id] of ids.entries()) {
    await rows.sql`UPDATE job
      SET submitted_at = timestamptz '2026-01-31 12:00:00+00' + ${place}::int * interval '1 minute' WHERE id = ${id}`;
  }
  const within = async (query: string) => {
    const { requests, total } = (await listed.call('GET', `/requests?${query}`)).json as unknown as {
      requests: { id: string }[];
      total: number;
    };
    return { ids: requests.map(({ id }) => id), total };
  };
  t.same(await within('submittedFrom=2026-01-31T12:01:00Z'), { ids: [ids[2], ids[1]], total: 2 }, 'from a moment on');
  t.same(
    await within('submittedUntil=2026-01-31T13:01:00%2B01:00'),
    { ids: [ids[0]], total: 1 },
    'before a moment, of another zone',
  );
  t.same(await within('submittedFrom=2026-01-31T12:00:30Z&submittedUntil=2026-01-31T12:01:30.5Z&status=IN_QUEUE'), {
    ids: [ids[1]],
    total: 1,
  });
  t.same(await within('submittedFrom=2026-01-31T12:03:00Z&order=oldest'), { ids: [], total: 0 });
  const last = await listed.run({ number: 3 });
  t.same(await within('submittedFrom=now-1h'), { ids: [last], total: 1 }, 'before now');
  t.same(await within('submittedFrom=now-9999d&submittedUntil=now-60s'), { ids: ids.toReversed(), total: 3 });
});

t.test('a double slash in the path counts as one', async (t) => {
  const id = await parked.run({});
  const answer = await system.request('GET', `/v2//${parked.id}/status/${id}`);
  t.match(answer.json, { id, status: 'IN_QUEUE' });
});

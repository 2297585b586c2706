// test: postgres, 10 s
/**
 * POST /jobs/cancel and /jobs/retry (docs/reference/api.md#many-jobs): their answers, page after page, and the jobs
 * they change.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../helpers/scratch.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import type { PublicJson } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const system = await startSystem(t);
const files = await scratch(t);
const { sql } = jobRows(t, system.database.url);
const command = jsHandler('all.js');
/** Creates an endpoint whose jobs stay in the queue. */
const parked = async (): Promise<EndpointJobs> =>
  endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));
const submit = (jobs: EndpointJobs, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => jobs.run({ mode: 'block' })));

interface Told {
  done: number;
  left: Record<string, number>;
  hasMore: boolean;
  nextCursor?: string;
}

async function ask(jobs: EndpointJobs, path: string): Promise<Told> {
  const { status, text, json } = await jobs.call('POST', `/jobs/${path}`);
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return json as PublicJson & Told;
}

t.test('POST /jobs/cancel goes page by page and leaves jobs that came later', async (t) => {
  const jobs = await parked();
  const ids = await submit(jobs, 25);
  const first = await ask(jobs, 'cancel?limit=10');
  t.match(first, { done: 10, left: {}, hasMore: true, nextCursor: /^[\w-]+$/ });
  const later = await jobs.run({});
  const second = await ask(jobs, `cancel?limit=10&cursor=${first.nextCursor}`);
  t.match(second, { done: 10, hasMore: true });
  t.match(
    await ask(jobs, `cancel?limit=10&status=FAILED&cursor=${second.nextCursor}`),
    { done: 5, hasMore: false },
    'the cursor has the filter',
  );
  const again = await ask(jobs, `cancel?cursor=${second.nextCursor}`);
  t.same(again, { done: 0, left: {}, hasMore: false }, 'asked again it finds what is left');
  for (const id of ids) t.match(await jobs.look(id), { id, status: 'CANCELLED' });
  t.match(await jobs.look(later), { status: 'IN_QUEUE' });
  await jobs.counted({ inQueue: 1 });
  t.match(await ask(jobs, 'cancel'), { done: 1, hasMore: false });
});

t.test('jobs are selected by state and submission time; a cursor keeps its meaning of now', async (t) => {
  const jobs = await parked();
  const ids = await submit(jobs, 6);
  await sql`UPDATE job SET submitted_at = '2026-01-31 12:00:00+00' WHERE id = ANY(${ids.slice(0, 2)})`;
  t.match(await ask(jobs, 'cancel?status=in_progress'), { done: 0, hasMore: false });
  t.match(await ask(jobs, 'cancel?submittedUntil=2026-01-31T12:00:00Z'), { done: 0 });
  t.match(await ask(jobs, 'cancel?submittedFrom=2026-01-31T12:00:00Z&submittedUntil=2026-01-31T12:00:01Z'), {
    done: 2,
    hasMore: false,
  });
  const first = await ask(jobs, 'cancel?submittedFrom=now-1h&limit=2');
  t.match(first, { done: 2, hasMore: true });
  t.match(await ask(jobs, `cancel?submittedFrom=now-1s&cursor=${first.nextCursor}`), { done: 2, hasMore: false });
  await jobs.counted({ inQueue: 0 });
});

t.test('running jobs are stopped at their workers, and POST /jobs/retry queues failed ones again', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  const failing = await Promise.all(
    Array.from({ length: 3 }, () => jobs.run({ mode: 'fail-then', file: files.path('works'), value: 'at last' })),
  );
  for (const id of failing) t.match(await jobs.settled(id), { status: 'FAILED' });
  const running = await jobs.run({ mode: 'until', file: files.path('never') });
  await jobs.reached(running, 'IN_PROGRESS');
  const waiting = jobs.call('POST', '/runsync?wait=60000', { input: { mode: 'until', file: files.path('never') } });
  await jobs.counted({ inQueue: 1 });
  t.match(await ask(jobs, 'cancel'), { done: 2, left: {}, hasMore: false });
  t.match((await waiting).json, { status: 'CANCELLED' }, 'who waits for one hears of it');
  t.match(await jobs.look(running), { status: 'CANCELLED' });
  t.match(await ask(jobs, 'retry?status=TIMED_OUT'), { done: 0 });
  files.open('works');
  t.match(await ask(jobs, 'retry?status=FAILED'), { done: 3, left: {}, hasMore: false });
  for (const id of failing) t.match(await jobs.settled(id), { status: 'COMPLETED', output: 'at last' });
  t.match(await ask(jobs, 'retry'), { done: 0 }, 'neither what is COMPLETED nor what was CANCELLED runs again');
});

t.test('POST /jobs/retry?errorGroup: only jobs of that group, page after page', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  const messages = ['card 1 is too small', 'the disk is full', 'card 2 is too small', 'card 3 is too small'];
  const ids = await Promise.all(messages.map((message) => jobs.run({ mode: 'throw', message })));
  for (const id of ids) t.match(await jobs.settled(id), { status: 'FAILED' });
  const { groups } = (await jobs.call('GET', '/errors')).json as unknown as {
    groups: { id: string; text: string; jobs: number }[];
  };
  const group = groups.find(({ text }) => text.includes('card #'))!;
  t.equal(group.jobs, 3);
  await system.endWorkers(jobs.id);
  await waitFor(
    'no worker to be left',
    async () =>
      (await call(system.clients.machines, 'listWorkers', { endpointId: jobs.id }, system.key)).workers.length === 0,
  );
  t.match(await ask(jobs, `retry?errorGroup=${group.id}&status=TIMED_OUT`), { done: 0, hasMore: false });
  t.match(await ask(jobs, `retry?errorGroup=${group.id}&endedFrom=${new Date(Date.now() + 3_600_000).toISOString()}`), {
    done: 0,
    hasMore: false,
  });
  let told = await ask(jobs, `retry?errorGroup=${group.id}&endedFrom=now-1h&limit=1`);
  let done = told.done;
  for (let pages = 1; told.nextCursor !== undefined; pages += 1) {
    t.ok(pages < 6, `${pages} pages`);
    // Parameters beside a cursor are ignored.
    told = await ask(jobs, `retry?limit=1&cursor=${told.nextCursor}`);
    done += told.done;
  }
  t.equal(done, 3);
  t.match(await jobs.look(ids[1]!), { status: 'FAILED' });
  for (const bad of [
    '',
    'x',
    '0123456789ABCDEF',
    `${group.id}0`,
    'x'.repeat(3_000),
    `${group.id}&errorGroup=${group.id}`,
  ]) {
    t.match(
      await jobs.call('POST', `/jobs/retry?errorGroup=${bad}`),
      {
        status: 400,
        json: { code: 'invalid_request', error: /^"errorGroup" must be the id of a group of errors/ },
      },
      bad,
    );
  }
  t.match(await jobs.call('POST', '/jobs/retry?endedFrom=yesterday'), {
    status: 400,
    json: { error: /^"endedFrom" must be one ISO 8601 time/ },
  });
  for (const name of ['errorGroup', 'endedFrom']) {
    t.match(await jobs.call('POST', `/jobs/cancel?${name}=${group.id}`), {
      status: 400,
      json: { error: /is of jobs that have ended/ },
    });
  }
  await jobs.counted({ inQueue: 3 });
});

t.test('only keys that may write, and only jobs of the named endpoint', async (t) => {
  const [jobs, other] = [await parked(), await parked()];
  await submit(jobs, 2);
  await submit(other, 2);
  const reader = { authorization: `Bearer ${await system.newKey(KeyScope.READ_ONLY)}` };
  for (const path of ['/jobs/cancel', '/jobs/retry'])
    t.equal((await jobs.call('POST', path, undefined, reader)).status, 401, path);
  const begun = await ask(jobs, 'cancel?limit=1');
  for (const path of ['retry', 'cancel']) {
    const wrong = await (path === 'retry' ? jobs : other).call('POST', `/jobs/${path}?cursor=${begun.nextCursor}`);
    t.match(
      [wrong.status, wrong.json],
      [400, { code: 'invalid_request', error: /^cursor is none that such a call for this endpoint gave/ }],
    );
  }
  const ended = await jobs.call('POST', '/jobs/cancel?status=COMPLETED');
  t.match(ended.json, {
    error: 'Jobs that are COMPLETED cannot be cancelled, only jobs that are IN_QUEUE or IN_PROGRESS.',
  });
  await jobs.counted({ inQueue: 1 });
  await other.counted({ inQueue: 2 });
});

t.test('the call of a client that disconnects runs to its end, and an account has at most two at a time', async (t) => {
  const jobs = await parked();
  const ids = await submit(jobs, 30);
  const [one, other] = [await sql.reserve(), await parked()];
  t.teardown(() => one.release());
  await one`BEGIN`;
  await one`SELECT FROM job WHERE id = ANY(${ids}) FOR UPDATE`;
  const waiting = (count: number): Promise<unknown> =>
    waitFor(`${count} calls to wait for the jobs`, async () => {
      const [row] = await sql<
        { n: number }[]
      >`SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock'`;
      return row!.n === count;
    });
  const leaving = new AbortController();
  const left = fetch(`${system.url}/v2/${jobs.id}/jobs/cancel?limit=10`, {
    method: 'POST',
    headers: { authorization: `Bearer ${system.key}` },
    signal: leaving.signal,
  }).catch((error: Error) => error.name);
  await waiting(1);
  const staying = ask(jobs, 'cancel?limit=5&status=IN_QUEUE');
  await waiting(2);
  const refused = await other.call('POST', '/jobs/retry');
  t.match(
    [refused.status, refused.json],
    [429, { error: /^As many calls that change many jobs are under way as there may be/ }],
  );
  leaving.abort();
  t.equal(await left, 'AbortError');
  t.equal((await other.call('POST', '/jobs/cancel')).status, 429, 'it goes on without its client');
  await one`COMMIT`;
  await staying;
  await jobs.counted({ inQueue: 20 });
  t.match(await ask(other, 'retry'), { done: 0 }, 'their places are free again');
  t.match(await ask(jobs, 'cancel'), { done: 20, hasMore: false }, 'what is left is found from the beginning');
});

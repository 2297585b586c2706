// test: postgres
/**
 * Which jobs a filter means when many are cancelled or retried by it: a group of errors, when they ended; and filters
 * that cannot be.
 */

import type { ChangeRequest } from '@slipway/core/jobs/change/change-jobs';
import type { WalkedJobs } from '@slipway/core/store/jobs/job-walk';
import t from 'tap';
import { outcome, refused, slotsOn, startEngines, submission } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { jobChanges, wantedOf } from './job-changes.ts';

t.setTimeout(600_000);

const engines = await startEngines(t, { replicas: 2 });
const {
  sql,
  replicas: [first, second],
} = engines;
const { calls, attempts } = first!.engine;
const others = second!.engine.calls;
/** Room for more jobs than any test has. */
const workersMax = { workers_max: 100 };
const { submit, changeAll, states, checkTally } = jobChanges(engines);

/** Returns the group that an error is in. */
async function groupOf(error: string): Promise<string> {
  const endpointId = await engines.endpoint();
  await failed(endpointId, [error]);
  return (await calls.errors(endpointId, { spanMs: 0, groupId: '' })).groups[0]!.id;
}

/** Jobs that failed of these, in this order; their ids. */
async function failed(endpointId: string, errors: readonly string[]): Promise<string[]> {
  for (const _ of errors) await calls.submit(submission(endpointId));
  const claimed = await attempts.claim(endpointId, slotsOn(endpointId, errors.length));
  for (const [place, job] of claimed.entries())
    await attempts.recordOutcome(outcome(job, { kind: 'FAILED', error: errors[place]! }));
  return claimed.map(({ jobId }) => jobId);
}

const queued = async (endpointId: string): Promise<string[]> =>
  (
    await sql<
      { id: string }[]
    >`SELECT id FROM job WHERE endpoint_id = ${endpointId} AND state = 'IN_QUEUE' ORDER BY position`
  ).map(({ id }) => id);

t.test('by a group of errors: no other jobs, in their order, and no call looks at more than it may', async (t) => {
  const endpointId = await engines.endpoint(workersMax);
  const cards = await groupOf('card 7 is too small');
  const ids = await failed(
    endpointId,
    Array.from({ length: 40 }, (_, n) => (n % 10 === 3 ? `card ${n} is too small` : `disk ${n} is full`)),
  );
  const wanted = wantedOf(endpointId, 'retry', { ended: { fromMs: undefined, errorGroup: cards } });
  const first = await calls.change({ ...wanted, limit: 3 });
  t.match([first.done, first.left.size], [0, 0], 'three were looked at, and none is of it');
  t.match(await calls.change({ ...first.next!, limit: 1 }), { done: 1 });
  // The walk goes on behind it, so what another did is seen once more and not done twice.
  const all = await changeAll(wanted, { limit: 3, by: others.change });
  t.match(all, { done: 3, left: {} });
  t.ok(all.calls >= 39 / 3 && all.calls <= 39 / 3 + 2, `${all.calls} calls for 39 jobs`);
  t.same(await queued(endpointId), [ids[3], ids[13], ids[23], ids[33]]);
  t.same(await states(endpointId), { IN_QUEUE: 4, FAILED: 36 });
  await checkTally(t, endpointId);
  t.match(
    await changeAll(wantedOf(endpointId, 'retry', { ended: { fromMs: undefined, errorGroup: '0'.repeat(16) } })),
    { done: 0, left: {}, calls: 1 },
  );
  t.match(
    await changeAll(wantedOf(endpointId, 'retry', { states: ['TIMED_OUT'], ended: wanted.ended })),
    { done: 0 },
    'and by what else is asked for',
  );
});

t.test('by a group of errors: a job that ends differently meanwhile is not run again', async (t) => {
  const endpointId = await engines.endpoint(workersMax);
  const [cards, states] = [await groupOf('card 1 is too small'), await groupOf('')];
  const ids = await failed(endpointId, ['card 1 is too small', 'card 2 is too small', 'card 3 is too small', '']);
  const wanted = wantedOf(endpointId, 'retry', { ended: { fromMs: undefined, errorGroup: cards } });
  // The second is held by another, who runs it again as soon as this call has read its error; and then it fails of
  // something else.
  const { call } = await sql.begin(async (tx) => {
    await tx`SELECT FROM job WHERE endpoint_id = ${endpointId} AND id = ${ids[1]!} FOR UPDATE`;
    const call = calls.change({ ...wanted, limit: 0 });
    await waitFor('it to wait', async () => {
      const [row] = await second!.database.sql`
        SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%IN_QUEUE%'
          AND query LIKE '%retries%'`;
      return row!['n'] > 0;
    });
    await tx`UPDATE job_output SET error = 'disk 1 is full' WHERE job_id = ${ids[1]!}`;
    await tx`UPDATE job SET position = nextval('job_position_seq'), attempt = attempt + 1,
      finished_at = clock_timestamp() WHERE id = ${ids[1]!}`;
    return { call: [call] };
  });
  const { done, left, next } = await call[0]!;
  t.same([done, [...left], next], [2, [['FAILED', 1]], undefined]);
  t.same(await queued(endpointId), [ids[0], ids[2]]);
  t.match(
    await changeAll(wantedOf(endpointId, 'retry', { ended: { fromMs: undefined, errorGroup: states } })),
    { done: 1 },
    'and one that has no error',
  );
  t.same(await queued(endpointId), [ids[0], ids[2], ids[3]]);
});

t.test('by when they ended', async (t) => {
  const endpointId = await engines.endpoint(workersMax);
  const ids = await failed(
    endpointId,
    Array.from({ length: 10 }, (_, n) => `card ${n} is too small`),
  );
  const fromMs = Date.parse('2026-01-31T12:00:00Z');
  await sql`UPDATE job SET finished_at = timestamptz 'epoch' + ${fromMs}::float8 * interval '1 ms'
    WHERE id = ${ids[4]!}`;
  await sql`UPDATE job SET finished_at = timestamptz 'epoch' + ${fromMs - 1}::float8 * interval '1 ms'
    WHERE id = ANY(${ids.slice(5)})`;
  t.match(
    await changeAll(
      wantedOf(endpointId, 'retry', { ended: { fromMs, errorGroup: await groupOf('card 7 is too small') } }),
      { limit: 2 },
    ),
    { done: 5 },
  );
  t.same(await queued(endpointId), ids.slice(0, 5));
  t.match(
    await changeAll(wantedOf(endpointId, 'retry', { ended: { fromMs: fromMs - 1, errorGroup: undefined } }), {
      limit: 2,
    }),
    { done: 5 },
  );
});

t.test('impossible filters', async (t) => {
  const endpointId = await engines.endpoint();
  const [id] = await submit(endpointId, 1);
  const bad = async (name: string, move: WalkedJobs['move'], more: Partial<ChangeRequest>): Promise<void> =>
    refused(t, calls.change({ ...wantedOf(endpointId, move), limit: 0, ...more }), 'INVALID_REQUEST', name);
  for (const limit of [-1, 1_001, 0.5, NaN]) await bad(`limit ${limit}`, 'cancel', { limit });
  for (const state of ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'] as const)
    await bad(`cancel ${state}`, 'cancel', { states: ['IN_QUEUE', state] });
  for (const state of ['COMPLETED', 'IN_QUEUE', 'CANCELLED', 'IN_PROGRESS'] as const)
    await bad(`retry ${state}`, 'retry', { states: [state] });
  await bad('a time before 1970', 'cancel', { submitted: { fromMs: -1 } });
  await bad('no time', 'cancel', { submitted: { untilMs: NaN } });
  await bad('until before from', 'retry', { submitted: { fromMs: 2, untilMs: 2 } });
  for (const errorGroup of ['x', '0123456789ABCDEF', '0123456789abcdef0'])
    await bad(errorGroup, 'retry', { ended: { fromMs: undefined, errorGroup } });
  await bad('ended before 1970', 'retry', { ended: { fromMs: -1, errorGroup: undefined } });
  t.match(
    await changeAll(wantedOf(await engines.endpoint(), 'cancel')),
    { done: 0, calls: 1 },
    'of an endpoint without jobs',
  );
  t.match(await changeAll(wantedOf('no-endpoint', 'retry')), { done: 0, calls: 1 });
  t.equal(
    (await calls.get({ endpointId, jobId: id! }, { omitOutput: true, ttlMs: 0 })).state,
    'IN_QUEUE',
    'it is as it was',
  );
});

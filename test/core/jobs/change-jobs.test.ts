// test: postgres, 10 s
/**
 * Many jobs cancelled or retried by a filter: each behaves like a single cancel or retry, whatever else happens to it
 * meanwhile, and however often the work is interrupted.
 */

import type { ChangeRequest, ChangeResult } from '@slipway/core/jobs/change/change-jobs';
import type { ClaimedJob } from '@slipway/core/jobs/slots';
import type { WalkedJobs } from '@slipway/core/store/jobs/job-walk';
import t from 'tap';
import { never, outcome, slotsOn, startEngines, submission } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { jobChanges, wantedOf } from './job-changes.ts';

t.setTimeout(600_000);

const engines = await startEngines(t, { replicas: 2 });
const {
  sql,
  stores,
  replicas: [first, second],
} = engines;
const { calls, attempts } = first!.engine;
const others = second!.engine.calls;
/** Room for more jobs than any test has. */
const workersMax = { workers_max: 100 };
const { submit, changeAll, states, checkTally } = jobChanges(engines);

t.test('5,000 jobs that wait, run and end meanwhile: each has one outcome, and later ones are left', async (t) => {
  const endpointId = await engines.endpoint(workersMax);
  await submit(endpointId, 5_000);
  const stopped = new Map<string, number>();
  first!.events.on('stop', (stops) => {
    for (const { jobId, attempt } of stops) stopped.set(jobId, attempt);
  });
  const running = await attempts.claim(endpointId, slotsOn(endpointId, 600));
  const recorded = new Set<string>();
  const stale = new Set<string>();
  const end = async (job: ClaimedJob, place: number): Promise<void> => {
    const told = await attempts.recordOutcome(outcome(job, place % 5 === 0 ? { kind: 'FAILED', error: 'why' } : {}));
    (told === 'recorded' ? recorded : stale).add(job.jobId);
  };
  await Promise.all(running.splice(0, 100).map(end));
  const later: string[] = [];
  let isOver = false;
  const work = async (): Promise<void> => {
    while (!isOver) {
      await Promise.all(running.splice(0, 10).map(end));
      // Some of them later ones, once the others are cancelled.
      running.push(...(await attempts.claim(endpointId, slotsOn(endpointId, 10))));
    }
    await Promise.all(running.splice(0).map(end));
  };
  const cancel = async (): Promise<Awaited<ReturnType<typeof changeAll>>> => {
    const all = await changeAll(wantedOf(endpointId, 'cancel'), {
      between: async () => {
        later.push(...(await submit(endpointId, 3)));
      },
    });
    isOver = true;
    return all;
  };
  const [all] = await Promise.all([cancel(), work(), work()]);
  const rows = await sql<{ id: string; state: string; attempt: number; ran: boolean; output: unknown }[]>`
    SELECT j.id, j.state, j.attempt, j.machine_id IS NOT NULL AS ran, o.output FROM job j LEFT JOIN job_output o
      ON o.job_id = j.id
    WHERE j.endpoint_id = ${endpointId}`;
  const cancelled = rows.filter(({ state }) => state === 'CANCELLED');
  t.equal(cancelled.length, all.done, 'as many as were told');
  t.ok(
    cancelled.length > 500 && recorded.size > 100,
    `${cancelled.length} cancelled, ${recorded.size} ended, ${stale.size} ended too late`,
  );
  const isLater = new Set(later);
  const wrong = {
    'cancelled with another outcome': cancelled.filter(({ id }) => recorded.has(id)),
    'cancelled with an output': cancelled.filter(({ output }) => output !== null),
    'cancelled and not stopped at its worker': cancelled.filter(
      ({ ran, id, attempt }) => ran && stopped.get(id) !== attempt,
    ),
    'ended too late and not cancelled': [...stale].filter((id) => !cancelled.some((job) => job.id === id)),
    'came later and cancelled': rows.filter(({ id, state }) => isLater.has(id) && state === 'CANCELLED'),
    'came before and not ended': rows.filter(
      ({ id, state }) => !isLater.has(id) && !['COMPLETED', 'FAILED', 'CANCELLED'].includes(state),
    ),
  };
  for (const [what, found] of Object.entries(wrong)) t.same(found, [], what);
  await checkTally(t, endpointId);
  t.equal(
    (await calls.health(endpointId)).jobs.completed + (await calls.health(endpointId)).jobs.failed,
    recorded.size,
  );
});

t.test('interrupted again and again, and continued at the other replica', async (t) => {
  const endpointId = await engines.endpoint(workersMax);
  await submit(endpointId, 2_000);
  await attempts.claim(endpointId, slotsOn(endpointId, 100));
  let request: ChangeRequest | undefined = { ...wantedOf(endpointId, 'cancel'), limit: 400 };
  let cuts = 0;
  for (let round = 0; request; round += 1) {
    const { database, engine } = engines.replicas[round % 2]!;
    const call: Promise<ChangeResult | undefined> = engine.calls.change(request).catch(() => {
      cuts += 1;
      return undefined;
    });
    // None of the first rounds gets an answer: some are cut before they do anything, some after.
    if (round < 8) {
      const examined = database.sql`SELECT 1`;
      if (round % 4 > 1) await examined.catch(() => {});
      database.cut();
    }
    const answer = await call;
    if (answer) request = answer.next && { ...answer.next, limit: 400 };
  }
  t.ok(cuts > 0, `${cuts} calls were cut`);
  t.same(await states(endpointId), { CANCELLED: 2_000 });
  t.match(
    await changeAll(wantedOf(endpointId, 'cancel')),
    { done: 0, left: {} },
    'again from the beginning finds none',
  );
  await checkTally(t, endpointId);
});

t.test('two callers at once, of each kind, share the work', async (t) => {
  const endpointId = await engines.endpoint(workersMax);
  await submit(endpointId, 1_500);
  for (const job of await attempts.claim(endpointId, slotsOn(endpointId, 700)))
    await attempts.recordOutcome(outcome(job, { kind: 'FAILED', error: 'why' }));
  const both = async (move: WalkedJobs['move'], more?: Partial<WalkedJobs>): Promise<number> => {
    const wanted = wantedOf(endpointId, move, more);
    const told = await Promise.all([changeAll(wanted), changeAll(wanted, { by: others.change })]);
    return told[0].done + told[1].done;
  };
  t.equal(await both('retry'), 700);
  t.same(await states(endpointId), { IN_QUEUE: 1_500 });
  await checkTally(t, endpointId);
  const cancelled = await both('cancel', { states: ['IN_QUEUE'] });
  t.equal(cancelled, 1_500);
  t.same(await states(endpointId), { CANCELLED: 1_500 });
  await checkTally(t, endpointId);
});

t.test('the result is as if each had been changed alone', async (t) => {
  const make = async (): Promise<string> => {
    const endpointId = await engines.endpoint();
    await submit(endpointId, 8);
    const running = await attempts.claim(endpointId, slotsOn(endpointId, 6));
    for (const job of running.slice(0, 4))
      await attempts.appendChunks([{ ...job, number: 1, output: Buffer.from('1'), metrics: undefined }]);
    await attempts.recordOutcome(outcome(running[0]!));
    for (const job of running.slice(1, 3)) await attempts.recordOutcome(outcome(job, { kind: 'FAILED', error: 'why' }));
    await sql`INSERT INTO job_output (endpoint_id, job_id, output)
      VALUES (${endpointId}, ${running[3]!.jobId}, ${Buffer.from('1')})`;
    return endpointId;
  };
  const stored = (endpointId: string) => sql`
    SELECT j.state, j.low_priority, j.attempt, j.retries, j.machine_id, j.worker_id, j.claim_id IS NULL AS unclaimed,
      j.finished_at IS NULL AS unfinished, j.started_at IS NULL AS idle, j.execution_deadline_at IS NULL AS free,
      j.expires_at = j.ttl_deadline_at AS lives,
      (j.expires_at - j.finished_at)::text AS kept, o.output, o.error,
      (SELECT count(*) FROM job_chunk c WHERE c.job_id = j.id) AS chunks, (SELECT count(*) FROM lost_attempt l
        WHERE l.job_id = j.id) AS tried,
      rank() OVER (ORDER BY j.position) AS place
    FROM job j LEFT JOIN job_output o ON o.job_id = j.id WHERE j.endpoint_id = ${endpointId}
      ORDER BY j.state, j.attempt, place`;
  const [many, alone] = [await make(), await make()];
  for (const move of ['retry', 'cancel'] as const) {
    const wanted = move === 'cancel' ? ['IN_QUEUE', 'IN_PROGRESS'] : ['FAILED', 'TIMED_OUT'];
    const keys = await sql<
      { id: string }[]
    >`SELECT id FROM job WHERE endpoint_id = ${alone} AND state = ANY(${wanted}) ORDER BY position`;
    for (const { id: jobId } of keys) await calls[move]({ endpointId: alone, jobId });
    t.match(await changeAll(wantedOf(many, move)), { done: keys.length, left: {} });
    t.same([...(await stored(many))], [...(await stored(alone))], `as ${move} leaves them`);
  }
});

t.test('waiters see the change on every replica', async (t) => {
  const endpointId = await engines.endpoint();
  const [here, there] = await submit(endpointId, 2);
  const waits = [
    calls.wait({ endpointId, jobId: here! }, 30_000, never),
    others.wait({ endpointId, jobId: there! }, 30_000, never),
  ];
  await Promise.all(
    [calls, others].map((each) => each.get({ endpointId, jobId: here! }, { omitOutput: true, ttlMs: 0 })),
  );
  t.match(await changeAll(wantedOf(endpointId, 'cancel')), { done: 2 });
  t.same(
    (await Promise.all(waits)).map(({ state }) => state),
    ['CANCELLED', 'CANCELLED'],
  );
});

t.test('retried jobs keep their order, are claimed at once, and what fails later is left', async (t) => {
  const endpointId = await engines.endpoint();
  await Promise.all(Array.from({ length: 20 }, () => calls.submit(submission(endpointId))));
  const claimed = await attempts.claim(endpointId, slotsOn(endpointId, 20));
  const fail = (job: ClaimedJob): Promise<unknown> =>
    attempts.recordOutcome(outcome(job, { kind: 'FAILED', error: 'why' }));
  const order = claimed.map(({ jobId }) => jobId);
  for (const job of claimed.slice(0, 15).toReversed()) await fail(job);
  const begun = await calls.change({ ...wantedOf(endpointId, 'retry', { states: ['FAILED'] }), limit: 4 });
  t.match(begun, { done: 4 });
  for (const job of claimed.slice(15)) await fail(job);
  // Another caller has retried one of them; another one no longer exists.
  await calls.retry({ endpointId, jobId: order[7]! });
  await sql`UPDATE job SET expires_at = now() WHERE id = ${order[8]!}`;
  for (let next = begun.next; next; ) ({ next } = await calls.change({ ...next, limit: 3 }));
  const again = (await attempts.claim(endpointId, slotsOn(endpointId, 20))).map(({ jobId }) => jobId);
  t.same(again, [...order.slice(0, 4), order[7], ...order.slice(4, 7), ...order.slice(9, 15)]);
  for (const jobId of order.slice(15))
    t.equal((await calls.get({ endpointId, jobId }, { omitOutput: true, ttlMs: 0 })).state, 'FAILED');
});

t.test('jobs that fail again as soon as they are retried are retried once', async (t) => {
  const endpointId = await engines.endpoint(workersMax);
  await submit(endpointId, 200);
  const fail = async (): Promise<void> => {
    const claimed = await attempts.claim(endpointId, slotsOn(endpointId, 200));
    await Promise.all(claimed.map((job) => attempts.recordOutcome(outcome(job, { kind: 'FAILED', error: 'why' }))));
  };
  await fail();
  t.match(await changeAll(wantedOf(endpointId, 'retry'), { limit: 30, between: fail }), { done: 200, left: {} });
  await fail();
  t.same(await states(endpointId), { FAILED: 200 });
  t.match(
    await sql`SELECT max(attempt)::int AS most, min(attempt)::int AS least FROM job WHERE endpoint_id = ${endpointId}`,
    [{ most: 2, least: 2 }],
  );
  await checkTally(t, endpointId);
});

t.test('jobs changed by others meanwhile are counted by their state', async (t) => {
  const endpointId = await engines.endpoint();
  const ids = await submit(endpointId, 6);
  const wanted = wantedOf(endpointId, 'cancel', { states: ['IN_QUEUE'] });
  // The jobs of normal priority have been found, and wait for changes that others make to them.
  const { call, taken } = await sql.begin(async (tx) => {
    const [taken] = await attempts.claim(endpointId, slotsOn(endpointId, 1));
    await tx`UPDATE job SET state = 'COMPLETED', finished_at = now() WHERE id = ${ids[4]!}`;
    await tx`UPDATE job SET expires_at = now() WHERE id = ${ids[5]!}`;
    const call = calls.change({ ...wanted, limit: 4 });
    await waitFor('it to wait', async () => {
      const [row] = await second!.database.sql`
        SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%CANCELLED%'`;
      return row!['n'] > 0;
    });
    return { call: [call], taken: taken!.jobId };
  });
  const { done, left } = await call[0]!;
  t.same(
    [done, Object.fromEntries([...left].map(([state, count]) => [state ?? 'GONE', count]))],
    [2, { COMPLETED: 1, GONE: 1 }],
  );
  t.match(await states(endpointId), { IN_PROGRESS: 1, CANCELLED: 2, COMPLETED: 1 });
  t.match(await changeAll(wanted), { done: 1, left: {} }, 'the one of low priority');
  t.match(
    await calls.get({ endpointId, jobId: taken }, { omitOutput: true, ttlMs: 0 }),
    { state: 'IN_PROGRESS' },
    'what a worker took goes on',
  );
  t.match(await changeAll(wantedOf(endpointId, 'cancel', { states: ['IN_PROGRESS'] })), { done: 1 });
  // One has ended outside of all rules.
  await stores.counts.recount();
});

t.test('by when they were submitted; of other endpoints none', async (t) => {
  const [endpointId, elsewhere] = [await engines.endpoint(), await engines.endpoint()];
  const beginMs = Date.parse('2026-01-31T12:00:00Z');
  for (const id of [endpointId, elsewhere]) {
    const ids = await submit(id, 10);
    for (const [place, jobId] of ids.entries()) {
      await sql`UPDATE job SET submitted_at = timestamptz 'epoch' + ${beginMs + place * 1_000}::float8 * interval '1 ms'
        WHERE id = ${jobId}`;
    }
  }
  const within = (fromS: number | undefined, untilS: number | undefined) =>
    wantedOf(endpointId, 'cancel', {
      submitted: {
        fromMs: fromS === undefined ? undefined : beginMs + fromS * 1_000,
        untilMs: untilS === undefined ? undefined : beginMs + untilS * 1_000,
      },
    });
  t.match(await changeAll(within(3, 5), { limit: 1 }), { done: 2 });
  t.match(await changeAll(within(100, undefined)), { done: 0, calls: 1 });
  t.match(await changeAll(within(undefined, 2)), { done: 2 });
  t.match(await changeAll(within(8, undefined)), { done: 2 });
  t.same(await states(endpointId), { IN_QUEUE: 4, CANCELLED: 6 });
  t.same(await states(elsewhere), { IN_QUEUE: 10 });
});

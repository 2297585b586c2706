// test: alone, postgres, 10 s
/**
 * The cost of error groups grows with the jobs that are read, not with all jobs. Measured in index entries and rows, in
 * bytes, and in ticks of the event loop.
 */

import type { ChangeRequest, ChangeResult } from '@slipway/core/jobs/change/change-jobs';
import t from 'tap';
import { jobEntriesRead } from '../../../helpers/db/index-reads.ts';
import { refused, startEngines } from '../../../helpers/system/job-engine.ts';
import { measureLoop } from '../../../helpers/time/loop-meter.ts';

t.setTimeout(600_000);

const engines = await startEngines(t, { idle: true });
const {
  sql,
  database,
  stores,
  engine: { calls },
} = engines;
const DAY_MS = 86_400_000;
const SLICE = 500;
const JOBS_MAX = 10_000;
const PAGE_BYTES = 2 * 1024 * 1024;
/**
 * Entries read for each job: its index entry and its row, those of its error, and the same for the parts from which a
 * slice is merged.
 */
const ENTRIES_OF_JOB = 4;

const errorsOf = (endpointId: string, asked: { spanMs?: number; groupId?: string } = {}) =>
  calls.errors(endpointId, { spanMs: 0, groupId: '', ...asked });

/** Inserts failed jobs with these errors, each for many jobs; the last is the newest. */
async function insert(
  endpointId: string,
  many: number,
  { error = 'card %s is too small', state = 'FAILED', agoMs = 0, name = 'j' } = {},
): Promise<void> {
  await sql.begin(async (one) => {
    await one`
      INSERT INTO job (endpoint_id, id, state, low_priority, attempt, machine_id, worker_id, execution_timeout_ms,
        retention_ms, submitted_at, started_at,
        finished_at, ttl_deadline_at, expires_at)
      SELECT ${endpointId}, ${name} || n || '-u1', ${state}, false, 1, 'machine', 'worker', 600000, 1800000, at, at, at,
        at + interval '8 days',
        at + interval '8 days'
      FROM generate_series(1, ${many}::int) AS n,
        LATERAL (SELECT now() - ${agoMs}::float8 * interval '1 ms' AS at) AS times`;
    await one`INSERT INTO job_output (endpoint_id, job_id, error) SELECT ${endpointId}, ${name} || n || '-u1',
      replace(${error}, '%s', n::text)
      FROM generate_series(1, ${many}::int) AS n`;
  });
}

t.test('slices: the newest first, each once, both states, older ones skipped', async (t) => {
  const endpointId = await engines.endpoint();
  await insert(endpointId, 30, { agoMs: 3_600_000, name: 'old' });
  await insert(endpointId, 40);
  await insert(endpointId, 50, { state: 'TIMED_OUT', name: 'late' });
  await insert(endpointId, 5, { state: 'COMPLETED', name: 'done' });
  const seen: string[] = [];
  let after: number | undefined;
  let scanned = 0;
  do {
    const slice = await stores.jobs.failed(endpointId, { spanMs: 1_800_000, after, limit: 7 });
    seen.push(...slice.jobs.map(({ id }) => id));
    scanned += slice.scanned;
    after = slice.next;
  } while (after !== undefined);
  const wanted = [
    ...Array.from({ length: 50 }, (_, n) => `late${50 - n}-u1`),
    ...Array.from({ length: 40 }, (_, n) => `j${40 - n}-u1`),
  ];
  t.same(seen, wanted);
  t.equal(scanned, 120);
  t.match(await stores.jobs.failed(endpointId, { spanMs: DAY_MS, after: undefined, limit: 120 }), {
    scanned: 120,
    next: Number,
  });
  t.match(await stores.jobs.failed(await engines.endpoint(), { spanMs: DAY_MS, after: undefined, limit: 7 }), {
    jobs: [],
    scanned: 0,
    next: undefined,
  });
  const { groups, ...all } = await errorsOf(endpointId);
  t.same(all, { groupCount: 1, jobs: 120, more: false });
  t.match(groups, [{ text: 'card # is too small', jobs: 120 }]);
  t.match(await errorsOf(endpointId, { spanMs: 1_800_000 }), { jobs: 90, more: false });
  await sql`UPDATE job SET expires_at = now() WHERE endpoint_id = ${endpointId} AND state = 'FAILED'`;
  t.match(await errorsOf(endpointId), { jobs: 50 }, 'results that have expired are none');
});

t.test('only the newest ten thousand are read', async (t) => {
  const endpointId = await engines.endpoint();
  for (const many of [12_000, 36_000]) {
    await insert(endpointId, 12_000, { name: `of-${many}-` });
    await insert(endpointId, 12_000, { name: `other-${many}-`, error: 'it works', state: 'COMPLETED' });
    await errorsOf(endpointId);
    const before = await jobEntriesRead(database);
    const stop = measureLoop();
    t.match(await errorsOf(endpointId), { jobs: JOBS_MAX, more: true, groups: [{ jobs: JOBS_MAX }] });
    const [longest = 0] = stop();
    const entries = (await jobEntriesRead(database)) - before;
    const most = ENTRIES_OF_JOB * (JOBS_MAX + 2 * SLICE);
    t.ok(entries > JOBS_MAX && entries <= most, `${entries} entries where there are ${many}, at most ${most}`);
    t.ok(longest < 20, `the loop is held for ${longest} ms`);
  }
});

t.test(
  'errors of maximum length: no statement returns more than a page, and no call reads more than 64 MiB',
  async (t) => {
    const endpointId = await engines.endpoint();
    // No two texts compress away, and the end says what was wrong.
    const noise = Array.from({ length: 4_000 }, (_, n) => ((n * 2_654_435_761) % 4_294_967_296).toString(36)).join(' ');
    const error = `${noise.repeat(10).slice(0, 262_000)}\nValueError: no %s`;
    await insert(endpointId, 300, { error });
    const slice = await stores.jobs.failed(endpointId, { spanMs: DAY_MS, after: undefined, limit: SLICE });
    t.ok(slice.bytes > PAGE_BYTES && slice.bytes <= PAGE_BYTES + 300_000, `${slice.bytes} bytes are looked at`);
    t.ok(
      slice.jobs.every(({ error: parts }) => parts!.head.length <= 4_096 && parts!.tail.length <= 2_048),
      'and parts of them answered',
    );
    const stop = measureLoop();
    const { groups, jobs, more } = await errorsOf(endpointId);
    const [longest = 0] = stop();
    t.match(groups, [{ text: 'ValueError: no #' }]);
    t.ok(more && jobs >= 256 && jobs < 270, `${jobs} jobs are looked at`);
    t.ok(longest < 20, `the loop is held for ${longest} ms`);
  },
);

t.test('an error of 10 MB among others, and ten thousand errors that have nothing in common', async (t) => {
  const endpointId = await engines.endpoint();
  await insert(endpointId, 3, { error: `${'a line of the log\n'.repeat(600_000)}ValueError: no %s` });
  await insert(endpointId, 12_000, { name: 'apart' });
  await sql`
    UPDATE job_output SET error = translate(job_id, '0123456789', 'abcdefghij') || ' ' || repeat('x', 3000)
    WHERE endpoint_id = ${endpointId} AND job_id LIKE 'apart%'`;
  await sql`UPDATE job SET position = nextval('job_position_seq') WHERE endpoint_id = ${endpointId} AND id LIKE 'j%'`;
  const stop = measureLoop();
  const { groups, groupCount, jobs, more } = await errorsOf(endpointId);
  const [longest = 0] = stop();
  t.ok(groups.length === 100 && groupCount > 1_000 && more, `${groupCount} groups of ${jobs} jobs`);
  t.match(groups[0], { text: 'ValueError: no #', jobs: 3 });
  t.ok(groups.every(({ text, sample }) => text.length <= 500 && sample.length <= 4_096));
  t.ok(longest < 20, `the loop is held for ${longest} ms`);
  await sql`DELETE FROM job WHERE endpoint_id = ${endpointId} AND id LIKE 'j%'`;
  t.match(await errorsOf(endpointId), { groupCount: JOBS_MAX, jobs: JOBS_MAX, more: true });
});

t.test('retried by group: a call reads a bounded number of jobs and bytes, however few match', async (t) => {
  const endpointId = await engines.endpoint();
  const noise = Array.from({ length: 4_000 }, (_, n) => ((n * 2_654_435_761) % 4_294_967_296).toString(36)).join(' ');
  await insert(endpointId, 300, { name: 'long', error: `${noise.repeat(10).slice(0, 262_000)}\nValueError: no %s` });
  await insert(endpointId, 3_000, { name: 'nasty', error: `{"error_message": "${'a1b2c3d4 0x%s '.repeat(400)}` });
  await insert(endpointId, 2, { name: 'of-it' });
  const { groups } = await errorsOf(endpointId);
  const group = groups.find(({ text }) => text === 'card # is too small')!;
  t.equal(group.jobs, 2);
  let wanted: ChangeRequest | undefined = {
    endpointId,
    move: 'retry',
    states: ['FAILED'],
    submitted: undefined,
    ended: { fromMs: undefined, errorGroup: group.id },
    limit: 0,
  };
  const done: number[] = [];
  while (wanted) {
    const before = await jobEntriesRead(database);
    const stop = measureLoop();
    const changed: ChangeResult = await calls.change(wanted);
    const [longest = 0] = stop();
    const entries = (await jobEntriesRead(database)) - before;
    done.push(changed.done);
    t.ok(longest < 20, `the loop is held for ${longest} ms`);
    // If a few errors fill a page, batches are read again.
    if (done.length > 1) t.ok(entries < ENTRIES_OF_JOB * 1_300, `${entries} entries`);
    wanted = changed.next && { ...changed.next, limit: 0 };
  }
  t.same(
    [done.length, done.slice(0, -1).every((count) => count === 0), done.at(-1)],
    [5, true, 2],
    '64 MiB, three times 1,000, and the rest',
  );
  t.match(await sql`SELECT count(*)::int AS n FROM job WHERE endpoint_id = ${endpointId} AND state = 'IN_QUEUE'`, [
    { n: 2 },
  ]);
});

t.test('one group: all of its jobs, and no other', async (t) => {
  const endpointId = await engines.endpoint();
  await insert(endpointId, 1_200, { name: 'first' });
  await insert(endpointId, 2_500, { name: 'other', error: 'disk %s is full' });
  await insert(endpointId, 50, { name: 'last', state: 'TIMED_OUT' });
  const {
    groups: [disks, cards],
  } = await errorsOf(endpointId);
  t.match(
    [disks, cards],
    [
      { text: 'disk # is full', jobs: 2_500 },
      { text: 'card # is too small', jobs: 1_250 },
    ],
  );
  t.equal(cards!.jobIds.length, 10);
  const {
    groups: [only, ...others],
    ...all
  } = await errorsOf(endpointId, { groupId: cards!.id });
  t.same([others, all], [[], { groupCount: 2, jobs: 3_750, more: false }]);
  t.equal(only!.jobIds.length, 1_250);
  t.same(
    [only!.jobIds[0], only!.jobIds[50], only!.jobIds.at(-1)],
    ['last50-u1', 'first1200-u1', 'first1-u1'],
    'the newest first',
  );
  t.match(only, { ...cards!, jobIds: only!.jobIds });
  t.match(
    await errorsOf(endpointId, { groupId: '0123456789abcdef' }),
    { groups: [], groupCount: 2 },
    'a group of nobody',
  );
  for (const groupId of ['x', '0123456789ABCDEF', '0123456789abcdef0'])
    await refused(t, errorsOf(endpointId, { groupId }), 'INVALID_REQUEST');
  await refused(t, errorsOf(endpointId, { spanMs: 1 }), 'INVALID_REQUEST');
});

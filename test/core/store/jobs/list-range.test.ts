// test: postgres, 10 s
/**
 * Jobs of a time range: exactly those, whatever became of them since, and without more reads than for a page without a
 * range.
 */
import t from 'tap';
import { jobEntriesRead } from '../../../helpers/db/index-reads.ts';
import { startEngines } from '../../../helpers/system/job-engine.ts';

t.setTimeout(600_000);

const engines = await startEngines(t, { idle: true });
const { sql, database, stores } = engines;
const BEGIN_MS = Date.parse('2026-01-31T12:00:00Z');
const LIMIT = 50;
const COUNTED_MAX = 10_001;
/** Parts of a list, and looks into the index for one end: half of what is left each time. */
const PARTS = 7;
const LOOKS_MAX = 40;

type Asked = Partial<Parameters<typeof stores.jobs.list>[1]>;

/** Inserts a job for each second. */
async function insert(
  endpointId: string,
  state: string,
  [first, last]: readonly [number, number],
  low = false,
): Promise<void> {
  await sql`
    INSERT INTO job (endpoint_id, id, state, low_priority, attempt, machine_id, worker_id, execution_timeout_ms,
      retention_ms, submitted_at, started_at,
      finished_at, execution_deadline_at, ttl_deadline_at, expires_at)
    SELECT ${endpointId}, 'j' || lpad(i::text, 6, '0'), ${state}, ${low}, CASE WHEN ${state} = 'IN_QUEUE' THEN 0
      ELSE 1 END,
      CASE WHEN ${state} <> 'IN_QUEUE' THEN 'machine' END, CASE WHEN ${state} <> 'IN_QUEUE' THEN 'worker' END, 600000,
      1800000, at,
      CASE WHEN ${state} <> 'IN_QUEUE' THEN at + interval '1 hour' END, CASE
        WHEN ${state} NOT IN ('IN_QUEUE', 'IN_PROGRESS') THEN at + interval '2 hours' END,
      CASE WHEN ${state} = 'IN_PROGRESS' THEN now() + interval '1 day' END, now() + interval '1 day',
      now() + interval '1 day'
    FROM generate_series(${first}::int, ${last}::int) AS i,
      LATERAL (SELECT timestamptz 'epoch' + (${BEGIN_MS}::float8 + i * 1000) * interval '1 ms' AS at) AS times`;
}

const at = (second: number): number => BEGIN_MS + second * 1_000;
const name = (second: number): string => `j${String(second).padStart(6, '0')}`;

async function list(endpointId: string, asked: Asked) {
  const { jobs, total, next } = await stores.jobs.list(endpointId, {
    state: undefined,
    oldestFirst: false,
    offset: 0,
    limit: 3,
    ...asked,
  });
  return { ids: jobs.map(({ id }) => id), total, next };
}

t.test('after, before and between times; in every state and order, page after page', async (t) => {
  const endpointId = await engines.endpoint();
  const states = ['COMPLETED', 'IN_QUEUE', 'FAILED', 'IN_PROGRESS', 'CANCELLED', 'TIMED_OUT', 'IN_QUEUE'];
  for (const [place, state] of states.entries())
    await insert(endpointId, state, [place * 10 + 1, place * 10 + 10], place === 6);
  const submitted = { fromMs: at(18), untilMs: at(44) };
  t.same(await list(endpointId, { submitted: { fromMs: at(68) } }), {
    ids: [name(70), name(69), name(68)],
    total: 3,
    next: undefined,
  });
  t.match(await list(endpointId, { submitted: { untilMs: at(4) }, oldestFirst: true }), {
    ids: [name(1), name(2), name(3)],
    total: 3,
  });
  const seen: string[] = [];
  let after: number | undefined;
  do {
    const page = await list(endpointId, { submitted, after, limit: 7 });
    t.equal(page.total, 26);
    seen.push(...page.ids);
    after = page.next;
  } while (after !== undefined);
  t.same(
    seen,
    Array.from({ length: 26 }, (_, place) => name(43 - place)),
  );
  t.same((await list(endpointId, { submitted, state: 'FAILED', limit: 50 })).ids.length, 10);
  t.same((await list(endpointId, { submitted, state: 'IN_PROGRESS', limit: 50 })).ids.length, 10);
  t.same((await list(endpointId, { submitted, state: 'IN_QUEUE', limit: 50 })).ids, [name(20), name(19), name(18)]);
  t.same((await list(endpointId, { submitted, state: 'FAILED', longest: 'delay', limit: 2 })).ids, [
    name(30),
    name(29),
  ]);
  t.same(await list(endpointId, { submitted: { fromMs: at(71) } }), { ids: [], total: 0, next: undefined });
  t.same((await list(endpointId, { submitted: { untilMs: at(1) } })).ids, []);
  t.same((await list(await engines.endpoint(), { submitted })).ids, [], 'of an endpoint without jobs');
});

t.test('a retried job counts from its retry, and hides no other', async (t) => {
  const endpointId = await engines.endpoint();
  await insert(endpointId, 'FAILED', [1, 400]);
  await insert(endpointId, 'IN_QUEUE', [2_000, 2_000]);
  // A long row of them in the middle, as when all that failed in an hour run again; some have ended since.
  for (let second = 1; second <= 300; second += 1) t.ok(await stores.jobs.retry({ endpointId, jobId: name(second) }));
  await sql`UPDATE job SET state = 'COMPLETED', attempt = 2, machine_id = 'machine', worker_id = 'worker',
    started_at = now(), finished_at = now()
    WHERE endpoint_id = ${endpointId} AND id <= ${name(150)}`;
  const nowMs = Date.now();
  await sql`
    INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
      ttl_deadline_at, expires_at)
    SELECT ${endpointId}, 'new' || i, 'IN_QUEUE', false, 600000, 1800000, now() + i * interval '1 minute',
      now() + interval '1 day', now() + interval '1 day'
    FROM generate_series(1, 3) AS i`;
  const first = await list(endpointId, { submitted: { untilMs: at(1_000) }, limit: 1_000 });
  t.same(
    first.ids,
    Array.from({ length: 100 }, (_, place) => name(400 - place)),
    'those that were not',
  );
  t.same((await list(endpointId, { submitted: { fromMs: at(399), untilMs: at(401) } })).ids, [name(400), name(399)]);
  t.same((await list(endpointId, { submitted: { fromMs: nowMs + 90_000 } })).ids, ['new3', 'new2'], 'behind them');
  const since = await list(endpointId, { submitted: { fromMs: nowMs - 60_000 }, oldestFirst: true, limit: 1_000 });
  t.same(
    since.ids,
    [...Array.from({ length: 300 }, (_, place) => name(place + 1)), 'new1', 'new2', 'new3'],
    'in the order in which they were retried',
  );
});

t.test('its cost does not grow with the number of jobs, inside or outside the range', async (t) => {
  const endpointId = await engines.endpoint();
  const many = 40_000;
  await insert(endpointId, 'COMPLETED', [1, many]);
  await insert(endpointId, 'IN_QUEUE', [many + 1, 2 * many]);
  const places = {
    'at the old end': { untilMs: at(2_000) },
    'in the middle': { fromMs: at(20_000), untilMs: at(20_500) },
    'between the states': { fromMs: at(many - 100), untilMs: at(many + 100) },
    'at the new end': { fromMs: at(2 * many - 500) },
    nowhere: { fromMs: at(9 * many) },
  };
  for (const [what, submitted] of Object.entries(places)) {
    for (const asked of [{}, { oldestFirst: true }, { state: 'COMPLETED' as const }, { longest: 'delay' as const }]) {
      const ask = () => list(endpointId, { submitted, limit: LIMIT, ...asked });
      await ask();
      const before = await jobEntriesRead(database);
      const { total } = await ask();
      const entries = (await jobEntriesRead(database)) - before;
      const most = Math.min(total, COUNTED_MAX) + (PARTS + 3) * (LIMIT + 2 + total) + 2 * LOOKS_MAX * PARTS;
      t.ok(entries <= most, `${what}, ${JSON.stringify(asked)}: ${entries} entries for ${total}`);
    }
  }
});

// test: postgres
/**
 * Instants and spans of jobs, which statements reckon in float8: they are what reckoning in decimals gives, to the last
 * bit.
 */

import { jobColumns } from '@slipway/core/store/jobs/rows';
import { connect } from '@slipway/core/store/sql/database';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';

const sql = connect((await createDatabase(t)).url, 'job-times', 1, createLogger('test', 'silent'));
t.teardown(() => sql.end());

interface Times {
  delay_ms: number | null;
  finished_ms: number | null;
  submitted_ms: number;
  execution_ms: number | null;
}

t.test('100,000 instants and spans', async (t) => {
  // Microseconds by a step that has no rhythm, over seventy years; spans of up to a week, every other one half a
  // millisecond beside a whole one.
  const [row] = await sql<{ rows: number; halves: number; wrong: number }[]>`
    WITH instants AS (
      SELECT timestamptz 'epoch' + (n * 22075393517::bigint) * interval '1 us' AS at,
        (n * 6048317::bigint) * interval '1 us' AS loose,
        (n::bigint * 6048 * 1000 + 500) * interval '1 us' AS half, n FROM generate_series(1, 100000) AS n
    ), j AS (
      SELECT 'e' AS endpoint_id, n::text AS id, 'COMPLETED' AS state, 1 AS attempt, 0 AS retries, 'w' AS worker_id,
        at AS submitted_at,
        at + CASE WHEN n % 2 = 0 THEN loose ELSE half END AS started_at,
        at + CASE WHEN n % 2 = 0 THEN loose ELSE half END + CASE WHEN n % 3 = 0 THEN half ELSE loose END AS finished_at
          FROM instants
    ), both_ways AS (
      SELECT o.*, (extract(epoch FROM j.submitted_at) * 1000)::float8 AS s,
        (extract(epoch FROM j.finished_at) * 1000)::float8 AS f,
        round(extract(epoch FROM j.started_at - j.submitted_at) * 1000)::float8 AS d,
        round(extract(epoch FROM j.finished_at - j.started_at) * 1000)::float8 AS x
      FROM j, LATERAL (SELECT ${jobColumns(sql)}) AS o
    )
    SELECT count(*)::int AS rows, count(*) FILTER (WHERE id::int % 2 = 1)::int AS halves,
      count(*) FILTER (WHERE (submitted_ms, finished_ms, delay_ms, execution_ms) IS DISTINCT
        FROM (s, f, d, x))::int AS wrong FROM both_ways`;
  t.same(row, { rows: 100_000, halves: 50_000, wrong: 0 });
});

t.test('a clock set back, and times not reached yet', async (t) => {
  const [row] = await sql<Times[]>`
    SELECT ${jobColumns(sql)} FROM (SELECT 'e' AS endpoint_id, 'i' AS id, 'IN_PROGRESS' AS state, 1 AS attempt,
      0 AS retries, 'w' AS worker_id,
      timestamptz '2026-01-01 00:00:01.000001Z' AS submitted_at, timestamptz '2026-01-01 00:00:00Z' AS started_at,
      NULL::timestamptz AS finished_at) AS j`;
  t.match(row, { submitted_ms: 1_767_225_601_000.001, finished_ms: null, delay_ms: 0, execution_ms: null });
});

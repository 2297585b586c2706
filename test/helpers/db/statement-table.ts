/** The statements on which PostgreSQL spent most time: `npm run fleet -- --statements 20`. */
import type postgres from 'postgres';

const TEXT_LENGTH_MAX = 150;

/** Returns one line per statement, most expensive first. The server must have loaded pg_stat_statements. */
export async function statementTable(sql: postgres.Sql, count: number): Promise<string> {
  await sql`CREATE EXTENSION IF NOT EXISTS pg_stat_statements`;
  const rows = await sql<{ ms: number; calls: number; rows: number; query: string }[]>`
    SELECT (total_exec_time + total_plan_time)::int AS ms, calls::int AS calls, rows::int AS rows, query
      FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY total_exec_time DESC
      LIMIT ${count}`;
  const lines = rows.map(({ ms, calls, rows: all, query }) =>
    [
      String(ms).padStart(8),
      String(calls).padStart(8),
      String(all).padStart(9),
      query.replace(/\s+/g, ' ').slice(0, TEXT_LENGTH_MAX),
    ].join('  '),
  );
  return ['      ms     calls       rows  statement', ...lines].join('\n');
}

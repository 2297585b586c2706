// test: postgres
/**
 * docs/operate/disk.md: its query estimates what a year adds, from real rows of the last 30 minutes. The estimate fits
 * the size that tables and indexes take when there are many such rows.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startReplicas } from '../helpers/system/core-replicas.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/operate/disk.md'), 'utf8');
/** Half hours in a year. */
const PERIODS = 2 * 24 * 365;
const COPIES = 400;

t.setTimeout(300_000);

t.test("the query for a year's growth", async (t) => {
  const core = await startReplicas(t);
  const { sql } = core;
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  for (let i = 1; i <= 20; i += 1) {
    await core.createVolume('eu-1');
    await core.updateEndpoint(endpointId, { idleTimeoutSeconds: 60 + i });
  }
  const query = /## Estimate a year\n[^]*?```sql\n([^]*?)```/.exec(page)![1]!;
  const estimate = async () =>
    new Map(
      (await sql.unsafe<{ name: string; rows: string; mb_a_year: string }[]>(query)).map((row) => [
        row.name,
        { rows: Number(row.rows), bytes: (Number(row.mb_a_year) * 1e6) / PERIODS },
      ]),
    );
  const few = await estimate();
  t.same([...few.keys()], ['usage_span', 'audit_event', 'endpoint_release']);
  for (const [name, { rows }] of few) t.ok(rows >= 20, `${rows} rows of ${name}`);

  for (const name of few.keys()) {
    const columns = await sql<{ name: string }[]>`
      SELECT column_name AS name FROM information_schema.columns
      WHERE table_name = ${name} AND column_name NOT IN ('id', 'ended_at')`;
    const listed = sql(columns.map((column) => column.name));
    const isSpan = name === 'usage_span';
    await sql`
      INSERT INTO ${sql(name)} (${listed}${isSpan ? sql`, ended_at` : sql``})
      SELECT ${listed}${isSpan ? sql`, now()` : sql``} FROM ${sql(name)}, generate_series(1, ${COPIES})`;
  }
  for (const [name, { rows, bytes }] of await estimate()) {
    const [row] = await sql<{ bytes: string }[]>`SELECT pg_total_relation_size(${name}::regclass) AS bytes`;
    const ratio = bytes / Number(row!.bytes);
    t.comment(`${name}: ${rows} rows, ${Number(row!.bytes) / rows} bytes each; the estimate is ${ratio} times that`);
    t.ok(ratio > 0.75 && ratio < 1.33, `the estimate for ${name} fits`);
  }
});

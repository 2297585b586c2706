// test: alone, postgres
/**
 * Large payloads on their way to and from PostgreSQL: as bytes, so that storing or reading one keeps core from nothing
 * else.
 */

import { connect } from '@slipway/core/store/sql/database';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { measureLoop } from '../../../helpers/time/loop-meter.ts';
import { seededRandom } from '../../../helpers/time/seeded-random.ts';

const random = seededRandom();
const MIB = 1024 * 1024;
/** One tick may be long by chance, because of a garbage collection; five in a row may not. */
const TRIES = 5;
/** Longest tick in milliseconds of processor time. As text in hexadecimal it took about 130. */
const TURN_MS_MAX = 20;

const sql = connect((await createDatabase(t)).url, 'large-bytes', 1, createLogger('test', 'silent'));
t.teardown(() => sql.end());
await sql`CREATE TABLE payload (id int PRIMARY KEY, bytes bytea, note text)`;

t.test('20 MiB and back', async (t) => {
  const bytes = random.bytes(20 * MIB);
  let longest = Infinity;
  for (let i = 0; i < TRIES && longest > TURN_MS_MAX; i += 1) {
    const end = measureLoop();
    await sql`INSERT INTO payload VALUES (${i}, ${bytes}, 'x')`;
    const [row] = await sql<{ bytes: Buffer; note: string }[]>`SELECT bytes, note FROM payload WHERE id = ${i}`;
    longest = end()[0] ?? 0;
    t.ok(row!.bytes.equals(bytes));
    t.equal(row!.note, 'x');
  }
  t.comment(`longest turn: ${longest.toFixed(1)} ms`);
  t.ok(longest <= TURN_MS_MAX, `the longest turn took ${longest.toFixed(1)} ms`);
});

t.test('large values are sent without a copy, also beside others and before other statements', async (t) => {
  const bytes = random.bytes(8 * MIB);
  const more = random.bytes(100_000);
  const insert = (id: number) =>
    sql`INSERT INTO payload SELECT ${id}, ${bytes}::bytea || ${Buffer.from('-')}::bytea || ${more}::bytea, ${'x'}`;
  await insert(40);
  const before = process.memoryUsage().arrayBuffers;
  const inserted = Promise.all([insert(41).execute(), sql`SELECT 1`.execute(), insert(42).execute()]);
  t.ok(process.memoryUsage().arrayBuffers - before < MIB);
  await inserted;
  const whole = Buffer.concat([bytes, Buffer.from('-'), more]);
  for (const row of await sql<{ bytes: Buffer }[]>`SELECT bytes FROM payload WHERE id BETWEEN 40 AND 42`)
    t.ok(row.bytes.equals(whole));
});

t.test('every way in which a statement meets bytes', async (t) => {
  const some = Buffer.from([0, 1, 0x5c, 0x78, 0xff]);
  await sql`INSERT INTO payload VALUES (100, ${some}, NULL), (101, ${Buffer.alloc(0)}, NULL), (102, NULL, 'none')`;
  for (let again = 0; again < 2; again += 1) {
    t.same(
      await sql`SELECT bytes FROM payload WHERE id >= ${100} ORDER BY id`.values(),
      [[some], [Buffer.alloc(0)], [null]],
      'as values',
    );
    t.same(
      (await sql.unsafe('SELECT bytes, note FROM payload WHERE id = $1', [100]))[0],
      { bytes: some, note: null },
      'unprepared',
    );
    t.same(
      (await sql.unsafe('SELECT bytes FROM payload WHERE id = 100').simple())[0],
      { bytes: some },
      'by the simple protocol',
    );
    t.same((await sql`SELECT bytes FROM payload WHERE id = 100`)[0], { bytes: some }, 'without parameters');
    t.same((await sql`SELECT id FROM payload WHERE bytes = ${some}`)[0], { id: 100 }, 'compared');
    t.same((await sql`SELECT substring(${some}::bytea FROM ${2} FOR ${2}) AS part, ${'a'}::text AS text`)[0], {
      part: some.subarray(1, 3),
      text: 'a',
    });
    t.same((await sql`SELECT array_agg(bytes ORDER BY id) AS all FROM payload WHERE id IN (${100}, ${101})`)[0], {
      all: [some, Buffer.alloc(0)],
    });
    const rows: unknown[] = [];
    await sql`SELECT bytes FROM payload WHERE id >= ${100} ORDER BY id`.cursor(1, (part) => {
      rows.push(part[0]!['bytes']);
    });
    t.same(rows, [some, Buffer.alloc(0), null], 'by a cursor');
    const pipelined = await Promise.all(
      [100, 101, 100].map((id) => sql`SELECT id, bytes FROM payload WHERE id = ${id}`),
    );
    t.same(
      pipelined.map(([row]) => row!['bytes']),
      [some, Buffer.alloc(0), some],
      'several at once',
    );
  }
  await t.rejects(
    sql`SELECT ${some}::bytea FROM nowhere WHERE x = ${1}`,
    { code: '42P01' },
    'a statement that cannot be described',
  );
  await sql`ALTER TABLE payload ALTER COLUMN note TYPE bytea USING note::bytea`;
  t.same(
    (await sql`SELECT bytes, note FROM payload WHERE id = ${102}`)[0],
    { bytes: null, note: Buffer.from('none') },
    'a type that has changed since',
  );
  t.equal((await sql`INSERT INTO payload VALUES (${103}, ${some}, ${some})`).count, 1, 'no result');
});

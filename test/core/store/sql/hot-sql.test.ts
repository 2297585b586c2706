// test: postgres
/**
 * The hot statements whole, as PostgreSQL gets them. test/core/store/sql/statements has them to be read, compared and
 * given to EXPLAIN. Each is prepared and planned here on a real server. After a change of a statement:
 * `SLIPWAY_TEST_SQL=write npm test -- test/core/store/sql/hot-sql.test.ts`, and read the difference.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { outcomeRule } from '@slipway/core/domain/jobs/attempt-outcome';
import type { Sql } from '@slipway/core/store/sql/database';
import { openDatabase } from '@slipway/core/store/sql/database';
import { migrate } from '@slipway/core/store/sql/migrate';
import { makeStores } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';

const FOLDER = join(import.meta.dirname, 'statements');
const WRITES = process.env.SLIPWAY_TEST_SQL === 'write';
const ENDPOINT = 'ep1234567890ab';
const SLOT = { workerId: 'worker', machineId: 'machine' };
const rule = outcomeRule('COMPLETED', { retryLimit: 0, retryHandlerErrors: false });
const output = Buffer.from('{}');

/** A statement that a connection has prepared. */
interface Prepared {
  name: string;
  statement: string;
  parameters: number;
}

const logger = createLogger('test', 'silent');
const { url } = await createDatabase(t);
// One connection per pool, so that it has prepared all statements that are run.
const database = openDatabase(url, { logger, connectionsMax: 1, hotConnectionsMax: 1 });
t.teardown(() => database.close());
await migrate(database, logger);
await database.sql`INSERT INTO account (id, name) VALUES ('account', 'account')`;
await database.sql`INSERT INTO template (id, account_id, name) VALUES ('template', 'account', 'template')`;
await database.sql`INSERT INTO endpoint (id, account_id, name, template_id)
  VALUES (${ENDPOINT}, 'account', 'endpoint', 'template')`;
const { submissions, claims, chunks, outcomes, deletions, scales, counts } = makeStores(
  database,
  new Sealer('0'.repeat(64)),
);

function placements(count: number, slot?: typeof SLOT) {
  return Array.from({ length: count }, () => ({
    job: {
      endpointId: ENDPOINT,
      id: `${randomUUID()}-u1`,
      lowPriority: false,
      executionTimeoutMs: 600_000,
      retentionMs: 60_000,
      ttlMs: 600_000,
      input: output,
      webhookSealed: undefined,
      s3ConfigSealed: undefined,
    },
    slot,
  }));
}

const claimRequest = () => ({
  endpointId: ENDPOINT,
  slots: [SLOT, SLOT],
  claimId: randomUUID(),
  afterNormal: 0,
  afterLow: 0,
  inputBytesMax: 1_000,
});
const ended = ({ id }: { id: string }) => ({
  endpointId: ENDPOINT,
  jobId: id,
  attempt: 1,
  machineId: SLOT.machineId,
  rule,
  output,
  error: undefined,
});
const early = ({ job }: ReturnType<typeof placements>[number]) => ({ job, ...SLOT, ageMs: 2, executionMs: 1, output });
const running = placements(6, SLOT).map(({ job }) => job);

/** Runs each statement, in this order. */
const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  'submission-of-many-and-claim': () =>
    submissions.insert(
      running.map((job) => ({ job, slot: SLOT })),
      randomUUID(),
    ),
  'submission-of-many': () => submissions.insert(placements(4), randomUUID()),
  'submission-of-one': () => submissions.insert(placements(1), randomUUID()),
  'submission-of-one-and-claim': () => submissions.insert(placements(1, SLOT), randomUUID()),
  claim: () => claims.claim(claimRequest()),
  'prefetch-claim': () => claims.claimPrefetched(claimRequest(), [running[0]!.id]),
  'chunks-append': () =>
    chunks.append(running.slice(0, 2).map(({ id }) => ({ ...ended({ id }), number: 1, metrics: undefined }))),
  'chunks-read': () =>
    chunks.read([{ endpointId: ENDPOINT, jobId: running[0]!.id, after: undefined, limit: 10 }], {
      chunksMax: 100,
      bytesMax: 65_536,
      allOrNothing: true,
    }),
  'outcome-of-many': () => outcomes.record(running.slice(0, 2).map(ended)),
  'outcome-of-one': () => outcomes.record([ended(running[2]!)]),
  'ended-of-many': () => submissions.insertEnded(placements(2).map(early)),
  'ended-of-one': () => submissions.insertEnded(placements(1).map(early)),
  sweep: () => deletions.reapExpired(100),
  'queue-count': () => counts.queued([ENDPOINT]),
  'scale-sample': () => scales.sample([ENDPOINT]),
  'scale-machines': () => scales.machineView(),
};

async function prepared(sql: Sql): Promise<Prepared[]> {
  const rows = await sql<Prepared[]>`
    SELECT name, statement, coalesce(array_length(parameter_types, 1), 0)::int AS parameters FROM pg_prepared_statements
      ORDER BY prepare_time, name`;
  return rows.filter(({ statement }) => !/pg_prepared_statements|^(begin|commit)\b/i.test(statement));
}

/** Statements that some work prepares, with the connection that has them. */
async function statementsOf(work: () => Promise<unknown>): Promise<(Prepared & { sql: Sql })[]> {
  const pools = [database.hot, database.sql];
  const before = new Set((await Promise.all(pools.map(prepared))).flat().map(({ name }) => name));
  await work();
  const after = await Promise.all(pools.map(async (sql) => (await prepared(sql)).map((each) => ({ ...each, sql }))));
  return after.flat().filter(({ name }) => !before.has(name));
}

/** Takes off the indentation that a statement has in its source. */
function dedented(statement: string): string {
  const lines = statement
    .replace(/^\n/, '')
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd());
  const indents = lines
    .filter((line, index) => line !== '' && (index > 0 || line.startsWith(' ')))
    .map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents, Number.MAX_SAFE_INTEGER);
  const outdented = lines.map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length)));
  return `${outdented.join('\n')};\n`;
}

const seen = new Set<string>();
for (const [name, work] of Object.entries(WORK)) {
  t.test(name, async (t) => {
    const statements = await statementsOf(work);
    t.not(statements.length, 0, 'it prepares a statement');
    for (const [index, { name: id, statement, parameters, sql }] of statements.entries()) {
      const file = `${statements.length === 1 ? name : `${name}-${index + 1}`}.sql`;
      seen.add(file);
      const text = dedented(statement);
      if (WRITES) writeFileSync(join(FOLDER, file), text);
      t.equal(existsSync(join(FOLDER, file)) ? readFileSync(join(FOLDER, file), 'utf8') : '', text, file);
      const values = parameters === 0 ? '' : `(${Array(parameters).fill('NULL').join(', ')})`;
      const plan = (await sql.unsafe<{ 'QUERY PLAN': string }[]>(`EXPLAIN EXECUTE "${id}"${values}`))
        .map((row) => row['QUERY PLAN'])
        .join('\n');
      t.match(plan, /cost=/, `${file} has a plan`);
      if (sql === database.hot) t.notMatch(plan, /Seq Scan on job/, `${file} reads jobs by an index`);
    }
  });
}

t.test('no other file', async (t) => {
  const others = globSync('*.sql', { cwd: FOLDER }).filter((file) => !seen.has(file));
  if (WRITES) for (const file of others) rmSync(join(FOLDER, file));
  else t.same(others, []);
});

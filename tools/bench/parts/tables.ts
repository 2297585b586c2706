/**
 * Part `tables`: the cost of the engine's statements beside millions of finished jobs and a long queue, compared with
 * small tables. Both databases are used in turn in one run. Besides time, PostgreSQL's processor time and pages are
 * counted, because these stay the same on a busy machine.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { outcomeRule } from '@slipway/core/domain/jobs/attempt-outcome';
import type { Sql } from '@slipway/core/store/sql/database';
import { openDatabase } from '@slipway/core/store/sql/database';
import { migrate } from '@slipway/core/store/sql/migrate';
import type { Stores } from '@slipway/core/store/storage';
import { makeStores } from '@slipway/core/store/storage';
import { orderedUuid } from '@slipway/kit/bytes/ordered-uuid';
import { Sealer } from '@slipway/kit/host/seal';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import postgres from 'postgres';
import type { Figure } from '../figure.ts';
import { median } from '../figure.ts';
import { cpuUs } from '../load/process-usage.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT } from '../stack/bench.ts';
import type { Fill } from '../stack/fill-tables.ts';
import { fillTables } from '../stack/fill-tables.ts';

const ENDPOINT = 'ep1234567890ab';
const BATCH = 500;
const SMALL: Fill = { finished: 2_000, queued: 20_000, expired: 10_000 };
const CLAIM_RATIO_MAX = 1.5;
const REAP_RATE_MIN = 10_000;
const HEALTH_MS_MAX = 10;
const LIST_MS_MAX = 50;

/** Cost of one statement or of one call of a store. */
interface Cost {
  ms: number;
  /**
   * Pages of tables and indexes that were accessed. `read`: how many were not in PostgreSQL's memory.
   */
  pages: number;
  read: number;
  walBytes: number;
  cpuUs: number;
  rows: number;
}

/** A filled database. */
interface Tables {
  stores: Stores;
  /** The engine's only connection. */
  hot: Sql;
  pid: number;
  close(): Promise<void>;
}

/** Work to measure. It returns the number of rows that it handled. */
type Scenario = [name: string, times: number, work: (tables: Tables) => Promise<number>];

const rule = outcomeRule('COMPLETED', { retryLimit: 0, retryHandlerErrors: false });
const input = Buffer.from(INPUT);
const output = Buffer.from('{"ok":true}');
const slots = Array.from({ length: BATCH }, () => ({ workerId: 'workeraaaaaaaa', machineId: 'machine' }));

async function insert({ stores }: Tables): Promise<number> {
  const policy = { lowPriority: false, executionTimeoutMs: 600_000, retentionMs: 1_800_000, ttlMs: 86_400_000 };
  const placements = Array.from({ length: BATCH }, () => {
    const id = `${orderedUuid({ clock: systemClock, random: systemRandom })}-u1`;
    return {
      job: { endpointId: ENDPOINT, id, ...policy, input, webhookSealed: undefined, s3ConfigSealed: undefined },
      slot: undefined,
    };
  });
  return (await stores.submissions.insert(placements, randomUUID())).length;
}

/** Returns scenarios in which claims continue where the previous claim ended, as a replica's claims do. */
function claimsAndOutcomes(): [claim: Scenario[2], outcomes: Scenario[2]] {
  const places = new Map<Tables, number>();
  const held = new Map<Tables, { jobId: string; attempt: number }[]>();
  return [
    async (tables) => {
      const claims = await tables.stores.claims.claim({
        endpointId: ENDPOINT,
        slots,
        claimId: randomUUID(),
        afterNormal: places.get(tables) ?? 0,
        afterLow: 0,
        inputBytesMax: 65_536,
      });
      places.set(tables, Math.max(...claims.map(({ position }) => position)));
      held.set(tables, [
        ...(held.get(tables) ?? []),
        ...claims.map(({ job: { jobId, attempt } }) => ({ jobId, attempt })),
      ]);
      return claims.length;
    },
    async (tables) => {
      const batch = held
        .get(tables)!
        .splice(0, BATCH)
        .sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
      const entries = batch.map((key) => ({
        ...key,
        endpointId: ENDPOINT,
        machineId: 'machine',
        rule,
        output,
        error: undefined,
      }));
      return (await tables.stores.outcomes.record(entries)).length;
    },
  ];
}

const one = async (work: Promise<unknown>): Promise<number> => {
  await work;
  return 1;
};
const [claim, outcomes] = claimsAndOutcomes();
const SCENARIOS: Scenario[] = [
  ['insert of 500', 8, insert],
  ['claim of 500', 16, claim],
  ['outcomes of 500', 16, outcomes],
  ['GetHealth', 5, ({ stores }) => one(stores.counts.health(ENDPOINT))],
  ['look at the queue by a submission', 5, ({ stores }) => one(stores.counts.queued([ENDPOINT]))],
  [
    'list of 100',
    5,
    ({ stores }) => one(stores.jobs.list(ENDPOINT, { state: undefined, oldestFirst: false, offset: 0, limit: 100 })),
  ],
  [
    'list of 100 FAILED',
    5,
    ({ stores }) => one(stores.jobs.list(ENDPOINT, { state: 'FAILED', oldestFirst: false, offset: 0, limit: 100 })),
  ],
  [
    'list of 100 of a minute, ten minutes ago',
    5,
    ({ stores }) => {
      const submitted = { fromMs: systemClock.nowMs() - 660_000, untilMs: systemClock.nowMs() - 600_000 };
      return one(
        stores.jobs.list(ENDPOINT, { state: undefined, oldestFirst: false, submitted, offset: 0, limit: 100 }),
      );
    },
  ],
  ['reaping', 5, async ({ stores }) => (await stores.deletions.reapExpired(1_000)).deleted.length],
];

/** Fills a small and a large database and measures both in turn. */
export async function measureTables(bench: Bench): Promise<Figure[]> {
  const { tableJobs } = bench.options;
  bench.say(
    `tables of ${tableJobs.toLocaleString('en')} finished and ${(tableJobs / 10).toLocaleString('en')} queued jobs`,
  );
  const small = await openTables(bench, SMALL);
  const large = await openTables(bench, { finished: tableJobs, queued: tableJobs / 10, expired: 20_000 });
  try {
    const figures: Figure[] = [];
    for (const scenario of SCENARIOS) figures.push(...(await compare(bench, scenario, small, large)));
    return figures;
  } finally {
    await small.close();
    await large.close();
  }
}

async function compare(bench: Bench, [name, times, work]: Scenario, small: Tables, large: Tables): Promise<Figure[]> {
  const costs: [Cost[], Cost[]] = [[], []];
  for (let i = 0; i <= times; i += 1) {
    const [a, b] = [await measure(small, work), await measure(large, work)];
    // The first round is a warm-up: it makes plans and reads pages from disk that a service in use has in memory.
    if (i > 0) {
      costs[0].push(a);
      costs[1].push(b);
    }
  }
  const [few, many] = costs.map(middle) as [Cost, Cost];
  bench.say(`${name}: small ${costText(few)}; large ${costText(many)}`);
  const figure: Figure = {
    name: `${name}, large tables`,
    path: '',
    value: many.ms,
    unit: 'ms',
    cpu: { postgres: many.cpuUs },
  };
  const ratio: Figure = { name: `${name}, large over small`, path: '', value: many.ms / few.ms, unit: '×' };
  if (name.startsWith('claim')) return [figure, { ...ratio, target: CLAIM_RATIO_MAX }];
  if (name === 'reaping')
    return [{ ...figure, value: (many.rows / many.ms) * 1_000, unit: '/s', target: REAP_RATE_MIN }, ratio];
  if (name === 'GetHealth') return [{ ...figure, target: HEALTH_MS_MAX }, ratio];
  return [name.startsWith('list') ? { ...figure, target: LIST_MS_MAX } : figure, ratio];
}

function middle(costs: readonly Cost[]): Cost {
  const of = (field: keyof Cost): number => median(costs.map((cost) => cost[field]));
  // The kernel counts processor time in steps of 10 ms, so only the mean is meaningful.
  const mean = costs.reduce((sum, cost) => sum + cost.cpuUs, 0) / costs.length;
  return {
    ms: of('ms'),
    pages: of('pages'),
    read: of('read'),
    walBytes: of('walBytes'),
    cpuUs: mean,
    rows: of('rows'),
  };
}

function costText({ ms, pages, read, walBytes, cpuUs: cpu, rows }: Cost): string {
  const each = (value: number): string => (value / Math.max(rows, 1)).toFixed(1);
  return (
    `${ms.toFixed(1)} ms for ${rows}; each: pages ${each(pages)}, of them not in memory ${each(read)}, WAL ` +
    `${each(walBytes)} B, CPU ${each(cpu)} µs`
  );
}

async function measure(tables: Tables, work: Scenario[2]): Promise<Cost> {
  const before = await counted(tables);
  const startedMs = performance.now();
  const rows = await work(tables);
  const ms = performance.now() - startedMs;
  const after = await counted(tables);
  return {
    ms,
    rows,
    pages: after.pages - before.pages,
    read: after.read - before.read,
    walBytes: after.wal - before.wal,
    cpuUs: after.cpu - before.cpu,
  };
}

async function counted({ hot, pid }: Tables): Promise<{ pages: number; read: number; wal: number; cpu: number }> {
  await hot`SELECT pg_stat_force_next_flush()`;
  const [row] = await hot<{ pages: number; read: number; wal: number }[]>`
    SELECT blks_hit + blks_read AS pages, blks_read AS read, (pg_current_wal_insert_lsn() - '0/0')::bigint AS wal
    FROM pg_stat_database WHERE datname = current_database()`;
  return { ...row!, cpu: cpuUs(pid) };
}

async function openTables(bench: Bench, fill: Fill): Promise<Tables> {
  const name = `bench_${randomBytes(4).toString('hex')}`;
  const admin = postgres(bench.database.url, { max: 1 });
  await admin`CREATE DATABASE ${admin(name)}`;
  const logger = createLogger('bench', 'warn');
  const database = openDatabase(bench.database.url.replace(/\/[^/]*$/, `/${name}`), {
    logger,
    hotConnectionsMax: 1,
    connectionsMax: 1,
  });
  await migrate(database, logger);
  await fillTables(database.sql, ENDPOINT, fill);
  const [row] = await database.hot<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const close = async (): Promise<void> => {
    await database.close();
    await admin`DROP DATABASE ${admin(name)} WITH (FORCE)`;
    await admin.end();
  };
  // One connection for everything, so that one process has all the processor time.
  return {
    stores: makeStores({ ...database, sql: database.hot }, new Sealer('0'.repeat(64))),
    hot: database.hot,
    pid: row!.pid,
    close,
  };
}

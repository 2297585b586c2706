/** `npm run fleet`: fleets of several sizes, one after the other, and what grows with what; or scalers side by side. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type postgres from 'postgres';
import { queueLengthMax } from '../../core/domain/queue-limit.ts';
import { startDatabase } from '../bench/database.ts';
import type { Database } from '../bench/database.ts';
import { cpuUs, memoryMib } from '../bench/process-usage.ts';
import { waitFor } from '../helpers/wait-for.ts';
import { measureAtOnce, measureDecisions } from './decisions.ts';
import { Fleet, range } from './fleet.ts';
import type { FleetEndpoint } from './fleet.ts';
import { checkEnd, checkMoment, checkReplays } from './fleet-checks.ts';
import { HUNDREDTHS, quantilesOf } from './lengths.ts';
import type { FleetLengths } from './lengths.ts';
import { startMeasured } from './measured-core.ts';
import type { MeasuredCore } from './measured-core.ts';
import { statementTable } from './statement-table.ts';
import { matchRecorded, matchTable, matches, wins } from './scalers.ts';
import { LARGE_MODEL } from './traces.ts';

const HELP = `npm run fleet -- [options]

Simulates machines over the real session protocol against a real core and PostgreSQL, each in a process of its own, and prints what grows with what.

  --machines <n,n,…>   sizes, one after the other (default 25,50,100)
  --endpoints <n>      for each machine (default 1.5)
  --workers <n>        that there may be, for each machine (default 10)
  --jobs <n>           of a burst with Zipf load, for each machine (default 10), besides those that keep all workers busy before
  --starts <file>      recorded cold starts, one length in milliseconds a line, and
  --pulls <file>       of images; without these hundredths of usual ones
  --seed <n>           default 1
  --scalers            instead: the SLO scaler beside QUEUE_DELAY over modelled loads; exits 1 where it does not win
  --trace <file>       instead: the same over a recorded load, a job a line: when it was submitted and how long it ran, in milliseconds; or as several
                       are published (docs/performance.md), from whose tokens the length of a job is worked out
  --target <seconds>   of the SLO scaler there (default 10); --starts has its cold starts (without it some of 15 to 40 s)
  --only <text>        of the lines of that record only those that hold it
  --every <n>          one of so many of its jobs
  --from, --until <n>  a part of it, in minutes
  --statements <n>     print the n statements that PostgreSQL spent most on, too
  --profile <folder>   write what core's processor did there, for a browser's profiler
  --decisions <n>      instead: how soon a decision follows its condition at so many endpoints that sleep, and what that costs
  --cores <n>          replicas of core there, to which jobs and machines are spread (default 1)
  --at-once <n>        instead: the same when so many endpoints get their first job at once
  --help               this text
`;
/** Cold starts of a recorded load of which none were recorded, in milliseconds. */
const USUAL_STARTS = [15_000, 18_000, 20_000, 24_000, 40_000];
/** Longest that one step may take. */
const STEP_MS_MAX = 600_000;
/** So long without a further worker there are all that will be. */
const GROWN_MS = 10_000;
/** Pause between two looks of its own, which PostgreSQL pays for. */
const LOOK_MS = 200;

/** What a fleet came to. */
type Row = Record<string, string | number>;

async function measure(database: Database, machines: number, options: Options): Promise<Row> {
  const measured = await startMeasured(database, profiling(options.profile));
  const { core, sql, clients, rootKey } = measured;
  const { seed, lengths } = options;
  const size = { seed, lengths, machines, endpoints: Math.ceil(machines * options.endpoints), workers: machines * options.workers, accounts: 10 };
  const fleet = new Fleet({ addresses: () => [core().ready.address!], clients, rootKey, sql }, size);
  const count = async (what: string): Promise<number> => (await sql.unsafe(`SELECT count(*)::int AS n FROM ${what}`))[0]!.n as number;
  const steps = new Map<string, number>();
  const step = async (what: string, doing: () => Promise<unknown>): Promise<void> => {
    const began = performance.now();
    await doing();
    const seconds = (performance.now() - began) / 1_000;
    steps.set(what, seconds);
    process.stderr.write(`  ${what} ${seconds.toFixed(1)}\n`);
  };
  let peak = 0;
  const workers = async (): Promise<number> => {
    const now = await count('worker WHERE ended_at IS NULL');
    peak = Math.max(peak, now);
    return now;
  };
  const quiet = async (): Promise<boolean> => {
    await workers();
    fleet.release();
    fleet.faults.push(...await checkMoment(sql));
    return await count(`job WHERE state IN ('IN_QUEUE', 'IN_PROGRESS')`) === 0;
  };
  const connected = async (): Promise<boolean> => fleet.machines.every((machine) => machine.connected);
  try {
    await step('join s', async () => { await fleet.join(); await waitFor('all machines', connected, STEP_MS_MAX); });
    await step('deploy s', () => fleet.deploy());
    const before = { core: cpuUs(core().pid), postgres: cpuUs(database.pid) };
    // As many as keep all workers that there may be busy, and one more for each endpoint; they end when the rest has been submitted.
    const held = fleet.endpoints.flatMap((endpoint) => range(endpoint.workersMax + 1).map(() => endpoint));
    const zipf = fitting(fleet.zipf(Math.ceil(machines * options.jobs)), held);
    await step('submit s', () => fleet.submit(held, { hold: true }));
    await step('all workers s', () => grown(workers));
    await step('submit more s', () => fleet.submit(zipf));
    fleet.release();
    await step('all ended s', () => waitFor('all jobs to end', quiet, STEP_MS_MAX, LOOK_MS));
    await fleet.thaw();
    await step('zero s', () => waitFor('zero', async () => await workers() === 0, STEP_MS_MAX, LOOK_MS));
    const used = { core: cpuUs(core().pid) - before.core, postgres: cpuUs(database.pid) - before.postgres };
    const seconds = [...steps].filter(([what]) => what !== 'join s' && what !== 'deploy s').reduce((sum, [, each]) => sum + each, 0);
    const memory = memoryMib(core().pid).peak;
    if (options.statements > 0) process.stderr.write(`${await statementTable(sql, options.statements)}\n`);
    await step('restart s', measured.restart);
    const sessionsBefore = fleet.count('sessions');
    await step('reconnect s', () => waitFor('all machines again', connected, STEP_MS_MAX));
    const { decisions, faults } = await checkReplays(sql);
    const wrong = [...fleet.faults, ...await checkEnd(sql), ...faults];
    for (const fault of wrong) process.stderr.write(`FAULT: ${fault}\n`);
    return {
      machines, endpoints: size.endpoints, jobs: held.length + zipf.length, 'workers at once': peak,
      'workers in all': fleet.count('started'),
      ...Object.fromEntries([...steps].map(([what, seconds]) => [what, seconds.toFixed(1)])), decisions,
      'sessions tried': fleet.count('sessions') - sessionsBefore, 'core CPU %': ((used.core / 1e4) / seconds).toFixed(0),
      'core CPU s': (used.core / 1e6).toFixed(1), 'PostgreSQL CPU s': (used.postgres / 1e6).toFixed(1), 'core MiB': Math.round(memory), faults: wrong.length,
    };
  } catch (error) {
    process.stderr.write(`${await leftWorkers(sql)}\n`);
    throw error;
  } finally {
    fleet.stop();
    await measured.stop();
  }
}

/** Waits until there are no more of them than there were a while ago: some find no place. */
async function grown(count: () => Promise<number>): Promise<void> {
  let most = 0;
  let sinceMs = performance.now();
  await waitFor('all workers', async () => {
    const now = await count();
    if (now > most) [most, sinceMs] = [now, performance.now()];
    return performance.now() - sinceMs > GROWN_MS;
  }, STEP_MS_MAX, LOOK_MS);
}

/** Without those that a queue would refuse beside what is in it: the busiest of thousands of endpoints gets a tenth of all jobs. */
function fitting(jobs: readonly FleetEndpoint[], before: readonly FleetEndpoint[]): FleetEndpoint[] {
  const counts = new Map(Map.groupBy(before, ({ id }) => id).entries().map(([id, { length }]) => [id, length]));
  return jobs.filter(({ id, workersMax }) => {
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts.get(id)! <= queueLengthMax(workersMax);
  });
}

/** Workers that have not ended, one a line: what a fleet that does not come to rest waits for. */
async function leftWorkers(sql: postgres.Sql): Promise<string> {
  const rows = await sql<{ text: string }[]>`
    SELECT concat_ws(' ', w.id, w.machine_id, w.endpoint_id, w.desired, w.state, w.reason) AS text FROM worker w WHERE w.ended_at IS NULL LIMIT 20`;
  return ['workers that are left:', ...rows.map(({ text }) => text)].join('\n');
}

interface Options {
  machines: number[];
  endpoints: number;
  workers: number;
  jobs: number;
  seed: number;
  lengths: FleetLengths;
  /** The costliest that are printed. */
  statements: number;
  profile: string | undefined;
}

/** One column a fleet, one line a figure. */
function table(rows: readonly Row[]): string {
  const names = Object.keys(rows[0] ?? {});
  const width = Math.max(...names.map((name) => name.length));
  return names.map((name) => [name.padEnd(width), ...rows.map((row) => String(row[name]).padStart(9))].join('  ')).join('\n');
}

async function main(): Promise<void> {
  const option = { type: 'string' } as const;
  const { values } = parseArgs({ options: {
    machines: option, endpoints: option, workers: option, jobs: option, seed: option, starts: option, pulls: option,
    trace: option, target: option, only: option, every: option, from: option, until: option,
    decisions: option, cores: option, 'at-once': option, statements: option, profile: option,
    scalers: { type: 'boolean' }, help: { type: 'boolean' },
  } });
  if (values.help) return console.log(HELP);
  const seed = positive('--seed', values.seed, 1);
  if (values.trace !== undefined) {
    const starts = values.starts === undefined ? USUAL_STARTS : quantilesOf(readFileSync(values.starts, 'utf8'));
    const minutes = (name: 'from' | 'until', fallback: number): number => (values[name] === undefined ? fallback : Number(values[name]) * 60_000);
    const every = positive('--every', values.every, 1);
    const cut = { only: values.only ?? '', every, offset: 0, fromMs: minutes('from', 0), untilMs: minutes('until', Infinity) };
    const match = matchRecorded(readFileSync(values.trace, 'utf8'), starts, { seed, target: positive('--target', values.target, 10), cut });
    if (!wins(match)) process.exitCode = 1;
    return console.log(matchTable([match]));
  }
  if (values.scalers) {
    const seeds = [seed, seed + 1, seed + 2];
    const [usual, large] = [matches(seeds), matches(seeds, LARGE_MODEL)];
    if (![...usual, ...large].every(wins)) process.exitCode = 1;
    return console.log(`Jobs of 6 s, starts of 20 s\n${matchTable(usual)}\n\nJobs of 2 s, starts of 60 s\n${matchTable(large)}`);
  }
  const machines = (values.machines ?? '25,50,100').split(',').map((text) => positive('--machines', text, 1));
  const options = {
    machines, seed, endpoints: positive('--endpoints', values.endpoints, 1.5), workers: positive('--workers', values.workers, 10),
    jobs: positive('--jobs', values.jobs, 10), lengths: { ...HUNDREDTHS, ...recorded('startMs', values.starts), ...recorded('pullMs', values.pulls) },
    statements: values.statements === undefined ? 0 : positive('--statements', values.statements, 0), profile: values.profile,
  };
  const database = await startDatabase(options.statements > 0 ? { shared_preload_libraries: 'pg_stat_statements' } : {});
  const rows: Row[] = [];
  try {
    const atOnce = values['at-once'];
    if (atOnce !== undefined) {
      return await printed(database, options, (core) => measureAtOnce(core, database.pid, positive('--at-once', atOnce, 500), seed));
    }
    if (values.decisions !== undefined) {
      const cores = positive('--cores', values.cores, 1);
      return await printed(database, options, (core) => measureDecisions(core, positive('--decisions', values.decisions, 1_000), seed), cores);
    }
    for (const size of machines) {
      process.stderr.write(`· ${size} machines\n`);
      rows.push(await measure(database, size, options));
    }
    console.log(table(rows));
  } finally {
    await database.stop();
  }
  if (rows.some(({ faults }) => faults !== 0)) process.exitCode = 1;
}

/** Prints what is measured at a core of its own, or several of them. */
async function printed(database: Database, { statements, profile }: Options, measure: (core: MeasuredCore) => Promise<string>, cores = 1): Promise<void> {
  const measured = await startMeasured(database, profiling(profile), cores);
  try {
    console.log(await measure(measured));
    if (statements > 0) console.log(await statementTable(measured.sql, statements));
  } finally {
    await measured.stop();
  }
}

function profiling(folder: string | undefined): string[] {
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];
}

function recorded(name: keyof FleetLengths, file: string | undefined): Partial<FleetLengths> {
  return file === undefined ? {} : { [name]: quantilesOf(readFileSync(file, 'utf8')), ...(name === 'startMs' && { speed: 1 }) };
}

function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!(value > 0)) throw new Error(`${name} must be a number above 0`);
  return value;
}

await main();

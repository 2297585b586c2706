/**
 * Measures a fleet of one size on a core of its own: scale up to all workers, a killed core, the last job, and scale to
 * zero.
 */

import { queueLengthMax } from '@slipway/core/domain/jobs/queue-limit';
import type { Database } from '@slipway/tools/bench/database';
import { cpuUs, memoryMib } from '@slipway/tools/bench/load/process-usage';
import type postgres from 'postgres';
import { statementTable } from '../helpers/db/statement-table.ts';
import { range } from '../helpers/many.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { Fleet } from './fleet.ts';
import { checkEnd, checkMoment, checkReplays } from './fleet-checks.ts';
import type { FleetCore, FleetEndpoint } from './fleet-options.ts';
import { checkWaiting, leftWorkers, waitingJobs } from './fleet-truth.ts';
import type { FleetLengths } from './lengths.ts';
import { startMeasured } from './measured-core.ts';

/** Size, and what else to print. */
export interface FleetMeasures {
  /** Per machine. */
  endpoints: number;
  /** Per machine. */
  workers: number;
  /** Per machine. */
  jobs: number;
  seed: number;
  lengths: FleetLengths;
  /** Number of most expensive statements to print. */
  statements: number;
  /** Folder for CPU profiles of core. */
  profile: string | undefined;
}

/** Figures of a fleet. */
export type Row = Record<string, string | number>;

/** Timeout of one step. */
const STEP_MS_MAX = 600_000;
/** After this time without a further worker the number is final. */
const GROWN_MS = 10_000;
/** Pause between two checks, which load PostgreSQL. */
const LOOK_MS = 200;
/**
 * Jobs that are explained while all workers are busy, spread over all waiting ones: core pays for each as for a user's.
 */
const EXPLAINED_MAX = 500;
const ACCOUNTS = 10;

/** Measures a fleet. */
export async function measureFleet(database: Database, machines: number, options: FleetMeasures): Promise<Row> {
  const measured = await startMeasured(database, options.profile);
  const { core, sql, clients, rootKey } = measured;
  const { seed, lengths } = options;
  const size = {
    seed,
    lengths,
    machines,
    endpoints: Math.ceil(machines * options.endpoints),
    workers: machines * options.workers,
    accounts: ACCOUNTS,
  };
  const parts: FleetCore = { addresses: () => [core().ready.address!], clients, rootKey, sql };
  const fleet = new Fleet(parts, size);
  const steps = new Steps();
  const workers = new Workers(sql);
  const used = new Used(() => ({ core: core().pid, postgres: database.pid }));
  const connected = async (): Promise<boolean> => fleet.machines.every((machine) => machine.connected);
  /** Checked all along: a violation is a fault of the fleet. */
  const look = async (): Promise<number> => {
    fleet.faults.push(...(await checkMoment(sql)));
    return workers.count();
  };
  try {
    await steps.take('join', async () => {
      await fleet.join();
      await waitFor('all machines', connected, STEP_MS_MAX);
    });
    await steps.take('deploy', () => fleet.deploy());
    used.begin();
    // Enough jobs to keep all workers busy, and one more per endpoint. They end after the rest was submitted.
    const held = fleet.endpoints.flatMap((endpoint) => range(endpoint.workersMax + 1).map(() => endpoint));
    const zipf = fitting(fleet.zipf(Math.ceil(machines * options.jobs)), held);
    await steps.take('submit', () => fleet.submit(held, { hold: true }));
    await steps.take('all workers', () => grown(look));
    await steps.take('submit more', () => fleet.submit(zipf));
    used.end();
    const explained = await steps.take('explain', () => explainSome(fleet, parts));
    const sessions = fleet.count('sessions');
    await steps.take('restart', measured.restart);
    await steps.take('reconnect', () => waitFor('all machines again', connected, STEP_MS_MAX));
    const tried = fleet.count('sessions') - sessions;
    used.begin();
    const ended = async (): Promise<boolean> => {
      await look();
      fleet.release();
      return (await open(sql)) === 0;
    };
    await steps.take('all ended', () => waitFor('all jobs to end', ended, STEP_MS_MAX, LOOK_MS));
    await fleet.thaw();
    await steps.take('zero', () => waitFor('zero', async () => (await look()) === 0, STEP_MS_MAX, LOOK_MS));
    used.end();
    if (options.statements > 0) process.stderr.write(`${await statementTable(sql, options.statements)}\n`);
    const { decisions, faults } = await checkReplays(sql);
    const wrong = [...fleet.faults, ...(await checkEnd(sql)), ...faults];
    for (const fault of wrong) process.stderr.write(`FAULT: ${fault}\n`);
    return {
      machines,
      endpoints: size.endpoints,
      jobs: held.length + zipf.length,
      'workers at once': workers.peak,
      'workers in all': fleet.count('started'),
      ...steps.shown(),
      decisions,
      'jobs explained': explained,
      'sessions tried': tried,
      ...used.shown(),
      faults: wrong.length,
    };
  } catch (error) {
    process.stderr.write(`${await leftWorkers(fleet, sql)}\n`);
    throw error;
  } finally {
    fleet.stop();
    await measured.stop();
  }
}

/** Steps with their durations, printed as they end. */
class Steps {
  readonly #took = new Map<string, number>();

  async take<Result>(what: string, doing: () => Promise<Result>): Promise<Result> {
    const began = performance.now();
    const result = await doing();
    const seconds = (performance.now() - began) / 1_000;
    this.#took.set(`${what} s`, seconds);
    process.stderr.write(`  ${what} ${seconds.toFixed(1)} s\n`);
    return result;
  }

  shown(): Row {
    return Object.fromEntries([...this.#took].map(([what, seconds]) => [what, seconds.toFixed(1)]));
  }
}

/** Living workers. */
class Workers {
  readonly #sql: postgres.Sql;
  peak = 0;

  constructor(sql: postgres.Sql) {
    this.#sql = sql;
  }

  async count(): Promise<number> {
    const now = (await this.#sql`SELECT count(*)::int AS n FROM worker WHERE ended_at IS NULL`)[0]!.n as number;
    this.peak = Math.max(this.peak, now);
    return now;
  }
}

/** CPU use of core and PostgreSQL over some periods. Core may be another process in each. */
class Used {
  readonly #pids: () => { core: number; postgres: number };
  #before = { core: 0, postgres: 0, ms: 0 };
  #sum = { core: 0, postgres: 0, ms: 0 };
  #memory = 0;

  constructor(pids: () => { core: number; postgres: number }) {
    this.#pids = pids;
  }

  begin(): void {
    this.#before = this.#now();
  }

  end(): void {
    const now = this.#now();
    for (const name of ['core', 'postgres', 'ms'] as const) this.#sum[name] += now[name] - this.#before[name];
    this.#memory = Math.max(this.#memory, memoryMib(this.#pids().core).peak);
  }

  shown(): Row {
    const { core, postgres, ms } = this.#sum;
    return {
      'core CPU %': (core / 10 / ms).toFixed(0),
      'core CPU s': (core / 1e6).toFixed(1),
      'PostgreSQL CPU s': (postgres / 1e6).toFixed(1),
      'core MiB': Math.round(this.#memory),
    };
  }

  #now(): { core: number; postgres: number; ms: number } {
    const { core, postgres } = this.#pids();
    return { core: cpuUs(core), postgres: cpuUs(postgres), ms: performance.now() };
  }
}

async function open(sql: postgres.Sql): Promise<number> {
  return (await sql`SELECT count(*)::int AS n FROM job WHERE state IN ('IN_QUEUE', 'IN_PROGRESS')`)[0]!.n as number;
}

/** Returns the number of explained jobs. */
async function explainSome(fleet: Fleet, parts: FleetCore): Promise<number> {
  const waiting = await waitingJobs(parts);
  const each = Math.ceil(waiting.length / EXPLAINED_MAX);
  return checkWaiting(
    fleet,
    parts,
    waiting.filter((_, place) => place % each === 0),
  );
}

/** Waits until their number no longer grows, as some cannot be placed. */
async function grown(count: () => Promise<number>): Promise<void> {
  let most = 0;
  let sinceMs = performance.now();
  await waitFor(
    'all workers',
    async () => {
      const now = await count();
      if (now > most) [most, sinceMs] = [now, performance.now()];
      return performance.now() - sinceMs > GROWN_MS;
    },
    STEP_MS_MAX,
    LOOK_MS,
  );
}

/** Leaves out jobs that a full queue would reject: the busiest of thousands of endpoints gets a tenth of all jobs. */
function fitting(jobs: readonly FleetEndpoint[], before: readonly FleetEndpoint[]): FleetEndpoint[] {
  const counts = new Map(
    Map.groupBy(before, ({ id }) => id)
      .entries()
      .map(([id, { length }]) => [id, length]),
  );
  return jobs.filter(({ id, workersMax }) => {
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts.get(id)! <= queueLengthMax(workersMax);
  });
}

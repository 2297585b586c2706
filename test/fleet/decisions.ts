/**
 * `npm run fleet -- --decisions`: how soon a decision follows its condition, and its cost. Jobs arrive at one idle
 * endpoint after the other of a thousand. Measured from submission to the decision that adds a worker, by the
 * database's clock. Then other conditions, beside the same thousand.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { cpuUs } from '@slipway/tools/bench/load/process-usage';
import type postgres from 'postgres';
import { waitFor } from '../helpers/time/wait-for.ts';
import { measureConditions } from './conditions.ts';
import { Fleet } from './fleet.ts';
import type { MeasuredCore } from './measured-core.ts';

/** Machines, and arrivals per second. */
const MACHINES = 20;
const JOBS_PER_SECOND = 10;
const SECONDS = 20;

const END_MS_MAX = 120_000;
const LOOK_MS = 200;
/** Endpoints whose first jobs arrive at once; each finds capacity for a worker. */
const AT_ONCE_WORKERS_EACH = 4;

/**
 * Measures decisions. Returns one line per figure, with several replicas of each and of all. Jobs are submitted round
 * robin, and machines connect to any replica.
 */
export async function measureDecisions(measured: MeasuredCore, endpoints: number, seed: number): Promise<string> {
  const { replicas, clients, rootKey, sql } = measured;
  const cores = replicas();
  const parts = { addresses: () => cores.map(({ core }) => core.ready.address!), clients, rootKey, sql };
  const fleet = new Fleet(parts, { seed, machines: MACHINES, endpoints, workers: MACHINES * 10, accounts: 10 });
  const used = (): number[] => cores.map(({ core }) => cpuUs(core.pid));
  try {
    await fleet.join();
    await fleet.deploy();
    const before = used();
    const idleFrom = performance.now();
    await pause(SECONDS * 1_000);
    const idle = percents(before, used(), idleFrom);
    const [from, began] = [used(), performance.now()];
    const submitted: Promise<string[]>[] = [];
    for (let n = 0; n < SECONDS * JOBS_PER_SECOND; n += 1) {
      submitted.push(fleet.submit([fleet.endpoints[(n * 7) % endpoints]!], {}, cores[n % cores.length]!.clients));
      await pause(Math.max(began + ((n + 1) * 1_000) / JOBS_PER_SECOND - performance.now(), 0));
    }
    const ids = (await Promise.all(submitted)).flat();
    const busy = percents(from, used(), began);
    await waitFor(
      'all to be decided',
      async () =>
        (
          await sql`
      SELECT FROM job j WHERE j.id = ANY(${ids}) AND NOT EXISTS (
        SELECT FROM scale_log l WHERE l.endpoint_id = j.endpoint_id AND l.decided_at >= j.submitted_at
          AND l.target > 0)`
        ).length === 0,
      END_MS_MAX,
      LOOK_MS,
    );
    const each =
      cores.length === 1
        ? []
        : await Promise.all(
            cores.map(
              async (_, place) =>
                `· submitted to replica ${place + 1}: ${await untilDecided(
                  sql,
                  ids.filter((_id, n) => n % cores.length === place),
                )}`,
            ),
          );
    return [
      `${endpoints} sleeping endpoints: core takes ${idle}`,
      `${JOBS_PER_SECOND} first jobs a second: ${busy} in all, with their jobs, workers and sessions`,
      await untilDecided(sql),
      ...each,
      ...(await measureConditions(measured, fleet)),
    ].join('\n');
  } finally {
    fleet.stop();
  }
}

/** Returns CPU use since then: of all processes, and of each if there are several. */
function percents(before: readonly number[], after: readonly number[], sinceMs: number): string {
  const seconds = (performance.now() - sinceMs) / 1_000;
  const each = after.map((us, place) => (us - before[place]!) / 1e4 / seconds);
  const all = `${each.reduce((sum, one) => sum + one, 0).toFixed(1)} % of a processor`;
  return each.length === 1 ? all : `${all} (${each.map((one) => `${one.toFixed(1)} %`).join(', ')})`;
}

/** Measures this many first jobs at once, because costs per endpoint delay all others. Returns one line per figure. */
export async function measureAtOnce(
  { core, clients, rootKey, sql }: MeasuredCore,
  postgresPid: number,
  endpoints: number,
  seed: number,
): Promise<string> {
  const parts = { addresses: () => [core().ready.address!], clients, rootKey, sql };
  const machines = Math.ceil(endpoints / AT_ONCE_WORKERS_EACH);
  const fleet = new Fleet(parts, {
    seed,
    machines,
    endpoints,
    workers: endpoints * AT_ONCE_WORKERS_EACH,
    accounts: 10,
  });
  try {
    await fleet.join();
    await fleet.deploy();
    const from = [cpuUs(core().pid), cpuUs(postgresPid)] as const;
    const began = performance.now();
    await fleet.submit(fleet.endpoints);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    const open = async (): Promise<boolean> =>
      (await sql`SELECT FROM job WHERE state IN ('IN_QUEUE', 'IN_PROGRESS') LIMIT 1`).length > 0;
    await waitFor('all jobs to end', async () => !(await open()), END_MS_MAX, LOOK_MS);
    const all = ((performance.now() - began) / 1_000).toFixed(1);
    const cpu = (pid: number, before: number): string => ((cpuUs(pid) - before) / 1e6).toFixed(1);
    return [
      `${endpoints} first jobs at once on ${machines} machines: submitted within ${seconds} s, ended within ${all} s`,
      `core ${cpu(core().pid, from[0])} s and PostgreSQL ${cpu(postgresPid, from[1])} s of a processor`,
      await untilDecided(sql),
    ].join('\n');
  } finally {
    fleet.stop();
  }
}

/** `jobIds`: only these. */
async function untilDecided(sql: postgres.Sql, jobIds?: readonly string[]): Promise<string> {
  const only = jobIds === undefined ? sql`true` : sql`j.id = ANY(${[...jobIds]})`;
  const [row] = await sql<{ jobs: number; half: number; most: number; all: number }[]>`
    SELECT count(*)::int AS jobs, percentile_disc(0.5) WITHIN GROUP (ORDER BY ms)::int AS half, percentile_disc(0.95)
      WITHIN GROUP (ORDER BY ms)::int AS most,
      max(ms)::int AS all FROM (
      SELECT extract(epoch FROM min(l.decided_at) - j.submitted_at) * 1000 AS ms FROM job j
        JOIN scale_log l ON l.endpoint_id = j.endpoint_id
        AND l.decided_at >= j.submitted_at AND l.target > 0 WHERE ${only} GROUP BY j.id, j.submitted_at) decided`;
  return (
    `from a job to its decision: half within ${row!.half} ms, 95 of 100 within ${row!.most} ms, all ${row!.jobs} ` +
    `within ${row!.all} ms`
  );
}

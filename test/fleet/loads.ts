/** Loads of a fleet in realistic shapes, and their results: shared by the test and `npm run fleet -- --loads`. */
import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { range } from '../helpers/many.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import type { Fleet } from './fleet.ts';
import type { FleetEndpoint } from './fleet-options.ts';

/** A rate of jobs over some time. */
export interface Offer {
  seconds: number;
  /** Jobs per second at this share of the time. */
  perSecond(share: number): number;
  /** Returns the endpoints of the next jobs. */
  pick(count: number): FleetEndpoint[];
}

const TICK_MS = 50;
/** Milliseconds between two jobs of a trickle. */
const TRICKLE_MS = 20;
const LOOK_MS = 250;
/** Share of a Zipf load's endpoints that are the head; half of them are the tail. */
const HEAD_SHARE = 1 / 60;

/** Submits jobs at a rate that does not depend on previous ones. Returns their ids. */
export async function offer(fleet: Fleet, { seconds, perSecond, pick }: Offer): Promise<string[]> {
  const submitted: Promise<string[]>[] = [];
  const began = performance.now();
  for (let [share, due] = [0, 0]; share < 1; ) {
    await pause(TICK_MS);
    const now = Math.min((performance.now() - began) / 1_000 / seconds, 1);
    due += perSecond((share + now) / 2) * (now - share) * seconds;
    share = now;
    if (due < 1) continue;
    const submission = fleet.submit(pick(Math.floor(due)));
    // The caller that awaits all submissions sees the failure.
    submission.catch(() => undefined);
    submitted.push(submission);
    due %= 1;
  }
  return (await Promise.all(submitted)).flat();
}

/**
 * Submits jobs sequentially, one at a time, of accounts with little load. Returns the 95th percentile of waits in ms.
 * Endpoints with an image are left out: pulls take up to four seconds, and chance would decide.
 */
export async function trickle(fleet: Fleet, sql: postgres.Sql, jobs: number, patienceMs: number): Promise<number> {
  const small = fleet.endpoints.filter(
    (endpoint) => endpoint.accountId !== fleet.endpoints[0]!.accountId && !endpoint.image,
  );
  const ids: string[] = [];
  for (const _ of range(jobs)) {
    ids.push(...(await fleet.submit([fleet.random.one(small)])));
    await pause(TRICKLE_MS);
  }
  await ended(sql, ids, patienceMs);
  return (await waitsOf(fleet, sql, ids)).p95Ms;
}

/** Submits a flood of jobs to all endpoints of the first account in rounds. */
export function floodOf(fleet: Fleet, jobs: number): FleetEndpoint[] {
  const own = fleet.endpoints.filter(({ accountId }) => accountId === fleet.endpoints[0]!.accountId);
  return range(jobs).map((place) => own[place % own.length]!);
}

/** Waits until all of these have ended. */
export async function ended(sql: postgres.Sql, ids: readonly string[], patienceMs: number): Promise<void> {
  await waitFor(
    `${ids.length} jobs to end`,
    async () =>
      (await sql`SELECT FROM job WHERE id = ANY(${[...ids]}) AND state IN ('IN_QUEUE', 'IN_PROGRESS') LIMIT 1`)
        .length === 0,
    patienceMs,
    LOOK_MS,
  );
}

/**
 * Counts successful jobs, and returns the median and 95th percentile of waits. Jobs on slow machines (one in twenty)
 * are left out of the waits.
 */
export async function waitsOf(
  fleet: Fleet,
  sql: postgres.Sql,
  ids: readonly string[],
): Promise<{ completed: number; halfMs: number; p95Ms: number }> {
  const [row] = await sql<{ completed: number; half: number; most: number }[]>`
    SELECT (SELECT count(*)::int FROM job WHERE id = ANY(${[...ids]}) AND state = 'COMPLETED') AS completed,
      coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY ms), 0)::int AS half,
      coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY ms), 0)::int AS most
    FROM (
      SELECT extract(epoch FROM started_at - submitted_at) * 1000 AS ms FROM job
        LEFT JOIN worker w ON w.id = job.worker_id
      WHERE job.id = ANY(${[...ids]}) AND (w.machine_id IS NULL OR w.machine_id <> ALL(${fleet.slowIds()}))) waited`;
  return { completed: row!.completed, halfMs: row!.half, p95Ms: row!.most };
}

/** How workers follow a load that differs between endpoints. */
export interface Followed {
  /** Mean number of workers of a head endpoint and of a tail endpoint. */
  head: number;
  tail: number;
  /** Share of checks at which a tail endpoint had no worker. */
  asleep: number;
}

/** Counts workers of each endpoint at intervals during a load. */
export async function followed<Result>(
  fleet: Fleet,
  sql: postgres.Sql,
  load: Promise<Result>,
): Promise<Followed & { result: Result }> {
  const places = new Map(fleet.endpoints.map(({ id }, place) => [id, place]));
  const [head, tail] = [Math.ceil(fleet.endpoints.length * HEAD_SHARE), Math.ceil(fleet.endpoints.length / 2)];
  const sums = { head: 0, tail: 0, awake: 0, looks: 0 };
  let over = false;
  const done = load.finally(() => {
    over = true;
  });
  done.catch(() => undefined);
  while (!over) {
    await pause(LOOK_MS);
    const rows = await sql<{ id: string; n: number }[]>`
      SELECT endpoint_id AS id, count(*)::int AS n FROM worker WHERE ended_at IS NULL AND desired = 'RUN' GROUP BY 1`;
    sums.looks += 1;
    for (const { id, n } of rows) {
      const place = places.get(id) ?? 0;
      if (place < head) sums.head += n;
      if (place < fleet.endpoints.length - tail) continue;
      sums.tail += n;
      sums.awake += 1;
    }
  }
  const each = (sum: number, endpoints: number): number => sum / Math.max(sums.looks, 1) / endpoints;
  return {
    result: await done,
    head: each(sums.head, head),
    tail: each(sums.tail, tail),
    asleep: 1 - each(sums.awake, tail),
  };
}

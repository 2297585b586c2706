// test: postgres, 70 s
/**
 * A fleet of 40 machines, 200 endpoints and 400 workers: a trickle, a flood, a steady Zipf load, a burst from zero,
 * faults, drains and a ramp, on two replicas of which one stops. SLIPWAY_TEST_FLEET is another number of machines;
 * `npm run fleet -- --loads` runs the same loads for longer, and compares times.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import t from 'tap';
import { range } from '../helpers/many.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { SEED } from '../helpers/time/seeded-random.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { Convergence } from './convergence.ts';
import { checkDrains } from './drains.ts';
import { Fleet } from './fleet.ts';
import { checkCauses } from './fleet-causes.ts';
import { checkEnd, checkMoment, checkReplays } from './fleet-checks.ts';
import type { WaitingJob } from './fleet-truth.ts';
import { checkWaiting, leftWorkers, waitingJobs } from './fleet-truth.ts';
import { floodOf, followed, offer, trickle, waitsOf } from './loads.ts';

t.setTimeout(600_000);

const core = await startReplicas(t, 2);
let replicas = core.replicas.slice(0, 2);
/** Number of machines, which everything else scales with: 40 have 200 endpoints and 400 workers. */
const machines = Number(process.env.SLIPWAY_TEST_FLEET ?? 40);
const SIZE = { machines, endpoints: machines * 5, workers: machines * 10 };
const parts = {
  addresses: () => replicas.map(({ address }) => address),
  clients: core.clients,
  rootKey: core.rootKey,
  sql: core.sql,
};
/** Milliseconds for which machines may differ from core. A busy machine takes its time to tell and to be told. */
const LATE_MS_MAX = 60_000;
const fleet = new Fleet(parts, { seed: SEED, ...SIZE, accounts: 12 });
const convergence = new Convergence(fleet, core.sql, { lateMsMax: LATE_MS_MAX });
t.teardown(() => fleet.stop());
const began = Date.now();
const said = (text: string): void => {
  t.comment(`${((Date.now() - began) / 1_000).toFixed(1)} s: ${text}`);
};
/** Jobs of small accounts, with and without a flood. */
const TRICKLE = 30;
const PATIENCE_MS = 150_000;
const PAUSE_MS = 500;
/** Pause between two checks of everything. */
const LOOK_MS = 2_000;
/** Waiting jobs that are explained at each check, and of a burst. */
const EXPLAINED_AT_ONCE = 8;
const EXPLAINED_OF_BURST = 100;
/** Jobs per second of the steady load and at the end of the ramp, and the duration of each in seconds. */
const STEADY = { perSecond: machines * 0.4, seconds: 10 };
const RAMP = { perSecond: machines * 0.3, seconds: 5 };
/** Workers of an endpoint of the head for each of the tail. A busy machine lets idle ones stay for longer. */
const HEAD_TIMES_MIN = 4;
/** Share of checks at which endpoints must match their decision: a worker may end or crash between two reconciles. */
const EXACT_SHARE_MIN = 0.7;

const open = async (): Promise<number> =>
  (await core.sql`SELECT count(*)::int AS n FROM job WHERE state IN ('IN_QUEUE', 'IN_PROGRESS')`)[0]!.n as number;
const workers = async (): Promise<number> =>
  (await core.sql`SELECT count(*)::int AS n FROM worker WHERE ended_at IS NULL`)[0]!.n as number;
const frozen = async (): Promise<number> =>
  (await core.sql`SELECT count(*)::int AS n FROM worker WHERE ended_at IS NULL AND desired = 'FREEZE'`)[0]!.n as number;
/** Returns about so many of the jobs: the first, and others at equal distances; `from` chooses which. */
const some = (jobs: readonly WaitingJob[], count: number, from = 0): WaitingJob[] =>
  jobs.filter((_, place) => (place + from) % Math.ceil(jobs.length / count) === 0);
/** Checks that waiting jobs of all endpoints are explained truly. */
const explainMany = async (t: Test, when: string): Promise<void> => {
  const jobs = await waitingJobs(parts);
  const explained = await checkWaiting(fleet, parts, some(jobs, EXPLAINED_OF_BURST));
  said(`${when} ${jobs.length} jobs waited, ${explained} did when they were explained`);
  t.ok(explained > 0, `${explained} jobs were explained ${when}`);
};

/** Waits until all jobs have ended. Those that are held may end. */
async function waitForEnd(): Promise<void> {
  await waitFor(
    'all jobs to end',
    async () => {
      fleet.release();
      return (await open()) === 0;
    },
    PATIENCE_MS,
    PAUSE_MS,
  );
}

/** Waits until only standby workers are left. Reports the others if that takes too long. */
async function waitForZero(): Promise<void> {
  try {
    await waitFor('zero', async () => (await workers()) === (await frozen()), PATIENCE_MS, PAUSE_MS);
  } catch (error) {
    t.comment(await leftWorkers(fleet, core.sql));
    throw error;
  }
}

/** Checks everything until it is stopped. */
async function watch(signal: AbortSignal): Promise<{ peak: number; explained: number }> {
  let [peak, explained] = [0, 0];
  for (let n = 0; !signal.aborted; n += 1) {
    fleet.faults.push(...(await checkMoment(core.sql, fleet.lowered)));
    await convergence.look();
    // Others each time.
    explained += await checkWaiting(fleet, parts, some(await waitingJobs(parts), EXPLAINED_AT_ONCE, n));
    peak = Math.max(peak, await workers());
    await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
  return { peak, explained };
}

await fleet.join();
await waitFor(
  'all machines',
  async () => (await core.sql`SELECT FROM machine WHERE session_id IS NOT NULL`).length === SIZE.machines,
  PATIENCE_MS,
  PAUSE_MS,
);
said(`${SIZE.machines} machines joined`);
await fleet.deploy();
await fleet.setQuotas();
said(`${SIZE.endpoints} endpoints deployed`);
const stopping = new AbortController();
const watching = watch(stopping.signal);

t.test('waiting jobs are explained by their true cause', async (t) => {
  t.same(await checkCauses(fleet, parts, (what, check) => waitFor(what, check, PATIENCE_MS)), []);
  said('causes are named');
});

t.test('one account floods its endpoints: others keep their service throughout', async (t) => {
  const quietMs = await trickle(fleet, core.sql, TRICKLE, PATIENCE_MS);
  const flood = await fleet.submit(floodOf(fleet, SIZE.workers / 2), { hold: true });
  const waiting = async (): Promise<number> =>
    (await core.sql`SELECT FROM job WHERE id = ANY(${flood}) AND state = 'IN_QUEUE'`).length;
  await waitFor('the flood to have workers', async () => (await waiting()) < flood.length, PATIENCE_MS, PAUSE_MS);
  const floodedMs = await trickle(fleet, core.sql, TRICKLE, PATIENCE_MS);
  t.ok((await waiting()) > 0, 'all of the small ones have ended, and of the flood some still wait');
  said(`95 of 100 waited ${quietMs} ms at most, and ${floodedMs} ms beside a flood`);
  await waitForEnd();
});

t.test('a steady Zipf load: all jobs end, and workers follow the load', async (t) => {
  // Workers of the loads before would count with the tail.
  await waitForZero();
  const { perSecond, seconds } = STEADY;
  const load = offer(fleet, { seconds, perSecond: () => perSecond, pick: (count) => fleet.zipf(count) });
  const halfway = pause(seconds * 500).then(() => convergence.settled());
  const { result: ids, head, tail, asleep } = await followed(fleet, core.sql, load);
  said(
    `${ids.length} jobs of a steady load; an endpoint of the head had ${head.toFixed(2)} workers, one of the tail ` +
      `${tail.toFixed(2)}`,
  );
  t.ok(ids.length >= perSecond * seconds * 0.9, `${ids.length} jobs came`);
  t.same(await halfway, [], 'workers come to what was decided, and machines have what core has');
  t.ok(head > tail * HEAD_TIMES_MIN, `${head} workers of the head, ${tail} of the tail`);
  t.ok(asleep > 0.5, `an endpoint of the tail has none ${Math.round(asleep * 100)} % of the time`);
  await waitFor('all jobs to end', async () => (await open()) === 0, PATIENCE_MS, PAUSE_MS);
  const { completed, halfMs, p95Ms } = await waitsOf(fleet, core.sql, ids);
  t.equal(completed, ids.length, 'each did what it should');
  said(`all have ended; half waited ${halfMs} ms at most, 95 of 100 ${p95Ms} ms`);
});

t.test(
  'idle, then a burst on all endpoints: the maximum of workers, while machines fail and a replica ends',
  async (t) => {
    await waitForZero();
    said(`no worker runs, ${await frozen()} are frozen`);
    await fleet.submit(
      fleet.endpoints.flatMap((endpoint) => range(endpoint.workersMax + 1).map(() => endpoint)),
      { hold: true },
    );
    await explainMany(t, 'at the beginning of the burst');
    await waitFor('the workers', async () => (await workers()) >= SIZE.workers * 0.85, PATIENCE_MS, PAUSE_MS);
    said(`all jobs submitted, ${await workers()} workers`);
    await explainMany(t, 'when all workers were there');
    t.same(await convergence.settled(), [], 'they are as many as decided, and machines have what core has');
    for (const n of range(12)) {
      const machine = fleet.random.one(fleet.machines);
      if (n % 3 === 0) machine.crash(500 + fleet.random.below(2_000));
      else if (n % 3 === 1) await fleet.endAgent(machine, 500 + fleet.random.below(2_000));
      else machine.partition(n === 2 ? 12_000 : 500 + fleet.random.below(2_000));
      await pause(50);
    }
    const [gone, stays] = [replicas[1]!, replicas[0]!];
    replicas = [stays];
    const left = Date.now();
    await gone.stop();
    const back = (): boolean => fleet.machines.filter((machine) => machine.connected).length >= SIZE.machines;
    await waitFor('their machines to be at the other', back, PATIENCE_MS, PAUSE_MS);
    t.comment(`${Date.now() - left} ms until the machines of a replica were at another`);
    await explainMany(t, 'after the faults');
    await waitForEnd();
    said('all jobs have ended');
  },
);

t.test(
  'drains while all are busy: of machines, to fewer workers and to new ones; ' +
    'each job is finished by the worker that has it',
  async (t) => {
    await waitForZero();
    const {
      faults,
      jobs,
      told,
      machines: emptied,
    } = await checkDrains(fleet, parts, (what, check) => waitFor(what, check, PATIENCE_MS, PAUSE_MS));
    said(`${jobs} jobs have ended; ${told} busy workers were told to go, ${emptied} machines were emptied`);
    t.same(faults, []);
    t.ok(told > 0 && emptied > 0);
  },
);

t.test('idle: to zero except standby, and up again by a ramp', async (t) => {
  await waitForZero();
  said(`${await frozen()} frozen workers are left`);
  const started = fleet.count('started');
  // Endpoints with a standby worker, so that some resume, and a few beside them.
  const asleep = await core.sql<
    { id: string }[]
  >`SELECT DISTINCT endpoint_id AS id FROM worker WHERE ended_at IS NULL AND desired = 'FREEZE'`;
  await fleet.submit(fleet.endpoints.filter(({ id }, n) => n < 7 || asleep.some((one) => one.id === id)));
  const { perSecond, seconds } = RAMP;
  await offer(fleet, { seconds, perSecond: (share) => perSecond * share, pick: (count) => fleet.zipf(count) });
  await waitFor('all jobs to end', async () => (await open()) === 0, PATIENCE_MS, PAUSE_MS);
  t.ok(
    fleet.count('woken') > 0 || asleep.length === 0,
    `${fleet.count('woken')} were woken, ${fleet.count('started') - started} started`,
  );
  await fleet.thaw();
  await waitForZero();
  await waitFor('zero again', async () => (await workers()) === 0, PATIENCE_MS, PAUSE_MS);
  said('and again');
});

t.test('at the end', async (t) => {
  stopping.abort();
  const { peak, explained } = await watching;
  t.ok(explained > 0, `${explained} jobs that waited were explained all along`);
  t.comment(`at most ${peak} workers at once, ${fleet.count('started')} in all, ${fleet.count('frozen')} frozen`);
  t.ok(fleet.count('pulled') > 0, `${fleet.count('pulled')} images were pulled`);
  t.same(await checkEnd(core.sql), [], 'nothing is left');
  t.equal(
    fleet.machines.reduce((sum, { workers }) => sum + workers.size, 0),
    0,
    'no process runs',
  );
  const { decisions, faults } = await checkReplays(core.sql);
  t.ok(decisions >= SIZE.endpoints, 'there was one for each endpoint at least');
  t.same(faults, [], `${decisions} decisions are made again from their samples`);
  const { exact, endpoints } = convergence.seen;
  t.ok(
    exact >= endpoints * EXACT_SHARE_MIN,
    `${exact} of ${endpoints} times an endpoint had as many workers as decided`,
  );
  t.comment(`${exact} of ${endpoints} times an endpoint had as many workers as decided`);
  t.same(fleet.faults, [], 'at no time');
});

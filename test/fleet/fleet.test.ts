/** A fleet of 200 machines, 300 endpoints and 2,000 workers: a flood, a burst, faults, idleness and a ramp, on two replicas of which one goes. */
import t from 'tap';
import type { Test } from 'tap';
import { setTimeout as pause } from 'node:timers/promises';
import { startReplicas } from '../helpers/core-replicas.ts';
import { SEED } from '../helpers/seeded-random.ts';
import { waitFor } from '../helpers/wait-for.ts';
import { Fleet, range } from './fleet.ts';
import { checkCauses } from './fleet-causes.ts';
import { checkEnd, checkMoment, checkReplays } from './fleet-checks.ts';
import { checkWaiting, leftWorkers, waitingJobs } from './fleet-truth.ts';

t.setTimeout(560_000);

const core = await startReplicas(t, 2);
let replicas = core.replicas.slice(0, 2);
/** So many machines, and everything else with them: 200 have 300 endpoints and 2,000 workers. */
const machines = Number(process.env.SLIPWAY_TEST_FLEET ?? 200);
const SIZE = { machines, endpoints: Math.round(machines * 1.5), workers: machines * 10 };
const parts = { addresses: () => replicas.map(({ address }) => address), clients: core.clients, rootKey: core.rootKey, sql: core.sql };
const fleet = new Fleet(parts, { seed: SEED, ...SIZE, accounts: 12 });
t.teardown(() => fleet.stop());
const began = Date.now();
const said = (text: string): void => { t.comment(`${((Date.now() - began) / 1_000).toFixed(1)} s: ${text}`); };
/** Jobs of small accounts, beside a flood and without. */
const TRICKLE = 60;
const ROUNDS_MAX = 5;
const PATIENCE_MS = 150_000;
const PAUSE_MS = 250;
/** Waiting jobs that are explained at each look. */
const EXPLAINED_AT_ONCE = 16;

const open = async (): Promise<number> => (await core.sql`SELECT count(*)::int AS n FROM job WHERE state IN ('IN_QUEUE', 'IN_PROGRESS')`)[0]!.n as number;
const workers = async (): Promise<number> => (await core.sql`SELECT count(*)::int AS n FROM worker WHERE ended_at IS NULL`)[0]!.n as number;
const frozen = async (): Promise<number> => (
  await core.sql`SELECT count(*)::int AS n FROM worker WHERE ended_at IS NULL AND desired = 'FREEZE'`)[0]!.n as number;
/** Every job that waits now says why, and that is so. */
const explainAll = async (t: Test, when: string): Promise<void> => {
  const jobs = await waitingJobs(parts);
  const explained = await checkWaiting(fleet, parts, jobs);
  said(`${when} ${jobs.length} jobs waited, ${explained} did when they were explained`);
  t.ok(explained > 0, `${explained} jobs were explained ${when}`);
};

/**
 * So many jobs, one after the other at once, by accounts that have little to do; answers the wait in ms that 95 of 100 did not exceed. Those on slow machines,
 * one of twenty, are left out, and endpoints with an image, whose pulls take up to four seconds: how many they are is chance, and whether three or four
 * of sixty would decide.
 */
async function trickle(): Promise<number> {
  const small = fleet.endpoints.filter((endpoint) => endpoint.accountId !== fleet.endpoints[0]!.accountId && !endpoint.image);
  const ids: string[] = [];
  for (const _ of range(TRICKLE)) {
    ids.push(...await fleet.submit([fleet.random.one(small)]));
    await pause(20);
  }
  const started = async () => (await core.sql`SELECT FROM job WHERE id = ANY(${ids}) AND state IN ('IN_QUEUE', 'IN_PROGRESS')`).length === 0;
  await waitFor('the small accounts', started, PATIENCE_MS, PAUSE_MS);
  const [row] = await core.sql<{ ms: number }[]>`
    SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM started_at - submitted_at) * 1000)::int AS ms
    FROM job LEFT JOIN worker w ON w.id = job.worker_id WHERE job.id = ANY(${ids}) AND (w.machine_id IS NULL OR w.machine_id <> ALL(${fleet.slowIds()}))`;
  return row!.ms;
}

/** Waits until no worker is left but those that are frozen; says which are where that does not come. */
async function waitForZero(): Promise<void> {
  try {
    await waitFor('zero', async () => await workers() === await frozen(), PATIENCE_MS, PAUSE_MS);
  } catch (error) {
    t.comment(await leftWorkers(fleet, core.sql));
    throw error;
  }
}

/** Looks at everything until it is told to stop. */
async function watch(signal: AbortSignal): Promise<{ peak: number; explained: number }> {
  let [peak, explained] = [0, 0];
  for (let n = 0; !signal.aborted; n += 1) {
    fleet.faults.push(...await checkMoment(core.sql));
    const waiting = await waitingJobs(parts);
    // The first, the last and some between, others each time.
    const chosen = waiting.filter((_, place) => (place + n) % Math.ceil(waiting.length / EXPLAINED_AT_ONCE) === 0);
    explained += await checkWaiting(fleet, parts, chosen);
    peak = Math.max(peak, await workers());
    await pause(500);
  }
  return { peak, explained };
}

await fleet.join();
await waitFor('all machines', async () => (await core.sql`SELECT FROM machine WHERE session_id IS NOT NULL`).length === SIZE.machines, PATIENCE_MS, PAUSE_MS);
said(`${SIZE.machines} machines joined`);
await fleet.deploy();
said(`${SIZE.endpoints} endpoints deployed`);
const stopping = new AbortController();
const watching = watch(stopping.signal);

t.test('what waits is explained by its true cause', async (t) => {
  t.same(await checkCauses(fleet, parts, (what, check) => waitFor(what, check, 60_000)), []);
  said('causes are named');
});

t.test('one account floods its endpoints: small ones beside it wait twice as long as else at the most', async (t) => {
  const own = fleet.endpoints.filter(({ accountId }) => accountId === fleet.endpoints[0]!.accountId);
  let round = { quietMs: Infinity, floodedMs: Infinity };
  // The fleet, which is all machines at once, and core share a processor here with whatever else runs: what a moment of that took is measured again, and
  // a quiet time that was none makes no flood look well.
  for (let n = 0; n < ROUNDS_MAX && (n === 0 || round.floodedMs > round.quietMs * 2); n += 1) {
    const quietMs = Math.min(await trickle(), round.quietMs);
    const flood = fleet.submit(range(SIZE.workers / 4).map((place) => own[place % own.length]!));
    round = { quietMs, floodedMs: await trickle() };
    await flood;
    await waitFor('the flood to end', async () => await open() === 0, PATIENCE_MS, PAUSE_MS);
    said(`95 of 100 waited ${quietMs} ms at most, and ${round.floodedMs} ms beside a flood`);
  }
  t.ok(round.floodedMs <= round.quietMs * 2, `${round.quietMs} and ${round.floodedMs} ms`);
});

t.test('idle, then a burst on all endpoints: all workers that there may be, while machines fail and a replica goes', async (t) => {
  await waitForZero();
  said(`no worker runs, ${await frozen()} are frozen`);
  await fleet.submit(fleet.endpoints.flatMap((endpoint) => range(endpoint.workersMax + 1).map(() => endpoint)), { hold: true });
  await explainAll(t, 'at the beginning of the burst');
  await waitFor('the workers', async () => await workers() >= SIZE.workers * 0.85, PATIENCE_MS, PAUSE_MS);
  said(`all jobs submitted, ${await workers()} workers`);
  await explainAll(t, 'when all workers were there');
  for (const n of range(12)) {
    const machine = fleet.random.one(fleet.machines);
    if (n % 3 === 0) machine.crash(500 + fleet.random.below(2_000));
    else if (n % 3 === 1) await fleet.drain(machine, 500 + fleet.random.below(2_000));
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
  await explainAll(t, 'after the faults');
  fleet.release();
  await waitFor('all jobs to end', async () => { fleet.release(); return await open() === 0; }, PATIENCE_MS, PAUSE_MS);
  said('all jobs have ended');
});

t.test('idle: to zero but for what is frozen, and up again by a ramp', async (t) => {
  await waitForZero();
  said(`${await frozen()} frozen workers are left`);
  const started = fleet.count('started');
  // Those that have a frozen worker, so that some are woken, and a few beside them.
  const asleep = await core.sql<{ id: string }[]>`SELECT DISTINCT endpoint_id AS id FROM worker WHERE ended_at IS NULL AND desired = 'FREEZE'`;
  await fleet.submit(fleet.endpoints.filter(({ id }, n) => n < 7 || asleep.some((one) => one.id === id)));
  for (const n of range(20)) {
    await fleet.submit(fleet.zipf(n));
    await pause(50);
  }
  await waitFor('all jobs to end', async () => await open() === 0, PATIENCE_MS, PAUSE_MS);
  t.ok(fleet.count('woken') > 0 || asleep.length === 0, `${fleet.count('woken')} were woken, ${fleet.count('started') - started} started`);
  await fleet.thaw();
  await waitForZero();
  await waitFor('zero again', async () => await workers() === 0, PATIENCE_MS, PAUSE_MS);
  said('and again');
});

t.test('at the end', async (t) => {
  stopping.abort();
  const { peak, explained } = await watching;
  t.ok(explained > 0, `${explained} jobs that waited were explained all along`);
  t.comment(`at most ${peak} workers at once, ${fleet.count('started')} in all, ${fleet.count('frozen')} frozen`);
  t.ok(fleet.count('pulled') > 0, `${fleet.count('pulled')} images were pulled`);
  t.same(await checkEnd(core.sql), [], 'nothing is left');
  t.equal(fleet.machines.reduce((sum, { workers }) => sum + workers.size, 0), 0, 'no process runs');
  const { decisions, faults } = await checkReplays(core.sql);
  t.ok(decisions >= SIZE.endpoints, 'there was one for each endpoint at least');
  t.same(faults, [], `${decisions} decisions are made again from their samples`);
  t.same(fleet.faults, [], 'at no time');
});

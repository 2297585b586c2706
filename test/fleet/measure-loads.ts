/**
 * `npm run fleet -- --loads 1000`: all shapes of load over one fleet, one after the other, each until its jobs have
 * ended and all workers are gone: a trickle of small accounts, the same beside a flood, a steady Zipf rate, a ramp, a
 * burst from zero, and drains under load.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { cpuUs } from '@slipway/tools/bench/load/process-usage';
import { range } from '../helpers/many.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { Convergence } from './convergence.ts';
import { checkDrains } from './drains.ts';
import { Fleet } from './fleet.ts';
import { checkEnd, checkMoment, checkReplays } from './fleet-checks.ts';
import type { FleetCore } from './fleet-options.ts';
import type { FleetLengths } from './lengths.ts';
import type { Offer } from './loads.ts';
import { ended, floodOf, followed, offer, trickle, waitsOf } from './loads.ts';
import type { MeasuredCore } from './measured-core.ts';

/** Size and duration. */
export interface LoadMeasures {
  seed: number;
  lengths: FleetLengths;
  endpoints: number;
  machines: number;
  /** Per machine. */
  workers: number;
  /** Rate of the steady load, and of the ramp at its end. */
  perSecond: number;
  seconds: number;
}

const ACCOUNTS = 10;
const PATIENCE_MS = 600_000;
const LOOK_MS = 500;
const TRICKLE = 200;
/** Jobs of the flood per allowed worker. */
const FLOOD_SHARE = 0.25;
const FLOODED_TIMES_MAX = 2;
const HEAD_TIMES_MIN = 10;

/** Runs all loads. Returns one line per load, and one per fault; a fault makes the process fail. */
export async function measureLoads(
  { core, clients, rootKey, sql }: MeasuredCore,
  options: LoadMeasures,
): Promise<string> {
  const { seed, lengths, machines, endpoints } = options;
  const parts: FleetCore = { addresses: () => [core().ready.address!], clients, rootKey, sql };
  const fleet = new Fleet(parts, {
    seed,
    lengths,
    machines,
    endpoints,
    workers: machines * options.workers,
    accounts: ACCOUNTS,
  });
  const convergence = new Convergence(fleet, sql);
  const watching = new AbortController();
  try {
    await fleet.join();
    await waitFor('all machines', () => fleet.machines.every(({ connected }) => connected), PATIENCE_MS, LOOK_MS);
    await fleet.deploy();
    await fleet.setQuotas();
    const watched = watch(fleet, parts, convergence, watching.signal);
    const lines = [];
    for (const load of [flood, steady, ramp, burst, drains]) {
      const [began, cpu] = [performance.now(), cpuUs(core().pid)];
      const line = await load({ fleet, parts, convergence }, options);
      await zero(parts);
      const seconds = (performance.now() - began) / 1_000;
      lines.push(
        `${line}; zero after ${seconds.toFixed(0)} s in all, core ` +
          `${((cpuUs(core().pid) - cpu) / 1e4 / seconds).toFixed(0)} % of a processor`,
      );
      process.stderr.write(`· ${lines.at(-1)}\n`);
    }
    watching.abort();
    await watched;
    await fleet.thaw();
    await waitFor(
      'frozen workers to go',
      async () => (await sql`SELECT FROM worker WHERE ended_at IS NULL LIMIT 1`).length === 0,
      PATIENCE_MS,
      LOOK_MS,
    );
    const { decisions, faults } = await checkReplays(sql);
    const wrong = [...fleet.faults, ...(await checkEnd(sql)), ...faults];
    if (wrong.length > 0) process.exitCode = 1;
    const { exact, endpoints: seen } = convergence.seen;
    return [
      `${machines} machines, ${endpoints} endpoints, ${machines * options.workers} workers that there may be; ` +
        `${fleet.count('started')} started`,
      ...lines,
      `${exact} of ${seen} times an endpoint had as many workers as decided; ${decisions} decisions made again; ` +
        `${wrong.length} faults`,
      ...wrong.map((fault) => `FAULT: ${fault}`),
    ].join('\n');
  } finally {
    watching.abort();
    fleet.stop();
  }
}

/** Context of a load. */
interface Scene {
  fleet: Fleet;
  parts: FleetCore;
  convergence: Convergence;
}

async function watch(fleet: Fleet, { sql }: FleetCore, convergence: Convergence, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    fleet.faults.push(...(await checkMoment(sql, fleet.lowered)));
    await convergence.look();
    await pause(LOOK_MS);
  }
}

/** Waits until only standby workers are left. */
async function zero({ sql }: FleetCore): Promise<void> {
  await waitFor(
    'zero',
    async () => (await sql`SELECT FROM worker WHERE ended_at IS NULL AND desired <> 'FREEZE' LIMIT 1`).length === 0,
    PATIENCE_MS,
    LOOK_MS,
  );
}

async function flood({ fleet, parts: { sql } }: Scene, { machines, workers }: LoadMeasures): Promise<string> {
  const quietMs = await trickle(fleet, sql, TRICKLE, PATIENCE_MS);
  const flooding = fleet.submit(floodOf(fleet, Math.round(machines * workers * FLOOD_SHARE)));
  const floodedMs = await trickle(fleet, sql, TRICKLE, PATIENCE_MS);
  const ids = await flooding;
  await ended(sql, ids, PATIENCE_MS);
  if (floodedMs > quietMs * FLOODED_TIMES_MAX)
    fleet.faults.push(`95 of 100 of small accounts wait ${quietMs} ms alone and ${floodedMs} ms beside a flood`);
  return (
    `trickle of ${TRICKLE} jobs: 95 of 100 wait at most ${quietMs} ms, and ${floodedMs} ms beside a flood of ` +
    `${ids.length}`
  );
}

async function steady(scene: Scene, { perSecond, seconds }: LoadMeasures): Promise<string> {
  const {
    fleet,
    parts: { sql },
    convergence,
  } = scene;
  const halfway = pause(seconds * 500).then(() => convergence.settled());
  const load = offer(fleet, { seconds, perSecond: () => perSecond, pick: (count) => fleet.zipf(count) });
  const { result, head, tail, asleep } = await followed(fleet, sql, load);
  fleet.faults.push(...(await halfway));
  if (!(head > tail * HEAD_TIMES_MIN))
    fleet.faults.push(`endpoints of the head have ${head} workers, and those of the tail ${tail}`);
  const told = await toldOf(scene, result);
  return (
    `${perSecond} jobs a second by Zipf for ${seconds} s: ${told}; an endpoint of the head has ${head.toFixed(2)} ` +
    `workers, one of the tail ${tail.toFixed(3)}, and none ${(asleep * 100).toFixed(0)} % of the time`
  );
}

async function ramp(scene: Scene, { perSecond, seconds }: LoadMeasures): Promise<string> {
  const { fleet } = scene;
  const rising: Offer = { seconds, perSecond: (share) => perSecond * 2 * share, pick: (count) => fleet.zipf(count) };
  return (
    `ramp from none to ${perSecond * 2} jobs a second in ${seconds} s: ` +
    `${await toldOf(scene, await offer(fleet, rising))}`
  );
}

/** For all endpoints at once from zero: as many jobs as allowed workers, and one more. */
async function burst(scene: Scene): Promise<string> {
  const { fleet } = scene;
  const all = fleet.endpoints.flatMap((endpoint) => range(endpoint.workersMax + 1).map(() => endpoint));
  return `burst on all endpoints from zero: ${await toldOf(scene, await fleet.submit(all))}`;
}

async function drains({ fleet, parts }: Scene): Promise<string> {
  const { faults, jobs, told, machines } = await checkDrains(fleet, parts, (what, check) =>
    waitFor(what, check, PATIENCE_MS, LOOK_MS),
  );
  fleet.faults.push(...faults);
  return `drains: ${jobs} jobs, ${told} busy workers told to go, ${machines} machines emptied`;
}

/** Waits for the end of these jobs and returns their waits. A job with a wrong result is a fault. */
async function toldOf({ fleet, parts: { sql } }: Scene, ids: readonly string[]): Promise<string> {
  await ended(sql, ids, PATIENCE_MS);
  const { completed, halfMs, p95Ms } = await waitsOf(fleet, sql, ids);
  if (completed < ids.length)
    fleet.faults.push(`${ids.length - completed} of ${ids.length} jobs did not do what they should`);
  return `${ids.length} jobs, half wait at most ${halfMs} ms, 95 of 100 ${p95Ms} ms`;
}

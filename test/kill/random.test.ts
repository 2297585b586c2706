// test: postgres, 25 s
/**
 * Any process, in any order, at any time: random kills, some of them while others have not come back yet. `npm run
 * chaos` runs this file with more processes, faults and kinds of them: processes that hang, connections to the database
 * that are cut, names that are not found; some outputs are large. The printed seed repeats their order.
 */
import { existsSync } from 'node:fs';
import t from 'tap';
import type { Child } from '../helpers/child.ts';
import type { CuttingProxy } from '../helpers/net/cutting-proxy.ts';
import { cuttingProxy } from '../helpers/net/cutting-proxy.ts';
import { ENVOY } from '../helpers/system/edge.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { checkOutcomes, startJobs } from './jobs-in-flight.ts';

const FAULTS = Number(process.env.SLIPWAY_TEST_KILLS ?? 6);
const IS_ALL = process.env.SLIPWAY_TEST_FAULT_KINDS === 'all';
const KINDS = IS_ALL ? (['kill', 'hang', 'cut', 'names'] as const) : (['kill'] as const);
/** Jobs submitted during each fault. */
const BETWEEN = 10;
/** How long a process hangs, in milliseconds: shorter and longer than a lease. */
const HANG_MS_MAX = 15_000;
/** Connections cut at once, at most. */
const CUTS_MAX = 12;
/** How long no name is found, in milliseconds. */
const NAMES_MS_MAX = 8_000;
const LARGE_BYTES = 2_000_000;

t.setTimeout(3_600_000);

async function passed(ms: number): Promise<void> {
  const fromMs = performance.now();
  await waitFor(`${ms} ms`, () => performance.now() - fromMs >= ms);
}

/** Stops a process for a while, as a host does that has no time for it. */
async function hang(child: Child<unknown>, ms: number): Promise<void> {
  const { pid } = child;
  process.kill(pid, 'SIGSTOP');
  try {
    await passed(ms);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

t.test('random faults lose no acknowledged job', async (t) => {
  let proxy!: CuttingProxy;
  const slipway = await startProcesses(t, {
    ...(IS_ALL ? { cores: 2, facades: 2, agents: 3, names: true, edge: existsSync(ENVOY) } : { cores: 2, agents: 2 }),
    databaseUrl: async (text) => {
      const url = new URL(text);
      proxy = await cuttingProxy(t, { host: url.hostname, port: Number(url.port) });
      url.port = String(proxy.port);
      return url.href;
    },
  });
  // A job may be hit again and again; that its limit ends it is not the matter here.
  const inFlight = await startJobs(t, slipway, { workers: 2, retryLimit: 10, largeBytes: IS_ALL ? LARGE_BYTES : 0 });
  const children: Child<unknown>[] = [...slipway.agents, ...slipway.cores, ...slipway.facades, slipway.database];
  if (slipway.edge) children.push(slipway.edge);
  const order: string[] = [];
  const random = seededRandom();
  const back = new Map<Child<unknown>, Promise<unknown>>();
  for (let i = 0; i < FAULTS; i += 1) {
    const kind = random.one(KINDS);
    const victim = random.one(kind === 'names' ? slipway.cores : children);
    await back.get(victim);
    if (kind === 'names') {
      order.push(`${victim.name} and names`);
      await slipway.failNames(true);
      await victim.kill();
      for (let n = 0; n < CUTS_MAX; n += 1) proxy.cut(random.fraction(), 'RESET');
      back.set(victim, victim.start());
      const found = passed(random.below(NAMES_MS_MAX)).then(() => slipway.failNames(false));
      await Promise.all([inFlight.submit(BETWEEN), found]);
      continue;
    }
    if (kind === 'cut') {
      const cuts = 1 + random.below(CUTS_MAX);
      order.push(`${cuts} connections`);
      for (let n = 0; n < cuts; n += 1) proxy.cut(random.fraction(), 'RESET');
      await inFlight.submit(BETWEEN);
      continue;
    }
    // The database of a test hangs as its first process only, which is no fault of its statements.
    const hangs = kind === 'hang' && victim !== slipway.database;
    order.push(hangs ? `${victim.name} (hung)` : victim.name);
    if (hangs) back.set(victim, hang(victim, random.below(HANG_MS_MAX)));
    else {
      await victim.kill();
      back.set(victim, victim.start());
    }
    // Every other time the next one goes while this one is still coming back.
    if (i % 2 === 0) await Promise.all([inFlight.submit(BETWEEN), back.get(victim)]);
  }
  await Promise.all(back.values());
  t.comment(`faults, in this order: ${order.join(', ')}`);
  await checkOutcomes(t, inFlight);
});

// test: postgres, 30 s
/**
 * Any process, in any order, at any time: random kills, some of them while others have not come back yet. `npm run
 * chaos` runs this file with more faults and more kinds of them: processes that hang, and cut connections to the
 * database. The printed seed repeats their order.
 */
import t from 'tap';
import type { Child } from '../helpers/child.ts';
import type { CuttingProxy } from '../helpers/net/cutting-proxy.ts';
import { cuttingProxy } from '../helpers/net/cutting-proxy.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { checkOutcomes, startJobs } from './jobs-in-flight.ts';

const FAULTS = Number(process.env.SLIPWAY_TEST_KILLS ?? 6);
const KINDS = process.env.SLIPWAY_TEST_FAULT_KINDS === 'all' ? (['kill', 'hang', 'cut'] as const) : (['kill'] as const);
/** Jobs submitted during each fault. */
const BETWEEN = 10;
/** How long a process hangs, in milliseconds: shorter and longer than a lease. */
const HANG_MS_MAX = 15_000;
/** Connections cut at once, at most. */
const CUTS_MAX = 12;

t.setTimeout(3_600_000);

/** Stops a process for a while, as a host does that has no time for it. */
async function hang(child: Child<unknown>, ms: number): Promise<void> {
  const { pid } = child;
  const fromMs = performance.now();
  process.kill(pid, 'SIGSTOP');
  try {
    await waitFor('the process to have hung long enough', () => performance.now() - fromMs >= ms);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

t.test('random faults lose no acknowledged job', async (t) => {
  let proxy!: CuttingProxy;
  const slipway = await startProcesses(t, {
    ...{ cores: 2, agents: 2 },
    databaseUrl: async (text) => {
      const url = new URL(text);
      proxy = await cuttingProxy(t, { host: url.hostname, port: Number(url.port) });
      url.port = String(proxy.port);
      return url.href;
    },
  });
  // A job may be hit again and again; that its limit ends it is not the matter here.
  const inFlight = await startJobs(t, slipway, { workers: 2, retryLimit: 10 });
  const children: Child<unknown>[] = [...slipway.agents, ...slipway.cores, slipway.facade, slipway.database];
  const order: string[] = [];
  const random = seededRandom();
  const back = new Map<Child<unknown>, Promise<unknown>>();
  for (let i = 0; i < FAULTS; i += 1) {
    const kind = random.one(KINDS);
    const victim = random.one(children);
    await back.get(victim);
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

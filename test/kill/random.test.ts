// test: postgres, 25 s
/**
 * Any process, in any order, at any time: random kills, some of them while others have not come back yet. The printed
 * seed repeats their order. `npm run chaos` has more processes and more kinds of faults (chaos).
 */
import t from 'tap';
import type { Child } from '../helpers/child.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';
import { checkOutcomes, startJobs } from './jobs-in-flight.ts';

const KILLS = Number(process.env.SLIPWAY_TEST_KILLS ?? 6);
/** Jobs submitted during each kill. */
const BETWEEN = 10;

t.setTimeout(3_600_000);

t.test('random kills lose no acknowledged job', async (t) => {
  const slipway = await startProcesses(t, { cores: 2, agents: 2 });
  // A job may be hit again and again; that its limit ends it is not the matter here.
  const inFlight = await startJobs(t, slipway, { workers: 2, retryLimit: 10 });
  const children: Child<unknown>[] = [...slipway.agents, ...slipway.cores, ...slipway.facades, slipway.database];
  const order: string[] = [];
  const random = seededRandom();
  const back = new Map<Child<unknown>, Promise<unknown>>();
  for (let i = 0; i < KILLS; i += 1) {
    const victim = random.one(children);
    await back.get(victim);
    order.push(victim.name);
    await victim.kill();
    back.set(victim, victim.start());
    // Every other time the next one goes while this one is still coming back.
    if (i % 2 === 0) await Promise.all([inFlight.submit(BETWEEN), back.get(victim)]);
  }
  await Promise.all(back.values());
  t.comment(`kills, in this order: ${order.join(', ')}`);
  await checkOutcomes(t, inFlight);
});

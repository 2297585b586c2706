/** The agent stops although the engine that must end its workloads is away. */

import { awaitEnds } from '@slipway/gpu-agent/workloads/await-ends';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { turn, wired } from '../attempts/wired.ts';

const GRACE_MS = 5_000;
const KILL_MS = 30_000;

t.test('it waits for all ends, and not longer', async (t) => {
  const { clock, warnings, logger } = observed();
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const waiting = awaitEnds(
    ends.map(({ promise }, index) => ({ id: `worker-${index}`, done: promise })),
    { graceMs: GRACE_MS, clock, logger },
  );
  let over = false;
  void waiting.then(() => {
    over = true;
  });
  ends[0]!.resolve();
  await turn();
  t.equal(over, false, 'one still runs');
  ends[1]!.resolve();
  await waiting;
  t.strictSame(warnings, []);
});

t.test('a workload that survives SIGKILL is named and left', async (t) => {
  const { clock, warnings, logger } = observed();
  const workloads = [
    { id: 'ended', done: Promise.resolve() },
    { id: 'left', done: new Promise<void>(() => undefined) },
  ];
  const waiting = awaitEnds(workloads, { graceMs: GRACE_MS, clock, logger });
  await turn();
  clock.pass(GRACE_MS + KILL_MS);
  await waiting;
  t.match(warnings, [[{ workloads: ['left'] }, /engine/]]);
});

t.test('a pool of workers stops although one of them cannot be killed', async (t) => {
  const { pool, desire, executor, clock, exit } = await wired(t);
  await desire({ ends: 'endpoint', stays: 'endpoint' });
  const stopping = pool.stopAll({ keepContainers: false });
  await exit('ends');
  clock.pass(GRACE_MS);
  pool.pass();
  clock.pass(120_000);
  pool.pass();
  await stopping;
  t.ok(executor.of('stays')!.asked.includes('kill'), 'it was killed first');
});

/** Returns a clock by hand and a logger whose warnings are kept. */
function observed() {
  const warnings: unknown[][] = [];
  const logger = createLogger('test', 'silent');
  logger.warn = (...args: unknown[]) => {
    warnings.push(args);
  };
  return { clock: new ManualClock(), warnings, logger };
}

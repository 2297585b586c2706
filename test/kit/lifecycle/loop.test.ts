/**
 * When a loop passes: never twice at a time, soon after a trigger, at the latest after its period, and never in a tight
 * loop while it fails.
 */

import { ActivityMonitor, QUIET_AFTER_MS } from '@slipway/kit/lifecycle/activity';
import { Loop } from '@slipway/kit/lifecycle/loop';
import { createLogger } from '@slipway/kit/log/logger';
import fc from 'fast-check';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { SEED, seededRandom } from '../../helpers/time/seeded-random.ts';

const PERIOD_MS = 1_000;
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

type End = 'done' | 'more' | 'failed';

/** Starts a loop whose passes end when the test ends them. */
function startLoop(restMs?: number) {
  const clock = new ManualClock();
  const activity = new ActivityMonitor(clock);
  const begun: number[] = [];
  let atOnce = 0;
  let most = 0;
  let settle: ((end: End) => void) | undefined;
  const loop = new Loop({
    name: 'test',
    periodMs: PERIOD_MS,
    ...(restMs === undefined ? {} : { restMs, activity }),
    clock,
    random: seededRandom(),
    logger: createLogger('test', 'silent'),
    pass: async () => {
      begun.push(clock.monotonicMs());
      atOnce += 1;
      most = Math.max(most, atOnce);
      const end = await new Promise<End>((resolve) => {
        settle = resolve;
      });
      atOnce -= 1;
      if (end === 'failed') throw new Error('failed');
      return end === 'more';
    },
  });
  return {
    loop,
    clock,
    activity,
    begun,
    get most() {
      return most;
    },
    get passing() {
      return atOnce > 0;
    },
    /** Ends the pass that runs. */
    async end(how: End): Promise<void> {
      settle?.(how);
      settle = undefined;
      await turn();
    },
    async pass(ms: number): Promise<void> {
      clock.pass(ms);
      await turn();
    },
  };
}

t.test('it runs at once, then after its period, within a tenth', async (t) => {
  const it = startLoop();
  await it.loop.start();
  t.same(it.begun.length, 1);
  for (let round = 0; round < 20; round += 1) {
    await it.end('done');
    await it.pass(PERIOD_MS * 0.9 - 1);
    t.notOk(it.passing, 'not before');
    await it.pass(PERIOD_MS * 0.2 + 1);
    t.ok(it.passing, 'not after');
  }
  await it.end('more');
  t.ok(it.passing, 'when there is more to do it passes again at once');
  const stopped = it.loop.stop();
  await turn();
  t.ok(it.passing, 'a stop waits for the pass');
  await it.end('more');
  await stopped;
  await it.pass(PERIOD_MS * 10);
  t.notOk(it.passing, 'and nothing follows');
});

t.test('an idle loop rests, and keeps its period again once marked', async (t) => {
  const restMs = PERIOD_MS * 10;
  const it = startLoop(restMs);
  let busy = false;
  it.activity.busyWhile(() => busy);
  await it.loop.start();
  await it.end('done');
  await it.pass(PERIOD_MS * 1.1);
  t.ok(it.passing, 'not quiet yet');
  it.clock.pass(QUIET_AFTER_MS);
  busy = true;
  await it.end('done');
  await it.pass(PERIOD_MS * 1.1);
  t.ok(it.passing, 'what is busy is not quiet');
  busy = false;
  await it.end('done');
  await it.pass(restMs * 0.9 - 1);
  t.notOk(it.passing, 'it rests');
  await it.pass(restMs * 0.2 + 1);
  t.ok(it.passing, 'and not for ever');
  await it.end('done');
  it.activity.mark();
  it.activity.mark();
  await turn();
  t.notOk(it.passing, 'a mark alone is no pass');
  await it.pass(PERIOD_MS * 1.1);
  t.ok(it.passing, 'but a period after the first one');
  await it.end('done');
  await it.pass(PERIOD_MS * 1.1);
  t.ok(it.passing, 'it is not quiet any more');
  it.clock.pass(QUIET_AFTER_MS);
  await it.end('done');
  it.loop.wake();
  await turn();
  t.ok(it.passing, 'a resting loop is woken at once');
  t.notOk(it.activity.quiet, 'and others hear of it');
  it.clock.pass(QUIET_AFTER_MS);
  t.ok(it.activity.quiet);
  await it.end('failed');
  t.notOk(it.activity.quiet, 'a failure may leave work to all of them');
  await it.pass(100);
  t.ok(it.passing);
  const stopped = it.loop.stop();
  await it.end('done');
  await stopped;
});

t.test('a failing loop backs off, however often it is woken', async (t) => {
  const it = startLoop();
  await it.loop.start();
  for (const most of [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]) {
    await it.end('failed');
    await it.pass(most / 2 - 1);
    for (let i = 0; i < 3; i += 1) it.loop.wake();
    await turn();
    t.notOk(it.passing, `not within ${most / 2} ms`);
    await it.pass(most / 2 + 1);
    t.ok(it.passing, `within ${most} ms`);
  }
  await it.end('done');
  it.loop.wake();
  await turn();
  t.ok(it.passing, 'after a success it hears again');
  const stopped = it.loop.stop();
  await it.end('failed');
  await stopped;
});

t.test('always one pass at a time, and after every wake a pass that began later', async (t) => {
  type Step = 'wake' | End | { ms: number };
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.constant('wake' as const),
    fc.constantFrom<End>('done', 'more', 'failed'),
    fc.record({ ms: fc.integer({ min: 0, max: 2_500 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (todo) => {
      const it = startLoop();
      await it.loop.start();
      for (const each of todo) {
        if (each === 'wake') {
          const before = it.begun.length;
          it.loop.wake();
          it.loop.wake();
          await turn();
          // A running pass may have missed its trigger: another one must follow. A failure delays it by 2 s at most.
          if (it.passing && it.begun.length === before) await it.end('done');
          await it.pass(2_000);
          if (it.begun.length === before) throw new Error('it was woken and did not pass');
          if (it.begun.length > before + 1) throw new Error('two wakes are one');
        } else if (typeof each === 'object') await it.pass(each.ms);
        else if (it.passing) await it.end(each);
        if (it.most > 1) throw new Error('two passes at a time');
      }
      const stopped = it.loop.stop();
      await it.end('done');
      await stopped;
    }),
    { seed: SEED, numRuns: 200 },
  );
  t.pass();
});

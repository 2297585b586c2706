/** Trying again: when, how often, and when no more. */

import { retry, retryUntil } from '@slipway/kit/lifecycle/retry';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';

const PAUSE = { firstMs: 100, maxMs: 1_000 };

/** Returns work that fails the first `failures` times, and a clock that advances as soon as there is a waiter. */
function failing(failures: number): { clock: ManualClock; triedAtMs: number[]; work(): Promise<string> } {
  const triedAtMs: number[] = [];
  const clock = new (class extends ManualClock {
    override after(ms: number, fn: () => void): { cancel(): void } {
      const timer = super.after(ms, fn);
      queueMicrotask(() => this.pass(ms));
      return timer;
    }
  })();
  const work = async (): Promise<string> => {
    triedAtMs.push(clock.monotonicMs());
    if (triedAtMs.length <= failures) throw new Error(`failure ${triedAtMs.length}`);
    return 'done';
  };
  return { clock, triedAtMs, work };
}

t.test('pauses double up to the longest, and are spread over their upper half', async (t) => {
  const random = seededRandom();
  const { clock, triedAtMs, work } = failing(7);
  const told: number[] = [];
  t.equal(
    await retry(work, { clock, random, pause: PAUSE, triesMax: 8, onFailure: (_, failures) => told.push(failures) }),
    'done',
  );
  t.same(told, [1, 2, 3, 4, 5, 6, 7]);
  const pauses = triedAtMs.slice(1).map((atMs, index) => atMs - triedAtMs[index]!);
  for (const [index, most] of [100, 200, 400, 800, 1_000, 1_000, 1_000].entries()) {
    t.ok(
      pauses[index]! >= most / 2 - 1e-6 && pauses[index]! <= most + 1e-6,
      `pause ${index + 1} is ${pauses[index]}, at most ${most}`,
    );
  }
  t.ok(new Set(pauses.slice(4)).size > 1, 'callers that failed together do not come back together');
});

t.test('the number of tries is bounded', async (t) => {
  const { clock, triedAtMs, work } = failing(99);
  await t.rejects(retry(work, { clock, random: seededRandom(), pause: PAUSE, triesMax: 3 }), { message: 'failure 3' });
  t.equal(triedAtMs.length, 3);
});

t.test('no try begins after its time', async (t) => {
  const { clock, triedAtMs, work } = failing(99);
  await t.rejects(retry(work, { clock, random: seededRandom(), pause: PAUSE, forMs: 5_000 }), /failure/);
  t.ok(triedAtMs.at(-1)! - triedAtMs[0]! <= 6_000 && triedAtMs.length > 5);
});

t.test('a failure may set the pause, or end the retries', async (t) => {
  const soon = failing(99);
  const forMs = (error: unknown): number => ((error as Error).message === 'failure 2' ? 0 : Infinity);
  await t.rejects(retry(soon.work, { clock: soon.clock, random: seededRandom(), pause: PAUSE, forMs }), {
    message: 'failure 2',
  });
  const final = failing(99);
  const mayHelp = (error: unknown): boolean => (error as Error).message !== 'failure 4';
  await t.rejects(
    retry(final.work, { clock: final.clock, random: seededRandom(), pause: PAUSE, triesMax: 9, mayHelp }),
    { message: 'failure 4' },
  );
  t.same([soon.triedAtMs.length, final.triedAtMs.length], [2, 4]);
});

t.test('an abort ends the pause at once, without another try', async (t) => {
  const clock = new ManualClock();
  const ending = new AbortController();
  let tries = 0;
  const work = async (): Promise<void> => {
    tries += 1;
    throw new Error('failure');
  };
  const options = { clock, random: seededRandom(), pause: PAUSE, signal: ending.signal };
  const retried = retry(work, options);
  const until = retryUntil(ending.signal, work, options);
  await new Promise(setImmediate);
  t.equal(tries, 2, 'both pause');
  ending.abort();
  await t.rejects(retried, { message: 'failure' });
  t.equal(await until, undefined);
  t.equal(tries, 2);
  clock.pass(10_000);
  await t.rejects(retry(work, options), { message: 'failure' }, 'what is wanted once is tried once');
  t.equal(await retryUntil(ending.signal, work, options), undefined);
  t.equal(tries, 3);
});

t.test('it is retried until it succeeds', async (t) => {
  const { clock, triedAtMs, work } = failing(50);
  t.equal(
    await retryUntil(new AbortController().signal, work, { clock, random: seededRandom(), pause: PAUSE }),
    'done',
  );
  t.equal(triedAtMs.length, 51);
});

/**
 * Batches under all loads: the items, their sizes, how fast they are answered and which fail are generated from a
 * printed seed.
 */

import { Batcher, OverloadError } from '@slipway/kit/bytes/batcher';
import fc from 'fast-check';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { SEED } from '../../helpers/time/seeded-random.ts';

interface Item {
  number: number;
  bytes: number;
}

/**
 * Next step of a test: add an item of so many bytes, let a tick pass, or end the oldest or newest flush in flight in
 * some way.
 */
type Step = { add: number } | 'turn' | { end: 'well' | 'some fail' | 'all fail'; newest: boolean };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { arbitrary: fc.record({ add: fc.integer({ min: 0, max: 60 }) }), weight: 5 },
    { arbitrary: fc.constant('turn' as const), weight: 2 },
    {
      arbitrary: fc.record({ end: fc.constantFrom('well', 'some fail', 'all fail'), newest: fc.boolean() }),
      weight: 2,
    },
  ),
  { maxLength: 80 },
);

const limits = fc.record({
  itemsMax: fc.integer({ min: 1, max: 6 }),
  bytesMax: fc.integer({ min: 1, max: 100 }),
  waitingMax: fc.integer({ min: 1, max: 12 }),
  flushesMax: fc.integer({ min: 1, max: 3 }),
});

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
const fails = (number: number): boolean => number % 3 === 0;

t.test('every item is answered once, by its own result, in batches within their limits', async (t) => {
  await fc.assert(
    fc.asyncProperty(limits, steps, async (options, todo) => {
      const flights: { items: Item[]; end(how: 'well' | 'some fail' | 'all fail'): void }[] = [];
      const flushed: number[] = [];
      const batcher = new Batcher<Item, string>({
        name: 'test',
        ...options,
        bytesOf: ({ bytes }) => bytes,
        clock: new ManualClock(),
        flush: (items) =>
          new Promise((resolve, reject) => {
            flushed.push(...items.map(({ number }) => number));
            if (items.length > options.itemsMax) throw new Error(`${items.length} items`);
            const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
            if (items.length > 1 && bytes > options.bytesMax)
              throw new Error(`${bytes} bytes in ${items.length} items`);
            const end = (how: 'well' | 'some fail' | 'all fail'): void => {
              flights.splice(flights.indexOf(flight), 1);
              if (how === 'all fail') reject(new Error('all'));
              else
                resolve(
                  items.map(({ number }) =>
                    how === 'some fail' && fails(number) ? new Error(`${number} fails`) : `result ${number}`,
                  ),
                );
              for (const { number } of items) ended.set(number, how);
            };
            const flight = { items, end };
            flights.push(flight);
            if (flights.length > options.flushesMax) throw new Error(`${flights.length} flushes at once`);
          }),
      });
      const ended = new Map<number, 'well' | 'some fail' | 'all fail'>();
      const answers: Promise<void>[] = [];
      const refused: number[] = [];
      let number = 0;
      for (const step of todo) {
        if (step === 'turn') await turn();
        else if ('end' in step) {
          flights.at(step.newest ? -1 : 0)?.end(step.end);
          await turn();
        } else {
          const item = { number: (number += 1), bytes: step.add };
          const full = batcher.waiting >= options.waitingMax;
          answers.push(
            batcher.add(item).then(
              (result) => {
                if (full || result !== `result ${item.number}`) throw new Error(`${item.number} got ${result}`);
              },
              (error: Error) => {
                const how = ended.get(item.number);
                const expected = full
                  ? error instanceof OverloadError
                  : error.message === (how === 'all fail' ? 'all' : `${item.number} fails`);
                if (!expected) throw error;
                if (full) refused.push(item.number);
              },
            ),
          );
        }
      }
      while (batcher.waiting > 0 || flights.length > 0) {
        await turn();
        flights[0]?.end('well');
      }
      await Promise.all(answers);
      if (flushed.length + refused.length !== number)
        throw new Error(`${flushed.length} flushed and ${refused.length} refused of ${number}`);
      if (flushed.some((each, index) => index > 0 && each <= flushed[index - 1]!))
        throw new Error(`the order is ${flushed.join()}`);
    }),
    { seed: SEED, numRuns: 300 },
  );
  t.pass();
});

t.test('items of one tick leave together, at its end', async (t) => {
  const batches: number[] = [];
  const batcher = new Batcher<number, number>({
    name: 'test',
    itemsMax: 100,
    waitingMax: 100,
    clock: new ManualClock(),
    flush: async (items) => {
      batches.push(items.length);
      return items;
    },
  });
  const results = Promise.all([batcher.add(1), batcher.add(2), batcher.add(3)]);
  t.same(batches, []);
  t.same(await results, [1, 2, 3]);
  t.same(batches, [3]);
});
